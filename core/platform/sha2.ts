/**
 * SHA-256 and SHA-512 (FIPS 180-4) for the verifier outside Node, in a third of the size of @noble/hashes. The
 * constants are computed: they are the first bits of the fractions of roots of primes, and SHA-256 has the higher half
 * of those of SHA-512.
 */

const MASK = 2n ** 64n - 1n

/** The first 64 bits of the fraction of the nth root of a prime. */
function fractionOfRoot(prime: number, degree: number): bigint {
  const n = BigInt(degree)
  const target = BigInt(prime) << (64n * n)
  let root = 0n
  for (let bit = 2n ** 73n; bit > 0n; bit >>= 1n) if ((root + bit) ** n <= target) root += bit
  return root & MASK
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let candidate = 2; primes.length < count; candidate++)
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  return primes
}

interface Constants<T> {
  readonly initial: T
  readonly rounds: T
}

let large: Constants<readonly bigint[]> | undefined
let small: Constants<Int32Array> | undefined

function constants512(): Constants<readonly bigint[]> {
  const primes = firstPrimes(80)
  return {
    initial: primes.slice(0, 8).map((prime) => fractionOfRoot(prime, 2)),
    rounds: primes.map((prime) => fractionOfRoot(prime, 3)),
  }
}

function constants256(): Constants<Int32Array> {
  const { initial, rounds } = (large ??= constants512())
  const half = (words: readonly bigint[]): Int32Array => Int32Array.from(words, (word) => Number(word >> 32n))
  return { initial: half(initial), rounds: half(rounds.slice(0, 64)) }
}

/** The message, a one bit, zeros, and the length in bits. `blockBytes` is 64 or 128. */
function padded(bytes: Uint8Array, blockBytes: number): DataView {
  const blocks = Math.ceil((bytes.length + 1 + blockBytes / 8) / blockBytes)
  const out = new Uint8Array(blocks * blockBytes)
  out.set(bytes)
  out[bytes.length] = 0x80
  const view = new DataView(out.buffer)
  view.setBigUint64(out.length - 8, BigInt(bytes.length) * 8n)
  return view
}

/** Requires index < words.length. */
const wordAt = (words: Int32Array, index: number): number => words[index] ?? 0

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

/** 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const { initial, rounds } = (small ??= constants256())
  const message = padded(bytes, 64)
  const state = initial.slice()
  const words = new Int32Array(64)
  for (let offset = 0; offset < message.byteLength; offset += 64) {
    for (let i = 0; i < 16; i++) words[i] = message.getInt32(offset + 4 * i)
    for (let i = 16; i < 64; i++) {
      const [x, y] = [wordAt(words, i - 15), wordAt(words, i - 2)]
      const first = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
      const second = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
      words[i] = wordAt(words, i - 16) + first + wordAt(words, i - 7) + second
    }
    compress256(state, words, rounds)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (const [i, word] of state.entries()) digest.setInt32(4 * i, word)
  return new Uint8Array(digest.buffer)
}

function compress256(state: Int32Array, words: Int32Array, rounds: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g)
    const sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const first = (h + sum + choice + wordAt(rounds, i) + wordAt(words, i)) | 0
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = wordAt(state, i) + word
}

const rotateLarge = (word: bigint, bits: bigint): bigint => ((word >> bits) | (word << (64n - bits))) & MASK

function schedule512(message: DataView, offset: number): readonly bigint[] {
  const words = Array.from({ length: 16 }, (_, i) => message.getBigUint64(offset + 8 * i))
  for (let i = 16; i < 80; i++) {
    const [x = 0n, y = 0n] = [words[i - 15], words[i - 2]]
    const first = rotateLarge(x, 1n) ^ rotateLarge(x, 8n) ^ (x >> 7n)
    const second = rotateLarge(y, 19n) ^ rotateLarge(y, 61n) ^ (y >> 6n)
    words.push(((words[i - 16] ?? 0n) + first + (words[i - 7] ?? 0n) + second) & MASK)
  }
  return words
}

/** 64 bytes. Slower than `sha256`, because Ed25519 needs it for short texts only. */
export function sha512(bytes: Uint8Array): Uint8Array {
  const { initial, rounds } = (large ??= constants512())
  const message = padded(bytes, 128)
  let state = initial
  for (let offset = 0; offset < message.byteLength; offset += 128) {
    let [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = state
    for (const [i, word] of schedule512(message, offset).entries()) {
      const choice = (e & f) ^ (~e & MASK & g)
      const sum = rotateLarge(e, 14n) ^ rotateLarge(e, 18n) ^ rotateLarge(e, 41n)
      const first = h + sum + choice + (rounds[i] ?? 0n) + word
      const second = (rotateLarge(a, 28n) ^ rotateLarge(a, 34n) ^ rotateLarge(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c))
      ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) & MASK, c, b, a, (first + second) & MASK]
    }
    const added = [a, b, c, d, e, f, g, h]
    state = state.map((word, i) => (word + (added[i] ?? 0n)) & MASK)
  }
  const digest = new DataView(new ArrayBuffer(64))
  for (const [i, word] of state.entries()) digest.setBigUint64(8 * i, word)
  return new Uint8Array(digest.buffer)
}

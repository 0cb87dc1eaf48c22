import { fromHex, toHex } from '../../bytes.ts'

/**
 * Keccak-256 as Ethereum uses it: SHA-3 (FIPS 202) with the padding 0x01 of the original submission. Node's OpenSSL
 * does not offer it in every supported version.
 *
 * The state is 25 lanes of 64 bits, each as two 32-bit words, the low one first. Lane (x, y) is lane number x + 5y.
 */
const LANE_WORDS = 50
const RATE_BYTES = 136
const DIGEST_BYTES = 32

interface Round {
  /** Word index of the lane that rho and pi write in this step. */
  readonly target: number
  /** Bits by which rho rotates it: never 0 or 32. */
  readonly rotation: number
  readonly constantLow: number
  readonly constantHigh: number
}

const ROUNDS: readonly Round[] = makeRounds()

/** FIPS 202 §§ 3.2.2, 3.2.3 and 3.2.5. */
function makeRounds(): readonly Round[] {
  const rounds: Round[] = []
  let [x, y, register] = [1, 0, 1]
  for (let round = 0; round < 24; round++) {
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
    let [constantLow, constantHigh] = [0, 0]
    for (let j = 0; j < 7; j++) {
      if ((register & 1) !== 0) {
        const bit = 2 ** j - 1
        if (bit < 32) constantLow |= 1 << bit
        else constantHigh |= 1 << (bit - 32)
      }
      register = (register << 1) ^ ((register >>> 7) * 0x171)
    }
    const rotation = (((round + 1) * (round + 2)) / 2) % 64
    rounds.push({ target: 2 * (x + 5 * y), rotation, constantLow, constantHigh })
  }
  return rounds
}

/** Requires index < words.length. */
const wordAt = (words: Uint32Array, index: number): number => words[index] as number

const column = new Uint32Array(10)

function permute(state: Uint32Array): void {
  for (const { constantLow, constantHigh } of ROUNDS) {
    theta(state)
    rhoAndPi(state)
    chi(state)
    state[0] = wordAt(state, 0) ^ constantLow
    state[1] = wordAt(state, 1) ^ constantHigh
  }
}

function theta(state: Uint32Array): void {
  for (let x = 0; x < 10; x++)
    column[x] =
      wordAt(state, x) ^ wordAt(state, x + 10) ^ wordAt(state, x + 20) ^ wordAt(state, x + 30) ^ wordAt(state, x + 40)
  for (let x = 0; x < 10; x += 2) {
    const left = (x + 8) % 10
    const low = wordAt(column, (x + 2) % 10)
    const high = wordAt(column, (x + 3) % 10)
    const mixLow = wordAt(column, left) ^ ((low << 1) | (high >>> 31))
    const mixHigh = wordAt(column, left + 1) ^ ((high << 1) | (low >>> 31))
    for (let lane = x; lane < LANE_WORDS; lane += 10) {
      state[lane] = wordAt(state, lane) ^ mixLow
      state[lane + 1] = wordAt(state, lane + 1) ^ mixHigh
    }
  }
}

function rhoAndPi(state: Uint32Array): void {
  let low = wordAt(state, 2)
  let high = wordAt(state, 3)
  for (const { target, rotation } of ROUNDS) {
    const nextLow = wordAt(state, target)
    const nextHigh = wordAt(state, target + 1)
    const first = rotation < 32 ? low : high
    const second = rotation < 32 ? high : low
    const bits = rotation % 32
    state[target] = (first << bits) | (second >>> (32 - bits))
    state[target + 1] = (second << bits) | (first >>> (32 - bits))
    low = nextLow
    high = nextHigh
  }
}

function chi(state: Uint32Array): void {
  for (let row = 0; row < LANE_WORDS; row += 10) {
    column.set(state.subarray(row, row + 10))
    for (let x = 0; x < 10; x++)
      state[row + x] = wordAt(state, row + x) ^ (~wordAt(column, (x + 2) % 10) & wordAt(column, (x + 4) % 10))
  }
}

/** Keccak-256, 32 bytes. */
export function keccak256Bytes(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array((Math.floor(bytes.length / RATE_BYTES) + 1) * RATE_BYTES)
  padded.set(bytes)
  padded[bytes.length] = 0x01
  const view = new DataView(padded.buffer)
  view.setUint8(padded.length - 1, view.getUint8(padded.length - 1) | 0x80)
  const state = new Uint32Array(LANE_WORDS)
  for (let block = 0; block < padded.length; block += RATE_BYTES) {
    for (let word = 0; word < RATE_BYTES / 4; word++)
      state[word] = wordAt(state, word) ^ view.getUint32(block + word * 4, true)
    permute(state)
  }
  const digest = new DataView(new ArrayBuffer(DIGEST_BYTES))
  for (let word = 0; word < DIGEST_BYTES / 4; word++) digest.setUint32(word * 4, wordAt(state, word), true)
  return new Uint8Array(digest.buffer)
}

/** Keccak-256 of bytes or of `0x` hex, as `0x` and 64 lowercase digits. Throws a TypeError for other text. */
export function keccak256(data: Uint8Array | string): string {
  const bytes = typeof data === 'string' ? fromHex(data.slice(2).toLowerCase()) : data
  if (bytes === undefined) throw new TypeError('Keccak-256 needs 0x and pairs of hex digits')
  return `0x${toHex(keccak256Bytes(bytes))}`
}

import { mod, power } from './modular.ts'
import { sha512 } from './sha2.ts'

/**
 * Verifies Ed25519 signatures (RFC 8032 § 5.1.7) outside Node. @noble/curves would add 9 KB to a verifier that may have
 * 20 KB. Everything here is public, so it need not run in constant time. Nothing is signed here.
 */

const FIELD = 2n ** 255n - 19n
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const D = /* @__PURE__ */ mod(-121665n * power(121666n, FIELD - 2n, FIELD), FIELD)
const SQRT_OF_MINUS_1 = /* @__PURE__ */ power(2n, (FIELD - 1n) / 4n, FIELD)

/** Extended coordinates: the point (x/z, y/z), and t = xy/z. */
interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
  readonly t: bigint
}

const pointOf = (x: bigint, y: bigint): Point => ({ x, y, z: 1n, t: (x * y) % FIELD })
/** y is 4/5, and x is even. */
const GENERATOR = /* @__PURE__ */ decodePoint(new Uint8Array(32).fill(0x66).fill(0x58, 0, 1)) ?? pointOf(0n, 1n)

/** Whether a signature (64 bytes) verifies with a public key (32 bytes). */
export function verifyEd25519(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  const key = decodePoint(publicKey)
  const s = littleEndian(signature.subarray(32))
  if (key === undefined || s >= ORDER) return false
  const r = signature.subarray(0, 32)
  const hash = new Uint8Array([...r, ...publicKey, ...bytes])
  const k = littleEndian(sha512(hash)) % ORDER
  const negated = { ...key, x: mod(-key.x, FIELD), t: mod(-key.t, FIELD) }
  const expected = encodePoint(sumOfMultiples(GENERATOR, s, negated, k))
  return expected.every((byte, i) => byte === r[i])
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
}

/** RFC 8032 § 5.1.3. `undefined` if the bytes are not a point. */
function decodePoint(bytes: Uint8Array): Point | undefined {
  const value = littleEndian(bytes)
  const isOdd = value >> 255n
  const y = value & (2n ** 255n - 1n)
  if (y >= FIELD) return undefined
  const [u, v] = [mod(y * y - 1n, FIELD), mod(D * y * y + 1n, FIELD)]
  const candidate = mod(u * v ** 3n * power(u * v ** 7n, (FIELD - 5n) / 8n, FIELD), FIELD)
  const square = mod(v * candidate ** 2n, FIELD)
  if (square !== u && square !== mod(-u, FIELD)) return undefined
  const x = square === u ? candidate : (candidate * SQRT_OF_MINUS_1) % FIELD
  if (x === 0n && isOdd === 1n) return undefined
  return pointOf((x & 1n) === isOdd ? x : FIELD - x, y)
}

function encodePoint({ x, y, z }: Point): Uint8Array {
  const inverse = power(z, FIELD - 2n, FIELD)
  const value = ((y * inverse) % FIELD) | ((((x * inverse) % FIELD) & 1n) << 255n)
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n))
}

/** p times m plus q times n, bit by bit from the highest one. */
function sumOfMultiples(p: Point, m: bigint, q: Point, n: bigint): Point {
  const addends = [undefined, p, q, add(p, q)]
  let sum = pointOf(0n, 1n)
  for (let bit = 252n; bit >= 0n; bit--) {
    sum = add(sum, sum)
    const addend = addends[Number(((m >> bit) & 1n) | (((n >> bit) & 1n) << 1n))]
    if (addend !== undefined) sum = add(sum, addend)
  }
  return sum
}

/** Explicit-Formulas Database, "add-2008-hwcd-3": it holds for all points, also for equal ones. */
function add(p: Point, q: Point): Point {
  const a = ((p.y - p.x) * (q.y - q.x)) % FIELD
  const b = ((p.y + p.x) * (q.y + q.x)) % FIELD
  const c = (2n * D * p.t * q.t) % FIELD
  const d = (2n * p.z * q.z) % FIELD
  const [e, f, g, h] = [b - a, d - c, d + c, b + a]
  return { x: mod(e * f, FIELD), y: mod(g * h, FIELD), z: mod(f * g, FIELD), t: mod(e * h, FIELD) }
}

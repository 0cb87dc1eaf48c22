import { mod, power } from '../../platform/modular.ts'

/**
 * Recovers the public key of an ECDSA signature on secp256k1 (SEC 1 § 4.1.6), for verification only: everything here is
 * public, so it need not run in constant time. Signing is left to ethers.
 */
const FIELD = 2n ** 256n - 2n ** 32n - 977n
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Jacobian coordinates: the point (x/z², y/z³); z is 0 for the point at infinity. */
interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
}

const INFINITY: Point = { x: 1n, y: 1n, z: 0n }
const GENERATOR: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  z: 1n,
}

export interface RecoverableSignature {
  readonly r: bigint
  readonly s: bigint
  /** Whether the y coordinate of the signature's point is odd. */
  readonly yParity: 0 | 1
}

/** True for r in 1 … n − 1 and s in 1 … n/2: of the two valid values for s, Ethereum accepts only the lower (EIP-2). */
export const isCanonicalSignature = ({ r, s }: Omit<RecoverableSignature, 'yParity'>): boolean =>
  r > 0n && r < ORDER && s > 0n && s <= ORDER / 2n

/**
 * Returns x and y of the public key whose signature of `digest` (as a number) this is, or `undefined` if there is none.
 * Requires a canonical signature.
 */
export function recoverPublicKey(
  digest: bigint,
  { r, s, yParity }: RecoverableSignature,
): { readonly x: bigint; readonly y: bigint } | undefined {
  const square = mod(r ** 3n + 7n, FIELD)
  // FIELD is 3 modulo 4, so this is a square root if there is one.
  const root = power(square, (FIELD + 1n) / 4n, FIELD)
  if (mod(root * root, FIELD) !== square) return undefined
  const y = root % 2n === BigInt(yParity) ? root : FIELD - root
  const inverse = power(r, ORDER - 2n, ORDER)
  const key = sumOfMultiples(GENERATOR, mod(-digest * inverse, ORDER), { x: r, y, z: 1n }, mod(s * inverse, ORDER))
  if (key.z === 0n) return undefined
  const scale = power(key.z, FIELD - 2n, FIELD)
  return { x: mod(key.x * scale ** 2n, FIELD), y: mod(key.y * scale ** 3n, FIELD) }
}

/** p times m plus q times n, bit by bit from the highest one. */
function sumOfMultiples(p: Point, m: bigint, q: Point, n: bigint): Point {
  const addends = [INFINITY, p, q, add(p, q)]
  let sum = INFINITY
  for (let bit = 255n; bit >= 0n; bit--)
    sum = add(double(sum), addends[Number(((m >> bit) & 1n) | (((n >> bit) & 1n) << 1n))] ?? INFINITY)
  return sum
}

/** Explicit-Formulas Database, "add-1998-cmo" and, for equal points, "dbl-1998-cmo" with a = 0. */
function add(p: Point, q: Point): Point {
  if (p.z === 0n) return q
  if (q.z === 0n) return p
  const [pz2, qz2] = [p.z ** 2n % FIELD, q.z ** 2n % FIELD]
  const [u1, u2] = [(p.x * qz2) % FIELD, (q.x * pz2) % FIELD]
  const [s1, s2] = [(p.y * qz2 * q.z) % FIELD, (q.y * pz2 * p.z) % FIELD]
  if (u1 === u2) return s1 === s2 ? double(p) : INFINITY
  const [h, slope] = [mod(u2 - u1, FIELD), mod(s2 - s1, FIELD)]
  const [h2, h3] = [h ** 2n % FIELD, h ** 3n % FIELD]
  const x = mod(slope ** 2n - h3 - 2n * u1 * h2, FIELD)
  return { x, y: mod(slope * (u1 * h2 - x) - s1 * h3, FIELD), z: (h * p.z * q.z) % FIELD }
}

function double({ x, y, z }: Point): Point {
  const y2 = y ** 2n % FIELD
  const [middle, slope] = [(4n * x * y2) % FIELD, (3n * x ** 2n) % FIELD]
  const doubled = mod(slope ** 2n - 2n * middle, FIELD)
  return { x: doubled, y: mod(slope * (middle - doubled) - 8n * y2 ** 2n, FIELD), z: (2n * y * z) % FIELD }
}

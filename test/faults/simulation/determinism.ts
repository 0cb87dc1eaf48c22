import crypto, { KeyObject } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { p256 } from '@noble/curves/nist.js'
import { randomBytes as pooledBytes } from '../../../core/platform/node.ts'
import { randomFrom, type Random } from '../../support/bundle-mutations.ts'

let random: Random = randomFrom(0)
const POOL_BYTES = 4096

function fill<Bytes extends NodeJS.ArrayBufferView>(bytes: Bytes): Bytes {
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < view.length; i++) view[i] = Math.floor(random() * 256)
  return bytes
}

const bytesOf = (count: number): Buffer => fill(Buffer.alloc(count))

function uuid(): string {
  const hex = bytesOf(16).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join('-')
}

/** The private scalar of a P-256 key. */
const scalarOf = (key: KeyObject): Uint8Array => Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')

/**
 * Replaces every source of randomness of this process by one that `seedRandomness` seeds, also for modules that were
 * loaded before. ECDSA signatures become deterministic (RFC 6979), because OpenSSL draws a random number for each.
 * Cannot be undone.
 */
export function makeDeterministic(): void {
  const { sign } = crypto
  Object.assign(crypto, {
    randomFillSync: fill,
    randomBytes: bytesOf,
    randomUUID: uuid,
    sign: (algorithm: string | null, data: Uint8Array, key: KeyObject) =>
      key instanceof KeyObject && key.asymmetricKeyType === 'ec'
        ? p256.sign(data, scalarOf(key), { format: 'der' })
        : sign(algorithm, data, key),
  })
  syncBuiltinESMExports()
  Math.random = () => random()
}

/** Everything random depends only on this seed from now on. */
export function seedRandomness(seed: number): void {
  random = randomFrom(seed)
  // Empties the pool of the core, which may hold bytes of an earlier seed.
  pooledBytes(POOL_BYTES)
}

import { createPrivateKey, createPublicKey, randomBytes, X509Certificate, type KeyObject } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import { authorityName, issueAuthority, issueSigner } from '../../../adapters/local-tsa/certificates.ts'
import { timeStampResponse, type Signer } from '../../../adapters/local-tsa/response.ts'
import { sha256 } from '../../../core/bytes.ts'
import type { Clock, TimestampAuthority } from '../../../core/ports/index.ts'

/** A key that is the same in every run. */
function keyOf(seed: number): KeyObject {
  const secret = new Uint8Array(32).fill(seed)
  const point = p256.getPublicKey(secret, false)
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  const [x, y] = [text(point.subarray(1, 33)), text(point.subarray(33))]
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d: text(secret), x, y } })
}

/** The certificates of an authority, which take longer to make than a token. */
export interface AuthorityKeys {
  readonly name: string
  readonly trustAnchor: Uint8Array
  readonly signer: Signer
}

/** @param seed - of its keys, 1 to 100 */
export function authorityKeys(name: string, seed: number): AuthorityKeys {
  const authorityKey = keyOf(seed)
  const key = keyOf(seed + 100)
  const certificate = issueSigner(authorityKey, createPublicKey(key))
  const serialNumber = new Uint8Array(Buffer.from(new X509Certificate(certificate).serialNumber, 'hex'))
  const signer = { key, certificate, issuerName: authorityName(authorityKey), serialNumber }
  return { name, trustAnchor: issueAuthority(authorityKey), signer }
}

/** Makes real RFC 3161 tokens without files, and without the check of each token that the local authority makes. */
export const openSimulatedAuthority = (
  { name, trustAnchor, signer }: AuthorityKeys,
  clock: Clock,
  onStamp: (bytes: Uint8Array) => void,
): TimestampAuthority => ({
  info: { name, assurance: 'independent', trustAnchors: [trustAnchor] },
  stamp: async (bytes) => {
    onStamp(bytes)
    const [serialNumber, nonce] = [randomBytes(16), randomBytes(16)]
    return timeStampResponse(signer, { digest: sha256(bytes), genTime: clock.now(), serialNumber, nonce })
  },
  validationDataOf: async () => [],
  close: async () => undefined,
})

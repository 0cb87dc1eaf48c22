/**
 * Checks cosignatures of witnesses with ML-DSA-44 keys (type 06). A separate entry, because its library is not audited,
 * and only a policy that names such a key needs it: pass `mlDsa44` to `verifyBundle`, or to the sealer's witnesses.
 * Needs the package `@noble/post-quantum` (`npm install @noble/post-quantum`).
 *
 * @example
 * import { needsMlDsa44, verifyBundle } from 'evidence-registry/verify'
 *
 * const mlDsa44 = needsMlDsa44(policy, text) ? (await import('evidence-registry/verify/ml-dsa')).mlDsa44 : undefined
 * const result = verifyBundle(text, { policy, mlDsa44 })
 */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { concatBytes, encodeUtf8, u64 } from '../bytes.ts'
import type { Checkpoint } from '../log/checkpoint.ts'
import type { VerifyMlDsa44 } from './cosignatures.ts'

/** With an empty context (FIPS 204). */
export const mlDsa44: VerifyMlDsa44 = (tree, { name, publicKey }, seconds, signature) =>
  ml_dsa44.verify(signature, signedBytes(tree, name, Number(seconds)), publicKey)

/** `cosigned_message` of C2SP tlog-cosignature, for a tree that begins at entry 0. */
const signedBytes = ({ origin, size, root }: Checkpoint, cosigner: string, seconds: number): Uint8Array =>
  concatBytes(
    encodeUtf8('subtree/v1\n\0'),
    withLength(cosigner),
    u64(seconds),
    withLength(origin),
    u64(0),
    u64(size),
    root,
  )

/** Requires at most 255 bytes. A longer text fits no signature. */
function withLength(text: string): Uint8Array {
  const bytes = encodeUtf8(text)
  return concatBytes(Uint8Array.of(bytes.length), bytes)
}

import { needsMlDsa44, type Policy } from '../../core/verify/index.ts'

/**
 * Loads what verifies cosignatures of type 06, if a policy names such a key and a proof has a line of it. Without a
 * text, the policy decides.
 *
 * @throws an `Error` that says so if its package, which is optional, is not installed. `verify` loads nothing else of
 *   the core than the verifier, so it is not one of the registry
 */
export async function loadMlDsa44(policy: Pick<Policy, 'witnesses'>, text?: string) {
  if (!needsMlDsa44(policy, text)) return undefined
  try {
    return (await import('../../core/verify/ml-dsa.ts')).mlDsa44
  } catch (cause) {
    const message =
      'Cosignatures of type 06 (ML-DSA-44) need a package that cannot be loaded: run npm install @noble/post-quantum'
    throw new Error(message, { cause })
  }
}

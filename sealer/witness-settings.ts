import { isError, RegistryError } from '../core/errors.ts'
import type { WitnessClient, WitnessPolicy } from '../core/ports/index.ts'
import { needsMlDsa44, type VerifyMlDsa44 } from '../core/verify/cosignatures.ts'
import { readPolicyText } from '../core/verify/policy-text.ts'

/** The witnesses that cosign the checkpoints (https://c2sp.org/tlog-witness). */
export interface WitnessOptions {
  /** C2SP tlog-policy text. Its log lines are not used, and may be absent. */
  readonly policy: string
  readonly client: WitnessClient
  /**
   * Signs each submission, beside the key of the log. Witnesses know the log by this key, and their lists are never
   * changed, so it must stay the same when the log's keys rotate. `publicKey`: with its type byte, 33 bytes.
   */
  readonly submissionKey: { readonly publicKey: Uint8Array; sign(bytes: Uint8Array): Promise<Uint8Array> }
  /** Minimum time between two submissions, ms. Default 60,000. */
  readonly intervalMs?: number
  /** `mlDsa44` of `evidence-registry/verify/ml-dsa`, if the policy names a witness with a key of type 06. */
  readonly mlDsa44?: VerifyMlDsa44 | undefined
}

export type WitnessSettings = Required<Omit<WitnessOptions, 'policy'>> & { readonly policy: WitnessPolicy }

/** Public witnesses allow a log 1,440 requests a day. */
const INTERVAL_MS = 60_000

/** Throws `CONFIG_ERROR` if the policy cannot be used, or needs `mlDsa44`. */
export function witnessSettings(options: WitnessOptions): WitnessSettings {
  const { policy, intervalMs = INTERVAL_MS, mlDsa44, ...others } = options
  const witnesses = readWitnessPolicy(policy)
  if (mlDsa44 === undefined && needsMlDsa44({ witnesses: { threshold: 1, members: witnesses.witnesses } }))
    throw new RegistryError(
      'CONFIG_ERROR',
      'A witness has a key of type 06 (ML-DSA-44), which needs `mlDsa44` of evidence-registry/verify/ml-dsa',
    )
  return { ...others, mlDsa44, policy: witnesses, intervalMs }
}

/**
 * Reads the witnesses of a C2SP tlog-policy text.
 *
 * @throws RegistryError `CONFIG_ERROR` if it cannot be used
 */
export function readWitnessPolicy(policy: string): WitnessPolicy {
  try {
    return readPolicyText(policy).witnesses
  } catch (cause) {
    const why = isError(cause) ? cause.message : String(cause)
    throw new RegistryError('CONFIG_ERROR', `The policy of the witnesses cannot be used: ${why}`, { cause })
  }
}

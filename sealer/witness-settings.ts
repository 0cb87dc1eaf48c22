import { isError, RegistryError } from '../core/errors.ts'
import type { WitnessClient, WitnessPolicy } from '../core/ports/index.ts'
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
}

export type WitnessSettings = Required<Omit<WitnessOptions, 'policy'>> & { readonly policy: WitnessPolicy }

/** Public witnesses allow a log 1,440 requests a day. */
const INTERVAL_MS = 60_000

/** Throws `CONFIG_ERROR` if the policy cannot be used. */
export function witnessSettings({ policy, intervalMs = INTERVAL_MS, ...others }: WitnessOptions): WitnessSettings {
  try {
    return { ...others, policy: readPolicyText(policy).witnesses, intervalMs }
  } catch (cause) {
    const why = isError(cause) ? cause.message : String(cause)
    throw new RegistryError('CONFIG_ERROR', `The policy of the witnesses cannot be used: ${why}`, { cause })
  }
}

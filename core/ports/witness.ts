import type { LogPolicy } from '../schemas/bundle.ts'

/** The witnesses of a log and their quorum, as a policy shows them. One without a URL is not asked. */
export type WitnessPolicy = Pick<LogPolicy, 'witnesses' | 'groups' | 'quorum'>

/** What a witness says to a checkpoint. */
export type WitnessResponse =
  /** `lines`: its signature lines, not verified. */
  | { readonly state: 'cosigned'; readonly lines: string }
  /** The checkpoint that it cosigned last has another size than the submission said: this one, 0 without one. */
  | { readonly state: 'other-size'; readonly size: number }
  /** It has cosigned a tree that this one does not continue. */
  | { readonly state: 'other-history' }

/**
 * Sends requests to witnesses (https://c2sp.org/tlog-witness). `url`: the submission prefix of a witness. Each call
 * takes a bounded time.
 *
 * @throws `WITNESS_FAILED` for a failure after which the call can be repeated
 */
export interface WitnessClient {
  /** @param body - of `add-checkpoint`: the size, the consistency proof and the signed checkpoint */
  addCheckpoint(url: string, body: Uint8Array, signal?: AbortSignal): Promise<WitnessResponse>
  /** The newest checkpoint that the witness shows of the log with this origin, not verified. */
  readCheckpoint(url: string, origin: string, signal?: AbortSignal): Promise<string | undefined>
}

/** Limits of responses that are sent part by part. */
export interface StreamLimits {
  /** How many long responses a key may read at the same time. */
  readonly maxPerKey: number
  /** How long a client may read nothing. */
  readonly idleMs: number
}

export const STREAM_LIMITS: StreamLimits = { maxPerKey: 2, idleMs: 30_000 }

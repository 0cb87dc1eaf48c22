import { EvidenceRegistryError } from './error.ts'
import type { RetryOptions } from './options.ts'
import type { Route } from './route.ts'

/** Patient enough for a restart of the service, short enough for a person who waits. */
export const DEFAULT_RETRY: RetryOptions = {
  retries: 3,
  firstPauseMs: 250,
  maxPauseMs: 8_000,
  maxRetryAfterMs: 60_000,
}

/** Responses of a proxy or of a service that cannot respond now. 0: there was no response. */
const PASSING: ReadonlySet<number> = new Set([0, 502, 503, 504])
const RATE_LIMITED = 429

interface Attempt {
  readonly error: unknown
  /** How often the request was repeated already. */
  readonly repetitions: number
  readonly repeat: Route['repeat']
  readonly options: RetryOptions
  /** Returns a number from 0 to 1. */
  readonly random: () => number
}

/**
 * Returns how long to wait before a failed request is repeated, in ms; `undefined` if it must not be repeated. A
 * request that was rate limited had no effect, so it can be repeated in any case.
 */
export function pauseBeforeRepetition({ error, repetitions, repeat, options, random }: Attempt): number | undefined {
  if (!(error instanceof EvidenceRegistryError) || repetitions >= options.retries) return undefined
  const isPassing = error.status === RATE_LIMITED || (repeat !== 'never' && PASSING.has(error.status))
  if (!isPassing || error.code === 'INVALID_RESPONSE') return undefined
  const { retryAfterMs = 0 } = error
  if (retryAfterMs > options.maxRetryAfterMs) return undefined
  return retryAfterMs + random() * Math.min(options.maxPauseMs, options.firstPauseMs * 2 ** repetitions)
}

/** Rejects with the signal's reason if it aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

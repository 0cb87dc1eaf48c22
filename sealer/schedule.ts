import { Background, type BackgroundOptions } from '../core/background.ts'
import { backoffMs } from '../core/clock.ts'
import type { SealerHost } from '../core/ports/index.ts'

/**
 * `seal`: a batch was hashed and committed. `stamp`: an authority stamped a checkpoint. `anchor`: an anchor was
 * confirmed, counted from its first transaction.
 */
export type DurationObserver = (step: 'seal' | 'stamp' | 'anchor', ms: number) => void

/** When a batch closes. */
export interface BatchRules {
  /** The most entries of a batch. */
  readonly maxLeaves: number
  /** The least time from one batch to the next, ms: how long an event waits at most. After a pause none waits. */
  readonly maxWaitMs: number
}

/** When the next stamp or anchor is due. */
export interface Schedule {
  /** Minimum time from one to the next, ms. 0: as soon as the previous one is done. */
  readonly intervalMs: number
  /** How often the store or the chain is polled if nothing wakes the loop, ms. */
  readonly pollIntervalMs: number
}

export const FIRST_BACKOFF_MS = 250

/** Longer and longer pauses after failures, up to this one. */
export const backoffUpTo =
  (maxMs: number): BackgroundOptions['retryMs'] =>
  (attempt) =>
    backoffMs({ attempt, firstMs: FIRST_BACKOFF_MS, maxMs })

interface LoopOptions extends Pick<BackgroundOptions, 'run' | 'retryMs'> {
  readonly step: 'seal' | 'stamp' | 'anchor' | 'cosign'
  readonly fields?: object
}

/** A loop that tries again after failures. */
export const loopOf = ({ clock, logger }: SealerHost, { step, fields, ...work }: LoopOptions): Background =>
  new Background({ clock, logger, ...work, failure: `${step} failed: it is tried again`, fields: { step, ...fields } })

import type { EvidenceSummary } from './evidence.ts'

/** How far a step has come: it covers the first `size` entries of the log. `at`: when it was last done. */
interface LogStep {
  readonly size: number
  readonly at?: Date
}

/** `waiting`: how many sealed entries wait for it. Tokens and receipts of erasures alone do not wait. */
type AttestingStep = LogStep & { readonly waiting: number }

/** How far the whole log is, with the entries of all companies. */
interface LogProgress {
  readonly recorded: LogStep
  readonly sealed: LogStep
  readonly stamped: AttestingStep & { readonly authority?: string }
  readonly anchored: AttestingStep & { readonly network?: string; readonly blockNumber?: number }
}

/** What a company has, at a glance. */
export interface Overview {
  readonly counts: {
    readonly evidences: number
    readonly stolen: number
    /** Without subcategories. */
    readonly categories: number
    /** Of evidences, categories and subcategories. */
    readonly files: number
  }
  /** The evidences that were created on each of the last 30 days in UTC, oldest first. */
  readonly createdPerDay: readonly { readonly day: Date; readonly count: number }[]
  /**
   * The events of the present day in UTC. `isMore`: so far. On a day with more than 10,000 log entries, each call
   * counts some more of them.
   */
  readonly eventsToday: { readonly count: number; readonly isMore: boolean }
  /** The ten evidences with the newest changes, newest first. */
  readonly lastChanged: readonly EvidenceSummary[]
  readonly log: LogProgress
}

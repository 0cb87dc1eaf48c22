import type { EvidenceEvent, EvidencePage } from '../../client/index.ts'

const PAGE_EVENTS = 50
/** The pause before unconfirmed events are read again: the first one, and again after each change. */
const MIN_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 30_000
/** Each pause in which nothing changed is followed by a longer one. A change shows after half as long as it took. */
const PAUSE_GROWTH = 1.5

/** The events that are loaded, oldest first, and whether more follow. */
export type LoadedHistory = Pick<EvidencePage, 'events' | 'isMore'>

export interface HistoryReaderOptions {
  /** Reads up to `len` events after the version `last`. The service may return fewer. */
  readonly readPage: (
    range: { readonly last: number; readonly len: number },
    signal: AbortSignal,
  ) => Promise<LoadedHistory>
  readonly onRead: (history: LoadedHistory) => void
  /** A failure ends the reading, until `read` or `readMore` is called. */
  readonly onError: (error: unknown) => void
}

/**
 * Reads the history of an evidence, and again and again the events from the first that is not confirmed, so that P, S
 * and C change in front of the user. Without a chain they never do, so the pauses grow while nothing changes.
 */
export class HistoryReader {
  readonly #options: HistoryReaderOptions
  #events: readonly EvidenceEvent[] = []
  /** How many events the user wants to see. */
  #wanted = PAGE_EVENTS
  #running: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: HistoryReaderOptions) {
    this.#options = options
  }

  /** From the beginning: the deletion of a file also changes the event that attached it. */
  read(): void {
    void this.#load([], MIN_PAUSE_MS)
  }

  readMore(): void {
    this.#wanted = this.#events.length + PAGE_EVENTS
    void this.#load(this.#events, MIN_PAUSE_MS)
  }

  stop(): void {
    this.#running?.abort()
    clearTimeout(this.#timer)
  }

  /** Reads the events after those that are known. Ends a read that is running, whose result would be older. */
  async #load(known: readonly EvidenceEvent[], pauseMs: number): Promise<void> {
    this.stop()
    const { signal } = (this.#running = new AbortController())
    try {
      const history = await this.#readAfter(known, signal)
      if (signal.aborted) return
      const { events } = history
      const nextPauseMs = hasChanged(this.#events, events) ? MIN_PAUSE_MS : pauseMs
      this.#events = events
      this.#options.onRead(history)
      const unconfirmed = events.findIndex(({ merkleSendStatus }) => merkleSendStatus !== 'C')
      if (unconfirmed !== -1) this.#loadLater(events.slice(0, unconfirmed), nextPauseMs)
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error)
    }
  }

  #loadLater(known: readonly EvidenceEvent[], pauseMs: number): void {
    const longerMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)
    this.#timer = setTimeout(() => void this.#load(known, longerMs), pauseMs)
  }

  async #readAfter(known: readonly EvidenceEvent[], signal: AbortSignal): Promise<LoadedHistory> {
    const events = [...known]
    for (;;) {
      const range = { last: events.at(-1)?.version ?? 0, len: this.#wanted - events.length }
      const page = await this.#options.readPage(range, signal)
      events.push(...page.events)
      // The service cuts a long page.
      if (signal.aborted || !page.isMore || events.length >= this.#wanted) return { events, isMore: page.isMore }
    }
  }
}

const hasChanged = (before: readonly EvidenceEvent[], after: readonly EvidenceEvent[]): boolean =>
  before.length !== after.length ||
  after.some(({ merkleSendStatus }, i) => merkleSendStatus !== before[i]?.merkleSendStatus)

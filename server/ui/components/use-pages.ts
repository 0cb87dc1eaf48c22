import { useEffect, useMemo, useState } from 'preact/hooks'
import { isOutage } from '../failure.ts'

/** The pause before a list is read again: the first one, and again after each change. */
const MIN_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 30_000
/** Each pause in which nothing changed is followed by a longer one. A change shows after half as long as it took. */
const PAUSE_GROWTH = 1.5

/** One page of a list, as the service returns it. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Whether more items follow. */
  readonly isMore: boolean
}

/** What a list shows. */
export interface Shown<T, P extends Page<T> = Page<T>> {
  readonly items: readonly T[]
  /** The page with the last item; `undefined` until the first response. */
  readonly page: P | undefined
  readonly failure: { readonly error: unknown; readonly retry: () => void } | undefined
}

/** Which page is read next. */
export interface PageRequest<T, P extends Page<T> = Page<T>> {
  /** The item that it comes after, `undefined` for the first page. */
  readonly last: T | undefined
  /** The page that ended with that item, if it was read. */
  readonly before: P | undefined
  readonly len: number
}

export interface PagesOptions<T, P extends Page<T>> {
  /** Reads up to `len` items. The service may return fewer. */
  readonly readPage: (request: PageRequest<T, P>, signal: AbortSignal) => Promise<P>
  readonly pageItems: number
  /** Whether these items can still change: then the list is read again and again. Default: they cannot. */
  readonly mayChange?: (items: readonly T[]) => boolean
}

/**
 * Reads a list page by page, and again and again what may change, so that it changes in front of the user. A read that
 * fails for a reason that passes is repeated. The pauses grow while nothing changes, because a page may stay open for
 * days. Knows nothing of Preact: see `usePages`.
 */
export class PageReader<T, P extends Page<T>> {
  readonly #options: PagesOptions<T, P>
  readonly #onChange: (shown: Shown<T, P>) => void
  #shown: Shown<T, P>
  /** How many items the user wants to see. */
  #wanted: number
  #running: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: PagesOptions<T, P>, onChange: (shown: Shown<T, P>) => void, left?: Shown<T, P>) {
    this.#options = options
    this.#onChange = onChange
    this.#shown = left ?? { items: [], page: undefined, failure: undefined }
    this.#wanted = Math.max(options.pageItems, this.#shown.items.length)
  }

  get shown(): Shown<T, P> {
    return this.#shown
  }

  /** Reads from the beginning as many items as were wanted. */
  read(): void {
    void this.#load([], MIN_PAUSE_MS)
  }

  /** Does nothing while more items are being read, after a failure, and at the end. So it may be called repeatedly. */
  readMore(): void {
    const { items, page, failure } = this.#shown
    if (page?.isMore !== true || failure !== undefined || this.#wanted > items.length) return
    this.#wanted = items.length + this.#options.pageItems
    void this.#load(items, MIN_PAUSE_MS)
  }

  stop(): void {
    this.#running?.abort()
    clearTimeout(this.#timer)
  }

  /** Reads the items after those that are known. Ends a read that is running, whose result would be older. */
  async #load(known: readonly T[], pauseMs: number): Promise<void> {
    this.stop()
    const { signal } = (this.#running = new AbortController())
    const before = this.#shown.items
    try {
      await this.#readAfter(known, signal)
      const { items } = this.#shown
      if (signal.aborted || this.#options.mayChange?.(items) !== true) return
      const isChanged = JSON.stringify(before) !== JSON.stringify(items)
      this.#loadLater(isChanged ? MIN_PAUSE_MS : pauseMs)
    } catch (error) {
      if (signal.aborted) return
      this.#show({ ...this.#shown, failure: { error, retry: () => void this.#load(known, MIN_PAUSE_MS) } })
      if (isOutage(error)) this.#loadLater(pauseMs, known)
    }
  }

  /** Default: all is read again. */
  #loadLater(pauseMs: number, known: readonly T[] = []): void {
    const longerMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)
    this.#timer = setTimeout(() => void this.#load(known, longerMs), pauseMs)
  }

  async #readAfter(known: readonly T[], signal: AbortSignal): Promise<void> {
    let [items, page] = [known, known === this.#shown.items ? this.#shown.page : undefined]
    for (let isDone = false; !isDone;) {
      const len = Math.max(1, this.#wanted - items.length)
      page = await this.#options.readPage({ last: items.at(-1), before: page, len }, signal)
      if (signal.aborted) return
      items = [...items, ...page.items]
      isDone = !page.isMore || items.length >= this.#wanted
      // A list that is read again stays as it is until all of it is there.
      if (isDone || items.length >= this.#shown.items.length) this.#show({ items, page, failure: undefined })
    }
  }

  #show(shown: Shown<T, P>): void {
    this.#shown = shown
    this.#onChange(shown)
  }
}

/** What a list shows, and its next page. */
export interface Pages<T, P extends Page<T> = Page<T>> extends Shown<T, P> {
  readonly readMore: () => void
}

interface PagesSource {
  /** The list is another one if one of these changes. */
  readonly of: readonly unknown[]
  /** The list is read again at once if it grows. */
  readonly changes?: number
}

/** A list that is read page by page while the component is shown. `left`: what it shows at first, without a request. */
export function usePages<T, P extends Page<T>>(
  options: PagesOptions<T, P>,
  { of, changes = 0 }: PagesSource,
  left?: Shown<T, P>,
): Pages<T, P> {
  const [, render] = useState<unknown>()
  const reader = useMemo(() => new PageReader<T, P>(options, render, left), of)
  useEffect(() => {
    if (changes > 0 || reader.shown.page === undefined) reader.read()
    return () => reader.stop()
  }, [reader, changes])
  return { ...reader.shown, readMore: () => reader.readMore() }
}

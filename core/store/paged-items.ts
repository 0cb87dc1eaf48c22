/**
 * The items of pages, one after the other. An async generator with `yield*` does the same, but takes a microsecond or
 * more for each item, and again in each generator that passes the items on.
 */
export const itemsOf = <T>(pages: AsyncGenerator<readonly T[], void, undefined>): AsyncIterableIterator<T> =>
  new PagedItems(pages)

/** A page of decoded entries. If one of them is damaged, those before it are yielded before the error is thrown. */
export function* decodedPages<Entry, T>(
  page: readonly Entry[],
  decode: (entry: Entry) => T,
): Generator<readonly T[], void, undefined> {
  const items: T[] = []
  try {
    for (const entry of page) items.push(decode(entry))
  } catch (error) {
    yield items
    throw error
  }
  yield items
}

class PagedItems<T> implements AsyncIterableIterator<T> {
  readonly #pages: AsyncGenerator<readonly T[], void, undefined>
  #page: ArrayIterator<T> = [].values()
  #reading: Promise<boolean> | undefined

  constructor(pages: AsyncGenerator<readonly T[], void, undefined>) {
    this.#pages = pages
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#reading === undefined) {
      const item = this.#page.next()
      if (item.done !== true) return Promise.resolve(item)
    }
    return this.#nextOfNextPage()
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    await this.#pages.return()
    this.#page = [].values()
    return { done: true, value: undefined }
  }

  async #nextOfNextPage(): Promise<IteratorResult<T, undefined>> {
    const hasPage = await (this.#reading ??= this.#readPage())
    return hasPage ? this.next() : { done: true, value: undefined }
  }

  /** Returns whether there was another page. */
  async #readPage(): Promise<boolean> {
    try {
      const page = await this.#pages.next()
      if (page.done !== true) this.#page = page.value.values()
      return page.done !== true
    } finally {
      this.#reading = undefined
    }
  }
}

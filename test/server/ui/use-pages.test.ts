import assert from 'node:assert/strict'
import { before, describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { uiModule } from '../../support/ui-module.ts'

const STEP_MS = 500
const MINUTE_MS = 60_000
const PAGE_EVENTS = 50
const MAX_PAGE_EVENTS = 500

type Status = 'P' | 'S' | 'C' | null

interface Event {
  readonly version: number
  readonly merkleSendStatus: Status
}

interface History {
  readonly items: readonly Event[]
  readonly isMore: boolean
}

interface Shown {
  readonly items: readonly Event[]
  readonly page: History | undefined
  readonly failure: { readonly error: unknown; readonly retry: () => void } | undefined
}

interface Range {
  readonly last: number
  readonly len: number
}

interface Reader {
  readonly shown: Shown
  read(): void
  readMore(): void
  stop(): void
}

type NewReader = new (
  options: {
    readonly readPage: (request: { readonly last: Event | undefined; readonly len: number }) => Promise<History>
    readonly pageItems: number
    readonly mayChange?: (items: readonly Event[]) => boolean
  },
  onChange: (shown: Shown) => void,
) => Reader

interface UiModules {
  readonly PageReader: NewReader
  readonly EvidenceRegistryError: new (message: string, details: { status: number; code: string }) => Error
}

/** A page that shows a history of a service, whose time only `pass` changes. */
class ShownHistory {
  readonly reader: Reader
  readonly ranges: Range[] = []
  nowMs = 0
  failure: Error | undefined
  readonly #t: TestContext

  constructor(
    t: TestContext,
    PageReader: NewReader,
    versions: number,
    statusAt: (version: number, ms: number) => Status,
  ) {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    this.#t = t
    const mayChange = (items: readonly Event[]): boolean =>
      items.some(({ merkleSendStatus }) => merkleSendStatus !== 'C')
    const readPage = async (request: { readonly last: Event | undefined; readonly len: number }): Promise<History> => {
      const range = { last: request.last?.version ?? 0, len: request.len }
      this.ranges.push(range)
      if (this.failure !== undefined) throw this.failure
      const count = Math.min(range.len, MAX_PAGE_EVENTS, versions - range.last)
      const items = Array.from({ length: count }, (_, i) => {
        const version = range.last + 1 + i
        return { version, merkleSendStatus: statusAt(version, this.nowMs) }
      })
      return { items, isMore: range.last + count < versions }
    }
    this.reader = new PageReader({ readPage, pageItems: PAGE_EVENTS, mayChange }, () => undefined)
  }

  get shown(): Shown {
    return this.reader.shown
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await nextTurn()
      this.nowMs += STEP_MS
      this.#t.mock.timers.tick(STEP_MS)
    }
    await nextTurn()
  }

  /** Loads more until all are shown. */
  async showAll(): Promise<void> {
    this.reader.read()
    await nextTurn()
    while (this.shown.page?.isMore === true) {
      this.reader.readMore()
      await nextTurn()
    }
  }

  /** The number of requests in the time that passes. */
  async requestsIn(ms: number): Promise<number> {
    const earlier = this.ranges.length
    await this.pass(ms)
    return this.ranges.length - earlier
  }
}

describe('a list that is read page by page', () => {
  let PageReader: NewReader
  let EvidenceRegistryError: UiModules['EvidenceRegistryError']
  before(async () => {
    const modules = ['components/use-pages.ts', '../client/error.ts'] as const
    ;({ PageReader, EvidenceRegistryError } = await uiModule<UiModules>(...modules))
  })

  it('is read twice a minute while none of its events changes for long', async (t) => {
    const page = new ShownHistory(t, PageReader, 520, () => 'P')
    await page.showAll()
    assert.equal(page.shown.items.length, 520)
    await page.pass(5 * MINUTE_MS)
    // The service cuts 520 events into two pages.
    assert.equal(await page.requestsIn(10 * MINUTE_MS), 10 * 2 * 2)
    page.reader.stop()
    assert.equal(await page.requestsIn(MINUTE_MS), 0)
  })

  it('shows each change soon, however late it comes, and then reads no more', async (t) => {
    const sealedMs = 5_000
    const confirmedMs = 9_000
    for (const startMs of [0, 30 * MINUTE_MS]) {
      t.mock.timers.reset()
      const statusAt = (ms: number): Status => (ms < sealedMs ? null : ms < confirmedMs ? 'P' : 'C')
      const page = new ShownHistory(t, PageReader, 1, (_, ms) => statusAt(ms - startMs))
      page.reader.read()
      await page.pass(startMs + confirmedMs)
      await page.pass(startMs === 0 ? 3_000 : 30_000)
      assert.equal(page.shown.items[0]?.merkleSendStatus, 'C')
      assert.equal(await page.requestsIn(10 * MINUTE_MS), 0)
    }
  })

  it('is read 2 s after a change', async (t) => {
    const confirmedAt = (ms: number): number => (ms < 10 * MINUTE_MS ? 3 : 6)
    const page = new ShownHistory(t, PageReader, 9, (version, ms) => (version <= confirmedAt(ms) ? 'C' : 'P'))
    const statuses = (): string => page.shown.items.map(({ merkleSendStatus }) => merkleSendStatus).join('')
    page.reader.read()
    await page.pass(9 * MINUTE_MS)
    assert.equal(statuses(), 'CCCPPPPPP')
    while (statuses() === 'CCCPPPPPP') await page.pass(STEP_MS)
    assert.equal(statuses(), 'CCCCCCPPP')
    assert.equal(await page.requestsIn(2_000), 1)
  })

  it('is read again after a failure that passes, also if nothing of it can change', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const error = new EvidenceRegistryError('GET /evidences', { status: 0, code: 'NETWORK_ERROR' })
    const readPage = t.mock.fn(async (): Promise<History> => ({ items: [], isMore: false }))
    readPage.mock.mockImplementationOnce(() => Promise.reject(error))
    const reader = new PageReader({ readPage, pageItems: PAGE_EVENTS }, () => undefined)
    reader.read()
    await nextTurn()
    assert.equal(reader.shown.failure?.error, error)
    t.mock.timers.tick(2_000)
    await nextTurn()
    assert.equal(reader.shown.failure, undefined)
    t.mock.timers.tick(MINUTE_MS)
    await nextTurn()
    assert.equal(readPage.mock.callCount(), 2)
  })

  it('is not read again after another failure, until the user tries again', async (t) => {
    const page = new ShownHistory(t, PageReader, 1, () => 'P')
    page.reader.read()
    await page.pass(1_000)
    page.failure = new Error('no network')
    assert.equal(await page.requestsIn(MINUTE_MS), 1)
    assert.equal(page.shown.failure?.error, page.failure)
    page.failure = undefined
    const earlier = page.ranges.length
    page.shown.failure?.retry()
    await page.pass(1_000)
    assert.equal(page.ranges.length, earlier + 1)
    assert.equal(page.shown.failure, undefined)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tag } from '../../../core/commitment/event-format.ts'
import { OPENING_BYTES, tokenOpeningOf } from '../../../core/commitment/log-entry.ts'
import { erasureOpening } from '../../../core/commitment/receipt.ts'
import { DAY_MS } from '../../../core/ids.ts'
import { RegistryError } from '../../../core/index.ts'
import { DayCounts } from '../../../core/log/day-counts.ts'
import { EventTimes } from '../../../core/log/event-times.ts'
import { encodeEventPayload } from '../../../core/log/payload.ts'

const DAY = 20_000
const TOKEN = tokenOpeningOf(new Uint8Array(32))
const RECEIPT = erasureOpening(new Uint8Array(32))

function eventAt(time: number, company: string): Uint8Array {
  const opening = new Uint8Array(OPENING_BYTES)
  opening.set(tag('er1.event'))
  new DataView(opening.buffer).setBigUint64(48, BigInt(time))
  return encodeEventPayload(opening, { evidenceId: '', version: 1, type: 'create', company })
}

/** A log of events, one each second, of two companies in turn. */
const eventsFrom = (time: number, count: number): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, i) => eventAt(time + 1_000 * i, i % 2 === 0 ? 'acme' : 'other'))

/** Counts over a log that can grow. `read`: the positions that were read, without those of the binary search. */
function openLog(payloads: Uint8Array[]) {
  const log = { isDamaged: false, read: [] as number[] }
  const logSize = async (): Promise<number> => payloads.length
  const times = new EventTimes({ logSize, readPayloads: async (from, count) => payloads.slice(from, from + count) })
  const readPayloads = async (from: number, count: number): Promise<readonly Uint8Array[]> => {
    if (log.isDamaged) throw new RegistryError('CORRUPT', 'a row is damaged')
    const some = payloads.slice(from, from + count)
    log.read.push(...some.map((_, i) => from + i))
    return some
  }
  return { log, counts: new DayCounts({ logSize, readPayloads }, times) }
}

describe('the events of a day', () => {
  it('are those of the company since its beginning in UTC, without tokens', async () => {
    const payloads = [...eventsFrom((DAY - 1) * DAY_MS, 1_000), TOKEN, ...eventsFrom(DAY * DAY_MS, 301)]
    const { counts } = openLog(payloads)
    assert.deepEqual(await counts.of('acme', DAY * DAY_MS), { count: 151, isMore: false })
    assert.deepEqual(await counts.of('other', DAY * DAY_MS), { count: 150, isMore: false })
    assert.deepEqual(await counts.of('none', DAY * DAY_MS), { count: 0, isMore: false })
    payloads.push(TOKEN, eventAt(DAY * DAY_MS + 500_000, 'other'))
    assert.deepEqual(await counts.of('other', DAY * DAY_MS), { count: 151, isMore: false })
    assert.deepEqual(await counts.of('other', (DAY + 1) * DAY_MS), { count: 0, isMore: false })
    payloads.push(eventAt((DAY + 1) * DAY_MS, 'other'))
    assert.deepEqual(await counts.of('other', (DAY + 1) * DAY_MS), { count: 1, isMore: false })
  })

  it('are found behind many receipts of erasures', async () => {
    const receipts = Array.from({ length: 5_000 }, () => RECEIPT)
    const before = (count: number) => eventsFrom((DAY - 1) * DAY_MS, count)
    const { log, counts } = openLog([...before(1_000), ...receipts, ...before(3_000), ...eventsFrom(DAY * DAY_MS, 301)])
    assert.deepEqual(await counts.of('acme', DAY * DAY_MS), { count: 151, isMore: false })
    assert.ok(Math.min(...log.read) > 8_500, `read from ${Math.min(...log.read)} on`)
  })

  it('are read once for all callers, and some at a time', async () => {
    const { log, counts } = openLog([...eventsFrom(DAY * DAY_MS, 25_000)])
    const [first, same] = await Promise.all([counts.of('acme', DAY * DAY_MS), counts.of('other', DAY * DAY_MS)])
    assert.ok(first.isMore && first.count > 1_000 && same.count === first.count)
    for (let isMore = true; isMore;) ({ isMore } = await counts.of('acme', DAY * DAY_MS))
    assert.deepEqual(await counts.of('acme', DAY * DAY_MS), { count: 12_500, isMore: false })
    assert.deepEqual(log.read, [...new Set(log.read)])
    assert.equal(log.read.length, 25_000)
  })

  it('are those that can be read, if the log is damaged', async () => {
    const { log, counts } = openLog([...eventsFrom(DAY * DAY_MS, 10)])
    log.isDamaged = true
    assert.deepEqual(await counts.of('acme', DAY * DAY_MS), { count: 0, isMore: true })
    log.isDamaged = false
    assert.deepEqual(await counts.of('acme', DAY * DAY_MS), { count: 5, isMore: false })
  })
})

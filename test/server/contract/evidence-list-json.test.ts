import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { EvidencePage, EvidenceSummary } from '../../../core/index.ts'
import {
  evidenceList,
  EvidenceListItem,
  evidenceListItem,
  evidenceListPart,
  evidenceListParts,
} from '../../../server/contract/evidence-list.ts'
import { arrayOf } from '../../support/array-of.ts'
import { codePoint } from '../../support/code-point.ts'

const id = fc.uuid() as fc.Arbitrary<never>
const anyText = fc.string({ unit: codePoint })
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01') })
const anyCount = fc.nat()

const required = {
  id,
  externalId: anyText,
  categoryId: id,
  subcategoryId: id,
  name: anyText,
  status: fc.constantFrom('active', 'stolen'),
  createdAt: time,
  txId: id,
  eventCounts: fc.record({ create: anyCount, update: anyCount, transfer: anyCount }),
  lastEvent: fc.record({ recordedAt: time, txId: id, blockNumber: anyCount }, { requiredKeys: ['recordedAt', 'txId'] }),
} as const
const optional = {
  owner: anyText,
  summary: anyText,
  image: fc.record({ id, mimeType: anyText, size: anyCount }),
  blockNumber: anyCount,
}

const summary: fc.Arbitrary<EvidenceSummary> = fc
  .tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }))
  .map(([always, sometimes]) => ({ ...always, ...sometimes }))

const page: fc.Arbitrary<EvidencePage> = fc.record(
  {
    items: fc.array(summary, { maxLength: 4 }),
    count: fc.nat(),
    countIsMore: fc.boolean(),
    hasMore: fc.boolean(),
    next: anyText,
  },
  { requiredKeys: ['items', 'count', 'countIsMore', 'hasMore'] },
)

const objectsOf = ({ items }: EvidencePage): unknown[] =>
  items.map((item) => JSON.parse(evidenceListItem(item)) as unknown)

describe('the JSON of a list of evidences', () => {
  it('is what JSON.stringify makes of the page', () => {
    fc.assert(
      fc.property(page, (listed) => {
        const { count, countIsMore, hasMore, next } = listed
        const expected = {
          dts: objectsOf(listed),
          count,
          ...(countIsMore && { countIsMore }),
          isMore: hasMore,
          ...(next !== undefined && { next }),
        }
        assert.equal(evidenceList(listed), JSON.stringify(expected))
      }),
    )
  })

  it('does not end if it has fewer items than it had when it was counted', async () => {
    const read = (items: number) => async (position?: object) =>
      position === undefined ? { text: '[', items: 1, count: 3, next: { after: 'a' as never } } : { text: '', items }
    assert.equal((await arrayOf(evidenceListParts(read(2)))).at(-1), ']}')
    await assert.rejects(arrayOf(evidenceListParts(read(1))), { code: 'CORRUPT', message: /^1 evidences/ })
  })

  it('is valid JSON with the items of all pages if it is sent in parts', async () => {
    await fc.assert(
      fc.asyncProperty(page, fc.array(page, { maxLength: 3 }), async (first, others) => {
        let text = ''
        const parts = [evidenceListPart(first, true), ...others.map((other) => evidenceListPart(other, false))]
        const read = async () => ({ text: parts.shift() ?? '', next: parts.length === 0 ? undefined : {} })
        for await (const part of evidenceListParts(read)) text += part
        const { dts, ...total } = JSON.parse(text) as { readonly dts: unknown }
        assert.deepEqual(dts, [first, ...others].flatMap(objectsOf))
        const { count, countIsMore } = first
        assert.deepEqual(total, countIsMore ? { count, countIsMore } : { count })
      }),
    )
  })
})

describe('the JSON of an evidence in a list', () => {
  it('has all that is known of the evidence, and nothing else', () => {
    fc.assert(
      fc.property(summary, (from) => {
        const { create, update, transfer } = from.eventCounts
        const expected = {
          id: from.id,
          externalId: from.externalId,
          name: from.name,
          creationDate: from.createdAt.toISOString(),
          owner: { name: from.owner ?? '' },
          historyChanges: { create, update, transfer, total: create + update + transfer },
          categoryId: from.categoryId,
          subcategoryId: from.subcategoryId,
          txId: from.txId,
          ...(from.summary !== undefined && { summary: from.summary }),
          lastUpdateDate: from.lastEvent.recordedAt.toISOString(),
          lastUpdateTxId: from.lastEvent.txId,
          ...(from.image && { iconId: from.image }),
          stolen: from.status === 'stolen',
          ...(from.blockNumber !== undefined && { blockNumber: from.blockNumber }),
          ...(from.lastEvent.blockNumber !== undefined && { lastUpdateBlockNumber: from.lastEvent.blockNumber }),
        }
        assert.equal(evidenceListItem(from), JSON.stringify(expected))
        const unexpected = Object.keys(expected).filter((name) => !(name in EvidenceListItem.properties))
        assert.deepEqual(unexpected, [])
      }),
    )
  })
})

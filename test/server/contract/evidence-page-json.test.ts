import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { HistoryPage } from '../../../core/index.ts'
import { EvidenceEvent, EvidencePage, evidencePage } from '../../../server/contract/evidence-responses.ts'
import { codePoint } from '../../support/code-point.ts'

const id = fc.uuid() as fc.Arbitrary<never>
const text = fc.string({ unit: codePoint })
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01') })
const meta = fc.dictionary(text, fc.jsonValue()) as fc.Arbitrary<never>

const erased = fc.array(fc.record({ field: text, at: time }))

/** An object with all of these members and some of the others. */
const some = <T extends object, O extends object>(
  required: { [K in keyof T]: fc.Arbitrary<T[K]> },
  optional: { [K in keyof O]: fc.Arbitrary<O[K]> },
): fc.Arbitrary<T & Partial<O>> =>
  fc
    .tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }))
    .map(([always, sometimes]) => ({ ...always, ...sometimes }) as T & Partial<O>)

const evidence: fc.Arbitrary<HistoryPage['evidence']> = some(
  {
    id,
    categoryId: id,
    subcategoryId: id,
    externalId: text,
    name: text,
    status: fc.constantFrom('active' as const, 'stolen' as const),
    createdAt: time,
    txId: id,
    version: fc.nat(),
    lastTxId: id,
  },
  {
    description: text,
    image: fc.record({ id, mimeType: text, size: fc.nat() }),
    summary: text,
    owner: text,
    meta,
    erased,
  },
)

const disclosed = fc.record({ text, salt: text })
const event: fc.Arbitrary<HistoryPage['events'][number]> = some(
  {
    version: fc.nat(),
    type: fc.constantFrom('create' as const, 'update' as const, 'transfer' as const),
    recordedAt: time,
    owner: text,
    txId: id,
    batch: fc.option(fc.record({ id, sendStatus: fc.constantFrom('P' as const, 'S' as const, 'C' as const) })),
  },
  {
    updateType: fc.constantFrom('stolen' as const, 'repair' as const, 'addfile' as const),
    persona: text,
    eventDescription: text,
    updateDescription: text,
    meta,
    erased,
    disclosure: fc.record({
      opening: text,
      header: text,
      filesText: text,
      filesSalt: text,
      fields: fc.dictionary(text, disclosed),
      files: fc.dictionary(text, disclosed),
    }),
  },
)

const page: fc.Arbitrary<HistoryPage> = fc.record({
  evidence,
  events: fc.array(event, { maxLength: 4 }),
  lastVersion: fc.nat(),
  hasMore: fc.boolean(),
})

/** The members of an object that are set. */
const given = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const expectedOf = ({ evidence: of, events, lastVersion, hasMore }: HistoryPage) => ({
  object: given({
    id: of.id,
    categoryId: of.categoryId,
    subcategoryId: of.subcategoryId,
    externalId: of.externalId,
    createDate: of.createdAt.toISOString(),
    name: of.name,
    status: of.status,
    description: of.description,
    imageId: of.image?.id,
    summary: of.summary,
    owner: of.owner,
    txId: of.txId,
    meta: of.meta,
    erased: of.erased,
  }),
  events: events.map((from) =>
    given({
      timestamp: from.recordedAt.toISOString(),
      personaName: from.persona,
      ownerName: from.owner,
      type: from.type,
      updateType: from.updateType,
      eventDescription: from.eventDescription,
      updateDescription: from.updateDescription,
      txId: from.txId,
      version: from.version,
      meta: from.meta,
      merkleBatchId: from.batch?.id ?? null,
      merkleSendStatus: from.batch?.sendStatus ?? null,
      erased: from.erased,
      disclosure: from.disclosure,
    }),
  ),
  lastVersion,
  isMore: hasMore,
})

const unknownMembers = (object: object, schema: { readonly properties: object }): string[] =>
  Object.keys(object).filter((name) => !(name in schema.properties))

describe('the JSON of an evidence with its history', () => {
  it('is what JSON.stringify makes of all that is known, and has no other members than the document says', () => {
    fc.assert(
      fc.property(page, (from) => {
        const expected = expectedOf(from)
        assert.equal(evidencePage(from), JSON.stringify(expected))
        assert.deepEqual(unknownMembers(expected, EvidencePage), [])
        assert.deepEqual(unknownMembers(expected.object, EvidencePage.properties.object), [])
        for (const each of expected.events) assert.deepEqual(unknownMembers(each, EvidenceEvent), [])
      }),
    )
  })
})

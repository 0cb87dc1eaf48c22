import type { EvidencePage, EvidenceQuery, EvidenceSummary } from '../../api/evidences.ts'
import type { CategoryId, CompanyId, TxId } from '../../api/ids.ts'
import { countOf } from '../../store/counter.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference, listEntries, readRecord } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { CategoryRecord, EvidenceRecord, SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, validate } from '../validation.ts'
import { evidenceQuerySchema } from './input.ts'
import { newestIds, type Listing } from './listing.ts'
import { evidenceCore } from './stored-evidence.ts'

const DEFAULT_LIMIT = 100

export async function listEvidences(
  context: Context,
  { companyId }: AuthorizedScope,
  query: EvidenceQuery = {},
): Promise<EvidencePage> {
  const { records } = context
  const { limit = DEFAULT_LIMIT, after, ...filter } = validate(evidenceQuerySchema, query)
  if (after !== undefined) await assertOwnEvidence(context, companyId, after)
  const matches = await narrowestScope(context, companyId, filter)
  if (matches === undefined) return { items: [], count: 0, hasMore: false }
  const ids = await newestIds(records, matches.listings, { after, limit: limit + 1 })
  const [[count], evidences] = await Promise.all([
    records.get([keys.evidenceCount(...matches.scope)]),
    readListed(context, ids.slice(0, limit)),
  ])
  return { items: await summarize(context, evidences), count: countOf(count), hasMore: ids.length > limit }
}

/** The records of listed evidences. Evidences are never deleted, so a missing one is `CORRUPT`. */
async function readListed({ records }: Context, ids: readonly string[]): Promise<readonly EvidenceRecord[]> {
  const entries = await records.get(ids.map((id) => keys.evidence(id)))
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${ids[i]}`)
    return decodeRecord<EvidenceRecord>(entry)
  })
}

async function assertOwnEvidence({ records }: Context, companyId: CompanyId, id: string): Promise<void> {
  const evidence = await readRecord<EvidenceRecord>(records, keys.evidence(id))
  if (evidence?.record.company !== companyId)
    throw invalidInput('after', 'must be the id of an evidence of this company')
}

type Filter = Pick<EvidenceQuery, 'categoryId' | 'subcategoryId'>

interface Matches {
  /** Counts the matches. */
  readonly scope: Parameters<typeof keys.evidenceCount>
  /** Together they contain all matches and nothing else. */
  readonly listings: readonly Listing[]
}

/** Where all matches are found, `undefined` if nothing can match. */
async function narrowestScope(
  context: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: Filter,
): Promise<Matches | undefined> {
  if (subcategoryId !== undefined) {
    const parent = await categoryOfSubcategory(context, companyId, subcategoryId)
    const matches = parent !== undefined && (categoryId === undefined || categoryId === parent)
    return matches ? listedIn('subcategory', subcategoryId) : undefined
  }
  if (categoryId === undefined) return listedIn('company', companyId)
  const category = await readRecord<CategoryRecord>(context.records, keys.category(companyId, categoryId))
  return category && { scope: ['category', categoryId], listings: await listingsOfCategory(context, categoryId) }
}

const listedIn = (...listing: Listing): Matches => ({ scope: listing, listings: [listing] })

async function listingsOfCategory({ records }: Context, categoryId: string): Promise<readonly Listing[]> {
  const subcategories = await listEntries(records, keys.subcategoriesOf(categoryId))
  return subcategories.map(({ key }) => ['subcategory', lastPartOfKey(key)])
}

async function categoryOfSubcategory(
  { records }: Context,
  companyId: CompanyId,
  subcategoryId: string,
): Promise<CategoryId | undefined> {
  const read = await readRecord<SubcategoryRecord>(records, keys.subcategory(companyId, subcategoryId))
  return read?.record.categoryId
}

async function summarize(context: Context, records: readonly EvidenceRecord[]): Promise<readonly EvidenceSummary[]> {
  const blocks = await blocksOf(context, new Set(records.flatMap(({ txId, lastTxId }) => [txId, lastTxId])))
  return records.map((record) =>
    Object.assign(evidenceCore(record), {
      eventCounts: record.changes,
      ...blockMember(blocks.get(record.txId)),
      lastEvent: {
        recordedAt: new Date(record.lastAt),
        txId: record.lastTxId,
        ...blockMember(blocks.get(record.lastTxId)),
      },
    }),
  )
}

const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

/** The block that covers each txId. A txId without a confirmed anchor is left out. */
async function blocksOf({ records, log }: Context, txIds: ReadonlySet<TxId>): Promise<ReadonlyMap<TxId, number>> {
  const ids = [...txIds]
  const positions = await records.positionsOf(ids.map(entryOfTxId))
  const inLog = ids.flatMap((txId, i) => {
    const position = positions[i]
    return position === undefined ? [] : [{ txId, position }]
  })
  const numbers = await log.blockNumbersOf(inLog.map(({ position }) => position))
  const blocks = new Map<TxId, number>()
  for (const [i, { txId }] of inLog.entries()) {
    const block = numbers[i]
    if (block !== undefined) blocks.set(txId, block)
  }
  return blocks
}

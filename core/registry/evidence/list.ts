import type { EvidencePage, EvidenceQuery, EvidenceSummary } from '../../api/evidences.ts'
import type { CompanyId, TxId } from '../../api/ids.ts'
import { countOf } from '../../store/counter.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference, readRecord } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, validate } from '../validation.ts'
import { evidenceQuerySchema } from './input.ts'
import { firstRows, mergedRows, type IndexRow } from './index-rows.ts'
import { narrowestScope } from './scope.ts'
import { assertCursor, isSearch, searchEvidences } from './search.ts'
import { evidenceCore } from './stored-evidence.ts'

const DEFAULT_LIMIT = 100

export async function listEvidences(
  context: Context,
  { companyId }: AuthorizedScope,
  query: EvidenceQuery = {},
): Promise<EvidencePage> {
  validate(evidenceQuerySchema, query)
  assertTimes(query)
  if (isSearch(query)) return listSearched(context, companyId, query)
  if (query.cursor !== undefined)
    throw invalidInput('cursor', 'is only for lists that are filtered or sorted: use after')
  return listInOrder(context, companyId, query)
}

/** A page of all evidences of a company, a category or a subcategory. */
async function listInOrder(context: Context, companyId: CompanyId, query: EvidenceQuery): Promise<EvidencePage> {
  const { records } = context
  const { limit = DEFAULT_LIMIT, after } = query
  if (after !== undefined) await assertOwnEvidence(context, companyId, after)
  const scope = await narrowestScope(context, companyId, query)
  if (scope === undefined) return NO_EVIDENCES
  const ranges = scope.listings.map((listing) => keys.evidencesIn(...listing))
  const rows = await firstRows(mergedRows(records, ranges, { before: after, limit: limit + 1 }), limit + 1)
  const [[count], evidences] = await Promise.all([
    records.get([keys.evidenceCount(...scope.counter)]),
    readListed(context, rows.slice(0, limit)),
  ])
  return {
    items: await summarize(context, evidences),
    count: countOf(count),
    countIsMore: false,
    hasMore: rows.length > limit,
  }
}

/** A page of a filtered or sorted list. */
async function listSearched(context: Context, companyId: CompanyId, query: EvidenceQuery): Promise<EvidencePage> {
  if (query.after !== undefined)
    throw invalidInput(
      'after',
      'is only for lists that are neither filtered nor sorted: use what the page before returned',
    )
  const scope = await narrowestScope(context, companyId, query)
  if (scope === undefined) {
    assertCursor(companyId, query)
    return NO_EVIDENCES
  }
  const { evidences, next, ...count } = await searchEvidences(
    context,
    { companyId, query, scope },
    query.limit ?? DEFAULT_LIMIT,
  )
  return {
    items: await summarize(context, evidences),
    ...count,
    hasMore: next !== undefined,
    ...(next !== undefined && { next }),
  }
}

const NO_EVIDENCES: EvidencePage = { items: [], count: 0, countIsMore: false, hasMore: false }

function assertTimes(query: EvidenceQuery): void {
  for (const name of ['createdFrom', 'createdTo'] as const) {
    const time: unknown = query[name]
    if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime())))
      throw invalidInput(name, 'must be a valid Date')
  }
}

/** The records of listed evidences. Evidences are never deleted, so a missing one is `CORRUPT`. */
async function readListed({ records }: Context, rows: readonly IndexRow[]): Promise<readonly EvidenceRecord[]> {
  const entries = await records.get(rows.map(({ id }) => keys.evidence(id)))
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${rows[i]?.id}`)
    return decodeRecord<EvidenceRecord>(entry)
  })
}

async function assertOwnEvidence({ records }: Context, companyId: CompanyId, id: string): Promise<void> {
  const evidence = await readRecord<EvidenceRecord>(records, keys.evidence(id))
  if (evidence?.record.company !== companyId)
    throw invalidInput('after', 'must be the id of an evidence of this company')
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

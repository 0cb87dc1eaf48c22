import { fromHex } from '../../bytes.ts'
import { countOf } from '../../store/counter.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Entry } from '../../ports.ts'
import type { Scope } from '../../api/registry.ts'
import { EvidenceListQuery, type EvidenceList, type EvidenceListItem } from '../schemas.ts'
import { validate } from '../validation.ts'
import { assertCompany, lastPart, listAll, read, rfc3339, type Context } from '../context.ts'
import { decodeRecord, type CategoryRecord, type EvidenceRecord } from '../../store/records.ts'

const DEFAULT_LIST_LENGTH = 100

/** Evidences, newest first, by the narrowest index that the query allows. */
export async function listEvidences(context: Context, scope: Scope, query: EvidenceListQuery): Promise<EvidenceList> {
  const { categoryId, subcategoryId, len = DEFAULT_LIST_LENGTH, last } = validate(EvidenceListQuery, query)
  await assertCompany(context, scope)
  if (last !== undefined) await assertOwn(context, scope, last)
  const index = await indexOf(context, scope, categoryId, subcategoryId)
  if (index === undefined) return { dts: [], count: 0, isMore: false }
  const range = keys.evidencesIn(...index)
  const page = await listAll(context, {
    gte: range.gte,
    lt: last === undefined ? range.lt : keys.evidenceIn(...index, last),
    reverse: true,
    limit: len + 1,
  })
  const [[count], entries] = await Promise.all([
    context.records.get([keys.evidenceCount(...index)]),
    context.records.get(page.slice(0, len).map(({ key }) => keys.evidence(lastPart(key)))),
  ])
  const records = entries
    .filter((entry): entry is Entry => entry !== undefined)
    .map(({ value }) => decodeRecord<EvidenceRecord>(value))
  return { dts: await listItems(context, records), count: countOf(count), isMore: page.length > len }
}

/** `last` is the id of an evidence of this company. */
async function assertOwn(context: Context, { companyId }: Scope, id: string): Promise<void> {
  const evidence = await read<EvidenceRecord>(context, keys.evidence(id))
  if (evidence?.record.company !== companyId)
    throw new RegistryError('VALIDATION_ERROR', 'last takes the id of the last evidence that you have of this company')
}

/** The narrowest listing for these filters; `undefined` where nothing can match. */
async function indexOf(
  context: Context,
  { companyId }: Scope,
  categoryId: string | undefined,
  subcategoryId: string | undefined,
): Promise<Parameters<typeof keys.evidencesIn> | undefined> {
  if (categoryId === undefined && subcategoryId === undefined) return ['company', companyId]
  const [category, subcategory] = await Promise.all([
    categoryId === undefined ? undefined : read<CategoryRecord>(context, keys.category(companyId, categoryId)),
    subcategoryId === undefined
      ? undefined
      : read<{ categoryId: string }>(context, keys.subcategory(companyId, subcategoryId)),
  ])
  if (categoryId !== undefined && category === undefined) return undefined
  if (subcategoryId === undefined) return ['category', categoryId as string]
  if (subcategory === undefined || (categoryId !== undefined && subcategory.record.categoryId !== categoryId))
    return undefined
  return ['subcategory', subcategoryId]
}

async function listItems(context: Context, records: readonly EvidenceRecord[]): Promise<EvidenceListItem[]> {
  const blocks = await blocksOf(context, new Set(records.flatMap(({ txId, lastTxId }) => [txId, lastTxId])))
  return records.map((record) => {
    const [created, updated] = [blocks.get(record.txId), blocks.get(record.lastTxId)]
    const { changes } = record
    return {
      id: record.id,
      externalId: record.externalId,
      name: record.name,
      creationDate: rfc3339(record.createdAt),
      owner: { name: record.owner ?? '' },
      historyChanges: { ...changes, total: changes.create + changes.update + changes.transfer },
      categoryId: record.categoryId,
      subcategoryId: record.subcategoryId,
      txId: record.txId,
      ...(record.summary !== undefined && { summary: record.summary }),
      lastUpdateDate: rfc3339(record.lastAt),
      lastUpdateTxId: record.lastTxId,
      iconId: record.image ?? null,
      stolen: record.stolen,
      ...(created !== undefined && { blockNumber: created }),
      ...(updated !== undefined && { lastUpdateBlockNumber: updated }),
    }
  })
}

/** The block that covers each txId, by txId, where one is confirmed. */
async function blocksOf({ records, log }: Context, txIds: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
  const names = [...txIds]
  const positions = await records.positionsOf(names.map((txId) => fromHex(txId) as Uint8Array))
  const known = await log.blockNumbersOf(positions.map((position) => position ?? Number.MAX_SAFE_INTEGER - 1))
  const blocks = new Map<string, number>()
  for (const [i, txId] of names.entries()) {
    const block = positions[i] === undefined ? undefined : known[i]
    if (block !== undefined) blocks.set(txId, block)
  }
  return blocks
}

import Type, { type Static } from '#typebox'
import { RegistryError, type EvidencePage, type EvidenceSummary } from '../../core/index.ts'
import { member } from './evidence-responses.ts'
import type { PagePosition, ReplyText } from './reply-cache.ts'
import { closed, Count, dateTime, DateTime, defined, Hash, Id, opt } from './values.ts'

/** An evidence in a list: what a table shows, without its history. */
export const EvidenceListItem = closed({
  id: Id,
  externalId: Type.String(),
  name: Type.String(),
  creationDate: DateTime,
  owner: closed({ name: Type.String() }),
  historyChanges: closed({ create: Count, update: Count, transfer: Count, total: Count }),
  categoryId: Id,
  subcategoryId: Id,
  txId: Hash,
  summary: opt(Type.String()),
  lastUpdateDate: DateTime,
  lastUpdateTxId: Hash,
  iconId: opt(closed({ id: Id, mimeType: Type.String(), size: Type.Integer({ minimum: 0, description: 'Bytes' }) })),
  stolen: Type.Boolean(),
  blockNumber: opt(Count),
  lastUpdateBlockNumber: opt(Count),
})
export type EvidenceListItem = Static<typeof EvidenceListItem>

/** Endpoint 10: a page, or without `len` the whole list. */
export const EvidenceList = closed({
  dts: Type.Array(EvidenceListItem),
  count: Count,
  countIsMore: opt(
    Type.Literal(true, { description: 'Present if more may match: of a filtered list, at most 10,000 are counted' }),
  ),
  isMore: opt(Type.Boolean({ description: 'Only with len' })),
  next: opt(Type.String({ description: 'Where the next page of a filtered or sorted list begins. Opaque' })),
})
export type EvidenceList = Static<typeof EvidenceList>

/**
 * An `EvidenceListItem` as JSON: what `JSON.stringify` makes of it, in less time, because a list has a hundred of them.
 * Only members that may need an escape are encoded by `JSON.stringify`.
 */
export function evidenceListItem(from: EvidenceSummary): string {
  const { eventCounts, lastEvent, image } = from
  const { create, update, transfer } = eventCounts
  const created = dateTime(from.createdAt)
  // Most evidences have one event.
  const isUpdated = lastEvent.recordedAt.getTime() !== from.createdAt.getTime()
  const updated = isUpdated ? dateTime(lastEvent.recordedAt) : created
  const icon = image && { id: image.id, mimeType: image.mimeType, size: image.size }
  return (
    `{"id":"${from.id}","externalId":${JSON.stringify(from.externalId)},"name":${JSON.stringify(from.name)},` +
    `"creationDate":"${created}","owner":{"name":${JSON.stringify(from.owner ?? '')}},` +
    `"historyChanges":{"create":${create},"update":${update},"transfer":${transfer},` +
    `"total":${create + update + transfer}},` +
    `"categoryId":"${from.categoryId}","subcategoryId":"${from.subcategoryId}","txId":"${from.txId}"` +
    member('summary', from.summary) +
    `,"lastUpdateDate":"${updated}","lastUpdateTxId":"${lastEvent.txId}"` +
    member('iconId', icon) +
    `,"stolen":${from.status === 'stolen'}` +
    member('blockNumber', from.blockNumber) +
    member('lastUpdateBlockNumber', lastEvent.blockNumber) +
    '}'
  )
}

/** The JSON of a page: what `JSON.stringify` makes of an `EvidenceList`. */
export function evidenceList({ items, hasMore, next, ...total }: EvidencePage): string {
  const others: Omit<EvidenceList, 'dts'> = { ...countMembers(total), isMore: hasMore, ...defined({ next }) }
  return `{"dts":[${listItems(items)}],${JSON.stringify(others).slice(1)}`
}

const listItems = (items: readonly EvidenceSummary[]): string => items.map(evidenceListItem).join(',')

const countMembers = ({
  count,
  countIsMore,
}: Pick<EvidencePage, 'count' | 'countIsMore'>): Pick<EvidenceList, 'count' | 'countIsMore'> =>
  countIsMore ? { count, countIsMore } : { count }

/** A page of a whole list. The count is that of the first page. */
export const evidenceListPart = (page: EvidencePage, isFirst: boolean): string =>
  (isFirst ? `${JSON.stringify(countMembers(page)).slice(0, -1)},"dts":[` : '') + listItems(page.items)

type ListPart = Pick<ReplyText, 'text' | 'next' | 'items' | 'count'>

/**
 * A whole list as parts of its JSON text, one for each text of `evidenceListPart`. A filtered list may have many pages
 * without items: a space for each of them shows that the response goes on. Throws `CORRUPT` behind a list in the order
 * of the ids that has fewer items than it had when it was counted, because evidences are never deleted.
 *
 * @param read - reads the first part without a position
 */
export async function* evidenceListParts(
  read: (position?: PagePosition) => Promise<ListPart>,
): AsyncGenerator<string, void, undefined> {
  let separator = ''
  const first = await read()
  let missing = first.next?.after === undefined ? -Infinity : (first.count ?? 0)
  for (let part: ListPart | undefined = first; part !== undefined;) {
    const { text, next, items = 0 }: ListPart = part
    missing -= items
    yield text === '' ? ' ' : separator + text
    if (text !== '') separator = text.endsWith('[') ? '' : ','
    part = next && (await read(next))
  }
  if (missing > 0) throw new RegistryError('CORRUPT', `${missing} evidences of the list are missing`)
  yield ']}'
}

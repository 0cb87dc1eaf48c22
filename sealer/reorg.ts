import { RegistryError } from '../core/errors.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { AnchorConfirmation, AnchorHeadRecord, AnchorRecord } from '../core/log/records.ts'
import type { Anchor, AnchorStatus, RecordStore, Write } from '../core/ports.ts'
import { anchorWrite, isSameChain, preparedOf, withConfirmation, withoutConfirmation } from './anchor-record.ts'
import { largestFrontierSize, rebuildFrontierWrites } from './anchor-frontier.ts'

type ConfirmedAnchor = AnchorRecord & { readonly confirmation: AnchorConfirmation }

/** What a look at the unsettled anchors found: the head as it must become, what else is written with it, and what was reorged away. */
export interface UnsettledReview {
  readonly head: AnchorHeadRecord
  readonly writes: readonly Write[]
  readonly reorged: readonly number[]
}

/**
 * Asks the chain after the confirmed anchors that a reorganisation may still reach. One that moved to another block gets that block. Of
 * those that are in none any more the largest is outstanding again, unless a larger one is confirmed or outstanding and so covers it; the
 * rest are lost. Answers `undefined` where all is as it was.
 */
export async function reviewUnsettled(
  { records, reader, anchor }: { readonly records: RecordStore; readonly reader: LogReader; readonly anchor: Anchor },
  head: AnchorHeadRecord,
  signal: AbortSignal,
): Promise<UnsettledReview | undefined> {
  const all = await readUnsettled(reader, head)
  const anchors = all.filter(({ info }) => isSameChain(info, anchor.info))
  // Of a chain that is anchored on no more nothing can be learnt.
  if (anchors.length < all.length) return { head: { ...head, unsettled: sizesOf(anchors) }, writes: [], reorged: [] }
  const highest = anchors.at(-1)
  if (highest === undefined) return undefined
  // A block names the one before it: while the highest block stands, every lower one does.
  const status = await statusAt(anchor, highest, signal)
  if (isInBlock(status, highest.confirmation.blockHash)) return dropSettled(anchor, anchors, status, head, signal)
  const found: (readonly [ConfirmedAnchor, AnchorRecord | undefined])[] = []
  for (const each of anchors) found.push([each, await findConfirmation(anchor, each, signal)])
  return applyReorg(records, found, head)
}

/** In the order of their blocks. */
async function readUnsettled(reader: LogReader, { unsettled }: AnchorHeadRecord): Promise<readonly ConfirmedAnchor[]> {
  const anchors: ConfirmedAnchor[] = []
  for (const size of unsettled) {
    const record = await reader.anchor(size)
    if (record?.confirmation === undefined)
      throw new RegistryError(
        'CORRUPT',
        `The record of the confirmed anchor of size ${size} is gone: restore the store from a backup`,
      )
    anchors.push({ ...record, confirmation: record.confirmation })
  }
  return anchors.sort((a, b) => a.confirmation.blockNumber - b.confirmation.blockNumber)
}

async function statusAt(
  anchor: Anchor,
  { transactions, confirmation }: ConfirmedAnchor,
  signal: AbortSignal,
): Promise<AnchorStatus | undefined> {
  const transaction = transactions.find(({ ref }) => ref === confirmation.ref)
  return transaction && (await anchor.status([preparedOf(transaction)], signal))[0]
}

type IncludedStatus = Extract<AnchorStatus, { readonly state: 'included' | 'confirmed' }>

/** Also where a node that lags sees fewer confirmations than there were. */
const isInBlock = (status: AnchorStatus | undefined, blockHash: string): status is IncludedStatus =>
  (status?.state === 'confirmed' || status?.state === 'included') && status.blockHash === blockHash

/** All stand. The lowest ones that are settled leave the list. */
async function dropSettled(
  anchor: Anchor,
  anchors: readonly ConfirmedAnchor[],
  highest: IncludedStatus,
  head: AnchorHeadRecord,
  signal: AbortSignal,
): Promise<UnsettledReview | undefined> {
  let settled = 0
  for (const each of anchors) {
    const status = each === anchors.at(-1) ? highest : await statusAt(anchor, each, signal)
    if (status?.state !== 'confirmed' || !status.settled) break
    settled++
  }
  if (settled === 0) return undefined
  const unsettled = sizesOf(anchors.slice(settled))
  return { head: { ...head, unsettled }, writes: [], reorged: [] }
}

/** The same anchor where one of its transactions is confirmed, with the place that it has now; `undefined` where none is. */
async function findConfirmation(
  anchor: Anchor,
  record: ConfirmedAnchor,
  signal: AbortSignal,
): Promise<AnchorRecord | undefined> {
  const statuses = await anchor.status(record.transactions.map(preparedOf), signal)
  if (statuses.some((status) => isInBlock(status, record.confirmation.blockHash))) return record
  const at = statuses.findIndex(({ state }) => state === 'confirmed')
  const status = statuses[at]
  if (status?.state !== 'confirmed') return undefined
  return withConfirmation(record, record.transactions[at]?.ref as string, status)
}

async function applyReorg(
  records: RecordStore,
  found: readonly (readonly [ConfirmedAnchor, AnchorRecord | undefined])[],
  head: AnchorHeadRecord,
): Promise<UnsettledReview | undefined> {
  const kept = found.flatMap(([, now]) => (now === undefined ? [] : [now]))
  const gone = found.flatMap(([before, now]) => (now === undefined ? [before] : []))
  const moved = found.flatMap(([before, now]) => (now === undefined || now === before ? [] : [now]))
  if (gone.length === 0 && moved.length === 0) return undefined
  const reorged = sizesOf(gone)
  const confirmedSize = Math.max(await largestFrontierSize(records, reorged), ...sizesOf(kept), 0)
  const largest = Math.max(...reorged, 0)
  const again = head.outstanding === null && largest > confirmedSize ? largest : null
  return {
    head: {
      confirmedSize,
      sentSize: Math.max(confirmedSize, again ?? 0, head.outstanding === null ? 0 : outstandingSentSize(head)),
      outstanding: head.outstanding ?? again,
      unsettled: sizesOf(kept),
    },
    writes: [
      ...moved.map(anchorWrite),
      ...gone.map((each) => anchorWrite(withoutConfirmation(each, each.size === again ? 'sent' : 'lost'))),
      ...(await rebuildFrontierWrites(
        records,
        sizesOf(found.map(([before]) => before)),
        kept.map(({ size, confirmation }) => ({
          size,
          blockNumber: (confirmation as AnchorConfirmation).blockNumber,
        })),
      )),
    ],
    reorged,
  }
}

/** The outstanding anchor's size where it was sent, else 0: it is larger than every confirmed one. */
const outstandingSentSize = ({ sentSize, outstanding }: AnchorHeadRecord): number =>
  sentSize === outstanding ? sentSize : 0

const sizesOf = (anchors: readonly AnchorRecord[]): readonly number[] =>
  anchors.map(({ size }) => size).sort((a, b) => a - b)

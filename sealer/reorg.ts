import type { LogReader } from '../core/log/reader.ts'
import type { AnchorHeadRecord, AnchorRecord } from '../core/log/records.ts'
import type { Anchor, AnchorStatus, RecordStore, Write } from '../core/ports/index.ts'
import { largestFrontierSize, rebuildFrontierWrites } from './anchor-frontier.ts'
import {
  anchorWrite,
  confirmedBy,
  corruptError,
  isSameChain,
  preparedOf,
  withoutConfirmation,
  type ConfirmedAnchor,
} from './anchor-record.ts'

/** What a review of the unsettled anchors changes. */
interface UnsettledReview {
  /** The new anchor head. */
  readonly head: AnchorHeadRecord
  /** Further writes of the same commit. */
  readonly writes: readonly Write[]
  /** Sizes of the anchors that are no longer in a block. */
  readonly reorged: readonly number[]
}

interface ReviewSources {
  readonly records: RecordStore
  readonly reader: LogReader
  readonly anchor: Anchor
}

/**
 * Polls the chain for the confirmed anchors that a reorganization can still affect.
 *
 * An anchor that moved to another block gets the new block. Of the anchors that are in no block any more, the largest
 * is sent again, unless a larger anchor is confirmed or outstanding and so covers it. The others are lost. Returns
 * `undefined` if nothing changed.
 */
export async function reviewUnsettled(
  { records, reader, anchor }: ReviewSources,
  head: AnchorHeadRecord,
  signal: AbortSignal,
): Promise<UnsettledReview | undefined> {
  const all = await readUnsettled(reader, head)
  const anchors = all.filter(({ info }) => isSameChain(info, anchor.info))
  // Anchors on a chain that is no longer configured cannot be polled.
  if (anchors.length < all.length) return { head: { ...head, unsettled: sizesOf(anchors) }, writes: [], reorged: [] }
  const highest = anchors.at(-1)
  if (highest === undefined) return undefined
  // Each block names its predecessor: if the highest block is still in the chain, all lower ones are too.
  const status = await statusOf(anchor, highest, signal)
  if (isInBlock(status, highest.confirmation.blockHash))
    return dropSettled({ anchor, anchors, highest: status, head }, signal)
  const reviewed: ReviewedAnchor[] = []
  for (const before of anchors) reviewed.push({ before, now: await refreshConfirmation(anchor, before, signal) })
  return applyReorg(records, reviewed, head)
}

/** The unsettled anchors, in the order of their blocks. */
async function readUnsettled(reader: LogReader, { unsettled }: AnchorHeadRecord): Promise<readonly ConfirmedAnchor[]> {
  const anchors: ConfirmedAnchor[] = []
  for (const size of unsettled) {
    const record = await reader.anchor(size)
    if (record?.confirmation === undefined)
      throw corruptError(`The record of the confirmed anchor of size ${size} is missing`)
    anchors.push({ ...record, confirmation: record.confirmation })
  }
  return anchors.sort((a, b) => a.confirmation.blockNumber - b.confirmation.blockNumber)
}

async function statusOf(
  anchor: Anchor,
  { transactions, confirmation }: ConfirmedAnchor,
  signal: AbortSignal,
): Promise<AnchorStatus | undefined> {
  const transaction = transactions.find(({ ref }) => ref === confirmation.ref)
  return transaction && (await anchor.status([preparedOf(transaction)], signal))[0]
}

type IncludedStatus = Extract<AnchorStatus, { readonly state: 'included' | 'confirmed' }>

/** True also for `included`: a node that lags may see fewer confirmations than before. */
const isInBlock = (status: AnchorStatus | undefined, blockHash: string): status is IncludedStatus =>
  (status?.state === 'confirmed' || status?.state === 'included') && status.blockHash === blockHash

interface UnchangedAnchors {
  readonly anchor: Anchor
  readonly anchors: readonly ConfirmedAnchor[]
  /** The status of the last of them. */
  readonly highest: IncludedStatus
  readonly head: AnchorHeadRecord
}

/** All anchors are still in their blocks. Removes the settled ones, from the lowest block up, from the list. */
async function dropSettled(
  { anchor, anchors, highest, head }: UnchangedAnchors,
  signal: AbortSignal,
): Promise<UnsettledReview | undefined> {
  let settled = 0
  for (const each of anchors) {
    const status = each === anchors.at(-1) ? highest : await statusOf(anchor, each, signal)
    if (status?.state !== 'confirmed' || !status.settled) break
    settled++
  }
  if (settled === 0) return undefined
  const unsettled = sizesOf(anchors.slice(settled))
  return { head: { ...head, unsettled }, writes: [], reorged: [] }
}

interface ReviewedAnchor {
  readonly before: ConfirmedAnchor
  /** The same object if its block is unchanged, with the new block if it moved, `undefined` if it is in no block. */
  readonly now: ConfirmedAnchor | undefined
}

async function refreshConfirmation(
  anchor: Anchor,
  before: ConfirmedAnchor,
  signal: AbortSignal,
): Promise<ConfirmedAnchor | undefined> {
  const statuses = await anchor.status(before.transactions.map(preparedOf), signal)
  if (statuses.some((status) => isInBlock(status, before.confirmation.blockHash))) return before
  return confirmedBy(before, statuses)?.anchor
}

async function applyReorg(
  records: RecordStore,
  reviewed: readonly ReviewedAnchor[],
  head: AnchorHeadRecord,
): Promise<UnsettledReview | undefined> {
  const kept = reviewed.flatMap(({ now }) => (now === undefined ? [] : [now]))
  const gone = reviewed.flatMap(({ before, now }) => (now === undefined ? [before] : []))
  const moved = reviewed.flatMap(({ before, now }) => (now === undefined || now === before ? [] : [now]))
  if (gone.length === 0 && moved.length === 0) return undefined
  const reorged = sizesOf(gone)
  const confirmedSize = Math.max(await largestFrontierSize(records, reorged), ...sizesOf(kept), 0)
  const largest = Math.max(...reorged, 0)
  const resent = head.outstanding === null && largest > confirmedSize ? largest : null
  const frontier = await rebuildFrontierWrites(
    records,
    sizesOf(reviewed.map(({ before }) => before)),
    kept.map(({ size, confirmation: { blockNumber } }) => ({ size, blockNumber })),
  )
  return {
    head: {
      confirmedSize,
      sentSize: Math.max(confirmedSize, resent ?? 0, outstandingSentSize(head)),
      outstanding: head.outstanding ?? resent,
      unsettled: sizesOf(kept),
    },
    writes: [
      ...moved.map(anchorWrite),
      ...gone.map((anchor) => anchorWrite(withoutConfirmation(anchor, anchor.size === resent ? 'sent' : 'lost'))),
      ...frontier,
    ],
    reorged,
  }
}

/** The outstanding anchor's size if it was sent, else 0. It is larger than every confirmed anchor. */
const outstandingSentSize = ({ sentSize, outstanding }: AnchorHeadRecord): number =>
  outstanding !== null && sentSize === outstanding ? sentSize : 0

const sizesOf = (anchors: readonly AnchorRecord[]): readonly number[] =>
  anchors.map(({ size }) => size).sort((a, b) => a - b)

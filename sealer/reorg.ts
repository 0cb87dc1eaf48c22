import type { LogReader } from '../core/log/reader.ts'
import { logKeys } from '../core/log/keys.ts'
import type { AnchorHeadRecord, AnchorRecord } from '../core/log/records.ts'
import type { Anchor, AnchorStatus, PreparedAnchor, RecordStore, Write } from '../core/ports/index.ts'
import { anchorEntries } from '../core/store/derived.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { derivedWrites } from '../core/store/entries.ts'
import { listRecords } from '../core/store/read.ts'
import {
  anchorWrite,
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
  /** Sizes of the anchors whose blocks are no longer in the chain. */
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
 * If blocks of anchors are gone, these anchors are not confirmed any more. The largest of them is outstanding again,
 * whether it moved to another block or has to be sent again, unless a larger anchor is confirmed or outstanding. It
 * covers the others, which are lost. Returns `undefined` if nothing changed.
 */
export async function reviewUnsettled(
  { records, reader, anchor }: ReviewSources,
  head: AnchorHeadRecord,
  signal: AbortSignal,
): Promise<UnsettledReview | undefined> {
  const all: readonly ConfirmedAnchor[] = await Promise.all(head.unsettled.map((size) => readConfirmed(reader, size)))
  const anchors = all.filter(({ info }) => isSameChain(info, anchor.info))
  // Anchors on a chain that is no longer configured cannot be polled.
  if (anchors.length < all.length) return { head: { ...head, unsettled: sizesOf(anchors) }, writes: [], reorged: [] }
  const statuses = await anchor.status(anchors.map(confirmedTransaction), signal)
  const gone = anchors.filter((each, i) => !isInBlock(statuses[i], each))
  if (gone.length > 0) return applyReorg(records, { anchors, gone, head })
  const unsettled = anchors.filter((_, i) => !isSettled(statuses[i]))
  if (unsettled.length === anchors.length) return undefined
  return { head: { ...head, unsettled: sizesOf(unsettled) }, writes: [], reorged: [] }
}

async function readConfirmed(reader: LogReader, size: number): Promise<ConfirmedAnchor> {
  const record = await reader.anchor(size)
  if (record?.confirmation === undefined)
    throw corruptError(`The record of the confirmed anchor of size ${size} is missing`)
  return { ...record, confirmation: record.confirmation }
}

function confirmedTransaction({ size, transactions, confirmation }: ConfirmedAnchor): PreparedAnchor {
  const transaction = transactions.find(({ ref }) => ref === confirmation.ref)
  if (transaction === undefined) throw corruptError(`The record of the anchor of size ${size} lacks its transaction`)
  return preparedOf(transaction)
}

/** No reorganization reaches a block that the chain has deleted. */
const isPruned = (status: AnchorStatus | undefined): boolean => status?.state === 'failed' && status.isPruned === true

/** True also for `included`: a node that lags may see fewer confirmations than before. */
const isInBlock = (status: AnchorStatus | undefined, { confirmation }: ConfirmedAnchor): boolean =>
  isPruned(status) ||
  ((status?.state === 'confirmed' || status?.state === 'included') && status.blockHash === confirmation.blockHash)

const isSettled = (status: AnchorStatus | undefined): boolean =>
  isPruned(status) || (status?.state === 'confirmed' && status.settled)

interface Reorg {
  readonly anchors: readonly ConfirmedAnchor[]
  /** Those of them whose blocks are gone: at least one. */
  readonly gone: readonly ConfirmedAnchor[]
  readonly head: AnchorHeadRecord
}

async function applyReorg(records: RecordStore, { anchors, gone, head }: Reorg): Promise<UnsettledReview> {
  const reorged = sizesOf(gone)
  const largest = Math.max(...reorged)
  const confirmedSize = await largestConfirmed(records, reorged)
  const outstanding = head.outstanding ?? (largest > confirmedSize ? largest : null)
  const isSent = outstanding === largest || outstanding === head.sentSize
  return {
    head: {
      ...head,
      confirmedSize,
      sentSize: isSent ? outstanding : confirmedSize,
      outstanding,
      unsettled: sizesOf(anchors.filter((each) => !gone.includes(each))),
    },
    writes: gone.flatMap((anchor) => [
      anchorWrite(withoutConfirmation(anchor, anchor.size === outstanding ? 'sent' : 'lost')),
      ...derivedWrites(anchorEntries(anchor), []),
    ]),
    reorged,
  }
}

/** The size of the largest confirmed anchor that is not among the excluded ones, 0 without one. */
async function largestConfirmed(records: RecordStore, excluded: readonly number[]): Promise<number> {
  for await (const entry of listRecords(records, { ...logKeys.confirmedAnchors(), reverse: true })) {
    const { size } = decodeRecord(entry)
    if (!excluded.includes(size)) return size
  }
  return 0
}

const sizesOf = (anchors: readonly AnchorRecord[]): readonly number[] => anchors.map(({ size }) => size)

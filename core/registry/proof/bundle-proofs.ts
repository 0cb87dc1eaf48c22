import type { Bundle, BundleEvent, BundleReceipt } from '../../schemas/bundle.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import type { TxId } from '../../api/scope.ts'
import { checkpointUnits, merged, unitsOf, type VouchedTree } from './vouched-tree.ts'
import type { VouchedTrees } from './vouched-trees.ts'

/** An entry of a bundle and what it discloses, not proven yet. */
interface Disclosed<T> {
  readonly txId: TxId
  /** Default true. Else it is proven under a checkpoint that the bundle has for other events. */
  readonly isShown?: boolean
  readonly disclosed: Omit<T, 'position' | 'inclusion'>
}

export interface DisclosedEvent extends Disclosed<BundleEvent> {
  /** Whether a field or file of it is erased. Absent: none is. */
  readonly isErased?: (name: string) => boolean
}
export type DisclosedReceipt = Disclosed<BundleReceipt>

type ProvenParts = Omit<Bundle, 'format' | 'version' | 'origin' | 'subject' | 'extensions'>

/**
 * Proves events under the earliest stamped and the earliest anchored checkpoint that cover them, and if witnesses have
 * not cosigned the stamped one, also under the earliest that they have. An event without any of these is proven under
 * the earliest checkpoint, and one that is not sealed yet is not proven. If these are more checkpoints than a verifier
 * reads, only every nth event has its own, and those between are proven under the next. Receipts are proven as events
 * are, and left out until they are sealed.
 */
export async function proveEvents(
  log: LogReader,
  trees: VouchedTrees,
  { events, receipts }: { readonly events: readonly DisclosedEvent[]; readonly receipts: readonly DisclosedReceipt[] },
): Promise<ProvenParts> {
  const placedEvents = await placed(log, events)
  const placedReceipts = (await placed(log, receipts)).toSorted((a, b) => positionOf(a) - positionOf(b))
  const maxOfTrees = Math.min(MAX_TREE_UNITS, MAX_UNITS_WITH_KEYS - trees.keyCount)
  for (let step = 1; ;) {
    const ofEvents = await cover(trees, placedEvents, step)
    const ofReceipts = await cover(trees, placedReceipts, step)
    const shown = merged([...ofEvents, ...ofReceipts].flatMap((found) => found ?? []))
    const units = shown.reduce((sum, tree) => sum + unitsOf(tree), 0)
    const vouchers = units <= maxOfTrees ? await trees.vouchersOf(shown) : undefined
    const excess = vouchers === undefined ? units / maxOfTrees : bundleUnits(vouchers) / MAX_BUNDLE_UNITS
    if (excess > 1 && step < Math.max(events.length, receipts.length)) step *= Math.ceil(excess)
    else {
      const proven = await Promise.all(placedReceipts.map((one, i) => receiptOf(trees, one, ofReceipts[i] ?? [])))
      return {
        events: await Promise.all(placedEvents.map((event, i) => eventOf(trees, event, ofEvents[i] ?? []))),
        ...(vouchers ?? (await trees.vouchersOf(shown))),
        ...(proven.flat().length > 0 && { receipts: proven.flat() }),
      }
    }
  }
}

type Placed<T> = T & { readonly status: EntryStatus | undefined }

/** Entries with their status in the log. Throws `CORRUPT` if it does not hold one. */
async function placed<T extends Disclosed<object>>(log: LogReader, entries: readonly T[]): Promise<Placed<T>[]> {
  const statuses = await log.eventStatuses(entries.map(({ txId }) => txId))
  return entries.map((entry, i) => ({ ...entry, status: statuses[i] }))
}

const positionOf = ({ status }: Placed<object>): number => status?.position ?? Infinity

/** What a verifier may spend on a bundle (`core/SPECIFICATION.md`), less what only a verifier can count. */
export const MAX_BUNDLE_UNITS = 1_400
/** Of it on the checkpoints. The rest is for certificates, lists and responses. */
const MAX_TREE_UNITS = 1_000
/** With the signatures by which each key hands over to the next one. A log has at most 1,024 keys. */
const MAX_UNITS_WITH_KEYS = 1_300

/** For its signature, and for every 500 entries of a list, of which each has 30 bytes or more. */
const pieceUnits = ({ data }: Bundle['validationData'][number]): number => 5 + data.length / 20_000

/** What a verifier spends on a bundle. */
export const bundleUnits = ({ keys, checkpoints, validationData }: CountedParts): number =>
  [...checkpoints.map(checkpointUnits), ...validationData.map(pieceUnits)].reduce(
    (sum, each) => sum + each,
    keys.length - 1,
  )

type CountedParts = Pick<Bundle, 'keys' | 'checkpoints' | 'validationData'>

/** Finds the trees that prove each entry, ascending, or each nth one (`step`). The entries are in the log's order. */
async function cover(
  trees: VouchedTrees,
  entries: readonly Placed<Pick<DisclosedEvent, 'isShown'>>[],
  step: number,
): Promise<readonly (readonly VouchedTree[] | undefined)[]> {
  const covering: (readonly VouchedTree[] | undefined)[] = []
  const last = entries.findLastIndex(({ status }) => status !== undefined && status.batch !== null)
  for (const [i, { isShown, status }] of entries.entries()) {
    const isLeftOut = i < last && (isShown === false || i % step > 0)
    covering.push(isLeftOut ? undefined : await treesOf(trees, status))
  }
  // A tree that holds an entry holds those before it.
  for (let i = last - 1; i >= 0; i--)
    covering[i] ??= entries[i]?.isShown === false ? covering[i + 1]?.slice(0, 1) : covering[i + 1]
  return covering
}

/** The one to three trees that prove an entry; none if it is not sealed. */
async function treesOf(trees: VouchedTrees, status: EntryStatus | undefined): Promise<readonly VouchedTree[]> {
  if (status === undefined || status.batch === null) return []
  const minSize = status.position + 1
  const stamped = await trees.stampedFrom(minSize)
  const anchored = await trees.anchoredFrom(minSize)
  const cosigned = await trees.cosignedFrom(minSize, stamped)
  const found = [stamped, anchored, cosigned].filter((tree) => tree !== undefined)
  if (found.length > 0) return merged(found)
  const ofBatch = await trees.ofBatch(status.batch)
  return ofBatch === undefined ? [] : [ofBatch]
}

/** None if it is not sealed yet. */
async function receiptOf(
  trees: VouchedTrees,
  { txId, status, disclosed }: Placed<DisclosedReceipt>,
  provenBy: readonly VouchedTree[],
): Promise<readonly BundleReceipt[]> {
  if (status === undefined || provenBy.length === 0) return []
  const { position } = status
  return [{ ...disclosed, position, inclusion: await trees.inclusions({ entry: txId, position }, provenBy) }]
}

async function eventOf(
  trees: VouchedTrees,
  { txId, status, disclosed: { opening, ...disclosed } }: Placed<DisclosedEvent>,
  provenBy: readonly VouchedTree[],
): Promise<BundleEvent> {
  if (status === undefined || provenBy.length === 0) return { opening, inclusion: [], ...disclosed }
  const { position } = status
  return { opening, position, inclusion: await trees.inclusions({ entry: txId, position }, provenBy), ...disclosed }
}

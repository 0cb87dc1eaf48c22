import type { Bundle, BundleEvent } from '../../schemas/bundle.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import type { TxId } from '../../api/scope.ts'
import { checkpointUnits, merged, unitsOf, type VouchedTree, type VouchedTrees } from './vouched-trees.ts'

/** An event of a bundle and what it discloses, not proven yet. */
export interface DisclosedEvent {
  readonly txId: TxId
  /** Default true. Else it is proven under a checkpoint that the bundle has for other events. */
  readonly isShown?: boolean
  readonly disclosed: Omit<BundleEvent, 'position' | 'inclusion'>
}

type ProvenParts = Omit<Bundle, 'format' | 'version' | 'origin' | 'subject' | 'extensions'>

/**
 * Proves events under the earliest stamped and the earliest anchored checkpoint that cover them, and if witnesses have
 * not cosigned the stamped one, also under the earliest that they have. An event without any of these is proven under
 * the earliest checkpoint, and one that is not sealed yet is not proven. If these are more checkpoints than a verifier
 * reads, only every nth event has its own, and those between are proven under the next.
 */
export async function proveEvents(
  log: LogReader,
  trees: VouchedTrees,
  events: readonly DisclosedEvent[],
): Promise<ProvenParts> {
  const statuses = await log.eventStatuses(events.map(({ txId }) => txId))
  const maxOfTrees = Math.min(MAX_TREE_UNITS, MAX_UNITS_WITH_KEYS - trees.keyCount)
  for (let step = 1; ;) {
    const coverage = await cover(trees, events, statuses, step)
    const vouchers = coverage.units <= maxOfTrees ? await trees.vouchersOf(coverage.trees) : undefined
    const excess = vouchers === undefined ? coverage.units / maxOfTrees : bundleUnits(vouchers) / MAX_BUNDLE_UNITS
    if (excess > 1 && step < events.length) step *= Math.ceil(excess)
    else
      return {
        events: await Promise.all(
          events.map((event, i) => eventOf(trees, event, statuses[i]?.position, coverage.ofEvents[i] ?? [])),
        ),
        ...(vouchers ?? (await trees.vouchersOf(coverage.trees))),
      }
  }
}

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

interface Coverage {
  /** Each once, by their sizes, ascending. */
  readonly trees: readonly VouchedTree[]
  /** For each event the trees that prove it, ascending. */
  readonly ofEvents: readonly (readonly VouchedTree[] | undefined)[]
  /** What a verifier spends on the trees. */
  readonly units: number
}

/** Finds the trees of every event, or of every nth one (`step`). */
async function cover(
  trees: VouchedTrees,
  events: readonly DisclosedEvent[],
  statuses: readonly (EntryStatus | undefined)[],
  step: number,
): Promise<Coverage> {
  const ofEvents: (readonly VouchedTree[] | undefined)[] = []
  const last = statuses.findLastIndex((status) => status !== undefined && status.batch !== null)
  for (const [i, status] of statuses.entries()) {
    const isLeftOut = i < last && (events[i]?.isShown === false || i % step > 0)
    ofEvents.push(isLeftOut ? undefined : await treesOf(trees, status))
  }
  const all = merged(ofEvents.flatMap((found) => found ?? []))
  // A tree that holds a version holds those before it.
  for (let i = last - 1; i >= 0; i--)
    ofEvents[i] ??= events[i]?.isShown === false ? ofEvents[i + 1]?.slice(0, 1) : ofEvents[i + 1]
  return { trees: all, ofEvents, units: all.reduce((sum, tree) => sum + unitsOf(tree), 0) }
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

async function eventOf(
  trees: VouchedTrees,
  { txId, disclosed: { opening, ...disclosed } }: DisclosedEvent,
  position: number | undefined,
  provenBy: readonly VouchedTree[],
): Promise<BundleEvent> {
  if (position === undefined || provenBy.length === 0) return { opening, inclusion: [], ...disclosed }
  return { opening, position, inclusion: await trees.inclusions({ entry: txId, position }, provenBy), ...disclosed }
}

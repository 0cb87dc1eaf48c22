import type { BundleInclusion } from '../../schemas/bundle.ts'
import { type LogRange, RangeCache } from '../../log/range-cache.ts'
import type { LogReader } from '../../log/reader.ts'
import type { BatchRecord } from '../../log/records.ts'
import type { SealedTree } from '../../log/sealed-tree.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { inclusionsOf, type PlacedEntry, stampedTree, treeOf, type VouchedTree } from './vouched-tree.ts'
import { type BundleSources, charsOf, readVouchers, type Vouchers } from './vouchers.ts'

/** Stamps and anchors that are cached, some 7 KB each. */
const MAX_CACHED_TREES = 64
/** Of what is cached of sets of trees. */
const MAX_CACHED_CHARS = 8 * 1024 * 1024

/** The tree that was found for sizes from `start` to `end` (exclusive). */
interface Found extends LogRange {
  readonly tree: VouchedTree | undefined
}

/** What was read in one state of the log. */
class Cached {
  readonly stamped = new RangeCache<Found>(MAX_CACHED_TREES)
  readonly anchored = new RangeCache<Found>(MAX_CACHED_TREES)
  readonly cosigned = new RangeCache<Found>(MAX_CACHED_TREES)
  readonly vouchers = new BoundedMap<string, Vouchers>(MAX_CACHED_CHARS, charsOf)
}

/** The trees that prove events, with all that vouches for them. Caches what it has read until `refresh`. */
export class VouchedTrees {
  readonly #log: LogReader
  readonly #proofs: Pick<SealedTree, 'proveInclusion'>
  readonly #sources: BundleSources
  #cached = new Cached()
  #state: unknown[] = []

  /** @param proofs - makes the proofs of events. Default: the tree of `log` */
  constructor(log: LogReader, sources: BundleSources, proofs: Pick<SealedTree, 'proveInclusion'> = log.tree) {
    this.#log = log
    this.#sources = sources
    this.#proofs = proofs
  }

  /** The checkpoint keys of the log, all of which a bundle may show. */
  get keyCount(): number {
    return this.#sources.identity.keys.length
  }

  /** Forgets what is cached if a stamp, an anchor, a key or the tree has changed. */
  async refresh(): Promise<void> {
    const { identity } = this.#sources
    const [version, { size }] = await Promise.all([
      this.#log.attestationVersion(),
      this.#log.tree.head(),
      identity.refresh(),
    ])
    const state = [version, size, identity.keys]
    if (!state.every((part, i) => part === this.#state[i])) this.#cached = new Cached()
    this.#state = state
  }

  /** Of the trees of this size or larger, the smallest whose stamp has its quorum, else the smallest with a token. */
  stampedFrom(minSize: number): Promise<VouchedTree | undefined> {
    return firstFrom(this.#cached.stamped, minSize, async () => {
      const stamp = await this.#log.shownStamp(minSize)
      return stamp && stampedTree(stamp)
    })
  }

  /** Of the anchored trees of this size or larger, the one in the lowest block. */
  async anchoredFrom(minSize: number): Promise<VouchedTree | undefined> {
    const tree = await firstFrom(this.#cached.anchored, minSize, async () => {
      const anchor = await this.#log.anchorCovering(minSize)
      return anchor && { ...treeOf(anchor.size, anchor.checkpoint), anchor }
    })
    // A reorganization of the chain may have removed it meanwhile.
    return tree?.anchor?.confirmation && tree
  }

  /**
   * Of the trees of this size or larger, the smallest that a quorum of witnesses cosigned; `stamped` if it has one.
   */
  async cosignedFrom(minSize: number, stamped: VouchedTree | undefined): Promise<VouchedTree | undefined> {
    const { witnesses } = this.#sources.trust
    if (witnesses === undefined || witnesses.quorum === 'none') return undefined
    const from = (size: number): Promise<VouchedTree | undefined> =>
      firstFrom(this.#cached.cosigned, size, async () => {
        const found = await this.#log.checkpoints.cosignedFrom(size, witnesses)
        return found && treeOf(found.size, found.note)
      })
    const next = stamped && (await from(stamped.size))
    return next !== undefined && next.size === stamped?.size ? stamped : from(minSize)
  }

  /** The tree of a batch, `undefined` until its checkpoint is signed. */
  async ofBatch(batch: BatchRecord): Promise<VouchedTree | undefined> {
    const checkpoint = await this.#log.checkpoints.ofBatch(batch)
    return checkpoint && treeOf(checkpoint.size, checkpoint.note)
  }

  /** Proves an event under these trees. Throws `CORRUPT` if tiles are damaged. */
  inclusions(event: PlacedEntry, trees: readonly VouchedTree[]): Promise<BundleInclusion[]> {
    return inclusionsOf(this.#proofs, event, trees)
  }

  /**
   * What vouches for these trees.
   *
   * @param trees - by their sizes, ascending
   */
  async vouchersOf(trees: readonly VouchedTree[]): Promise<Vouchers> {
    const { vouchers } = this.#cached
    const key = trees.map(({ size, stamp, anchor }) => [size, stamp && 's', anchor && 'a'].join('')).join(' ')
    const known = vouchers.get(key)
    if (known !== undefined) return known
    const read = await readVouchers(this.#log, this.#sources, trees)
    vouchers.set(key, read)
    return read
  }
}

async function firstFrom(
  cached: RangeCache<Found>,
  minSize: number,
  read: () => Promise<VouchedTree | undefined>,
): Promise<VouchedTree | undefined> {
  const known = cached.find(minSize)
  if (known !== undefined) return known.tree
  const tree = await read()
  cached.add({ start: minSize, end: tree === undefined ? Infinity : tree.size + 1, tree })
  return tree
}

import type {
  Bundle,
  BundleAnchor,
  BundleCheckpoint,
  BundleInclusion,
  BundleKey,
  BundleRenewal,
  BundleValidationData,
  LogPolicy,
} from '../../schemas/bundle.ts'
import { decodeUtf8, fromBase64, toBase64, toHex } from '../../bytes.ts'
import { entryOf, tokenOpening } from '../../commitment/log-entry.ts'
import { corrupt } from '../../errors.ts'
import { parseCheckpoint } from '../../log/note.ts'
import type { LogIdentity } from '../../log/identity.ts'
import type { LogReader } from '../../log/reader.ts'
import type { AnchorRecord, BatchRecord, StampRecord, StampToken, ValidationDataRef } from '../../log/records.ts'
import { distinctTokens } from '../../log/attestation-rules.ts'
import type { SealedTree } from '../../log/sealed-tree.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { MAX_CHECKPOINT_TOKENS, MAX_COSIGNATURES } from '../../commitment/bundle-format.ts'
import type { SealerTrust } from '../../ports/index.ts'
import { type LogRange, RangeCache } from '../../log/range-cache.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { storedBytes } from '../../store/codec.ts'
import { logPolicy } from '../published-log.ts'

/** The log's identity and what vouches for it. */
export interface BundleSources {
  readonly identity: Pick<LogIdentity, 'origin' | 'keys' | 'refresh'>
  readonly trust: SealerTrust
}

/** A tree under which a bundle proves events, and what it shows of its stamp and of its anchor. */
export interface VouchedTree {
  readonly size: number
  /** The signed checkpoint. */
  readonly note: string
  readonly root: Uint8Array
  readonly stamp?: StampRecord
  readonly anchor?: AnchorRecord
}

/** What a bundle says of its trees. It is the same for all events that are proven under them. */
export interface Vouchers extends Pick<Bundle, 'keys' | 'checkpoints' | 'validationData' | 'renewals'> {
  readonly claimedPolicy: LogPolicy
}

/** An entry of the log. */
interface PlacedEntry {
  /** Hex. */
  readonly entry: string
  readonly position: number
}

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
      return stamp && { size: stamp.size, note: stamp.checkpoint, root: rootOfNote(stamp.checkpoint), stamp }
    })
  }

  /** Of the anchored trees of this size or larger, the one in the lowest block. */
  async anchoredFrom(minSize: number): Promise<VouchedTree | undefined> {
    const tree = await firstFrom(this.#cached.anchored, minSize, async () => {
      const anchor = await this.#log.anchorCovering(minSize)
      return anchor && { size: anchor.size, note: anchor.checkpoint, root: rootOfNote(anchor.checkpoint), anchor }
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
        return found && { size: found.size, note: found.note, root: rootOfNote(found.note) }
      })
    const next = stamped && (await from(stamped.size))
    return next !== undefined && next.size === stamped?.size ? stamped : from(minSize)
  }

  /** The tree of a batch, `undefined` until its checkpoint is signed. */
  async ofBatch(batch: BatchRecord): Promise<VouchedTree | undefined> {
    const checkpoint = await this.#log.checkpoints.ofBatch(batch)
    return checkpoint && { size: checkpoint.size, note: checkpoint.note, root: rootOfNote(checkpoint.note) }
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
    const read = await this.#read(trees)
    vouchers.set(key, read)
    return read
  }

  async #read(trees: readonly VouchedTree[]): Promise<Vouchers> {
    const [log, { identity }] = [this.#log, this.#sources]
    const { renewals, newest } = await renewalsOf(log, trees)
    const shown = newest === undefined ? trees : merged([...trees, newest])
    // Another process may have signed a checkpoint with a key that it has added since.
    await identity.refresh()
    const claimedPolicy = await logPolicy(log, this.#sources)
    const { checkpoints, validationData } = await checkpointsOf(log, shown, claimedPolicy.keys)
    return {
      keys: await this.#proveKeys(shown),
      checkpoints,
      validationData,
      ...(renewals.length > 0 && { renewals }),
      claimedPolicy,
    }
  }

  /** The keys up to the newest that signed one of the checkpoints, each proven under those that it signed. */
  #proveKeys(trees: readonly VouchedTree[]): Promise<BundleKey[]> {
    const { keys } = this.#sources.identity
    const signerOf = ({ size }: VouchedTree): number => keys.findLastIndex(({ position }) => position < size)
    const newest = Math.max(0, ...trees.map(signerOf))
    return Promise.all(
      keys.slice(0, newest + 1).map(async ({ entry, position }, i) => {
        const payload = await this.#log.payloadOf(storedBytes(entry, 'The entry of a checkpoint key'))
        if (payload === undefined) throw corrupt(`The opening of checkpoint key ${entry} is missing`)
        const signed = trees.filter((tree) => signerOf(tree) === i)
        const inclusion = await inclusionsOf(this.#log.tree, { entry, position }, signed)
        return { opening: toHex(payload.opening), position, inclusion }
      }),
    )
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

/** These trees by their sizes, ascending. Each once, with all that is shown of it. */
export function merged(trees: readonly VouchedTree[]): readonly VouchedTree[] {
  const bySize = new Map<number, VouchedTree>()
  for (const tree of trees) bySize.set(tree.size, { ...bySize.get(tree.size), ...tree })
  return [...bySize.values()].toSorted((a, b) => a.size - b.size)
}

/** What a verifier spends on a tree. */
export const unitsOf = ({ stamp, anchor }: VouchedTree): number =>
  checkpointUnits({ tokens: tokensOf(stamp).map(({ token }) => token), anchors: anchor === undefined ? [] : [anchor] })

/** What a verifier spends on a checkpoint (`core/SPECIFICATION.md`). A token has 850 characters or more for a unit. */
export const checkpointUnits = ({ tokens, anchors, cosignatures = [] }: CountedCheckpoint): number =>
  1 +
  8 * anchors.length +
  tokens.reduce((sum, token) => sum + 5 + token.length / 850, 0) +
  cosignatures.reduce((sum, line) => sum + (line.length > LONGEST_ED25519 ? 2 : 1), 0)

/** A signature line with more characters is one of ML-DSA-44. */
const LONGEST_ED25519 = 1_000

interface CountedCheckpoint {
  readonly tokens: readonly string[]
  readonly anchors: readonly unknown[]
  readonly cosignatures?: readonly string[]
}

const inclusionsOf = (
  proofs: Pick<SealedTree, 'proveInclusion'>,
  { entry, position }: PlacedEntry,
  trees: readonly VouchedTree[],
): Promise<BundleInclusion[]> => {
  const leaf = leafHash(storedBytes(entry, 'A log entry'))
  return Promise.all(
    trees.map(async ({ size: treeSize, root }) => {
      const path = await proofs.proveInclusion({ leafHash: leaf, leafIndex: position, treeSize, root })
      return { treeSize, path: path.map(toHex) }
    }),
  )
}

/**
 * The tokens whose entries the newest stamp covers, proven under its tree: should the certificate of an older token be
 * revoked one day, the newest stamp shows that the token existed before. `newest`: that tree, if there are such tokens.
 */
async function renewalsOf(
  log: LogReader,
  trees: readonly VouchedTree[],
): Promise<{ readonly renewals: BundleRenewal[]; readonly newest?: VouchedTree }> {
  const stamp = await log.latestStamp()
  if (stamp === undefined) return { renewals: [] }
  const openings = trees.flatMap((tree) => tokensOf(tree.stamp)).map(({ token }) => openingOf(token))
  const entries = openings.map(entryOf)
  const statuses = await log.entryStatuses(entries)
  const newest = { size: stamp.size, note: stamp.checkpoint, root: rootOfNote(stamp.checkpoint), stamp }
  const renewals = openings.map(async (opening, i): Promise<readonly BundleRenewal[]> => {
    const position = statuses[i]?.position
    const entry = entries[i]
    if (entry === undefined || position === undefined || position >= newest.size) return []
    const inclusion = await inclusionsOf(log.tree, { entry: toHex(entry), position }, [newest])
    return [{ opening: toHex(opening), position, inclusion }]
  })
  const covered = (await Promise.all(renewals)).flat()
  return { renewals: covered.toSorted((a, b) => a.position - b.position), ...(covered.length > 0 && { newest }) }
}

/** All of them, each with the proof that it is the beginning of the next one and of the last tree of its key. */
async function checkpointsOf(
  log: LogReader,
  trees: readonly VouchedTree[],
  keys: LogPolicy['keys'],
): Promise<Pick<Bundle, 'checkpoints' | 'validationData'>> {
  const refs = new Map<string, ValidationDataRef>()
  const checkpoints: BundleCheckpoint[] = []
  for (const [i, tree] of trees.entries()) {
    const tokens = tokensOf(tree.stamp)
    for (const ref of tokens.flatMap(({ evidence }) => evidence)) refs.set(ref.sha256, ref)
    checkpoints.push({
      note: tree.note,
      ...(await consistencyOf(log, { tree, next: trees[i + 1], keys })),
      cosignatures: (await log.checkpoints.cosignatures(tree.size)).slice(0, MAX_COSIGNATURES),
      tokens: tokens.map(({ token }) => token),
      anchors: anchorsOf(tree.anchor),
    })
  }
  return { checkpoints, validationData: await validationDataOf(log, [...refs.values()]) }
}

interface TreeInOrder {
  readonly tree: VouchedTree
  readonly next: VouchedTree | undefined
  readonly keys: LogPolicy['keys']
}

/** Only the largest tree of a retired key needs the proof to its last one: the others lead to it. */
async function consistencyOf(
  log: LogReader,
  { tree: { size, root: fromRoot }, next, keys }: TreeInOrder,
): Promise<Pick<BundleCheckpoint, 'consistency' | 'keyConsistency'>> {
  const prove = async (toSize: number, toRoot: Uint8Array): Promise<string[]> =>
    (await log.tree.proveConsistency({ fromSize: size, fromRoot, toSize, toRoot })).map(toHex)
  const { until = null, root } = keys.find((key) => size <= (key.until ?? Infinity)) ?? {}
  return {
    ...(next !== undefined && { consistency: await prove(next.size, next.root) }),
    ...(until !== null &&
      root !== undefined &&
      (next?.size ?? Infinity) > until && { keyConsistency: await prove(until, storedBytes(root, 'A root')) }),
  }
}

function rootOfNote(note: string): Uint8Array {
  try {
    return parseCheckpoint(note).root
  } catch (cause) {
    throw corrupt('A stored checkpoint is damaged', cause)
  }
}

const tokensOf = (stamp: StampRecord | undefined): readonly StampToken[] =>
  distinctTokens(stamp?.tokens ?? []).slice(0, MAX_CHECKPOINT_TOKENS)

function openingOf(base64: string): Uint8Array {
  const token = fromBase64(base64)
  if (token === undefined) throw corrupt('A stored token is not base64')
  return tokenOpening(token)
}

function anchorsOf(anchor: AnchorRecord | undefined): BundleAnchor[] {
  if (anchor?.confirmation === undefined) return []
  const { info, confirmation } = anchor
  const { ref: txHash, blockNumber, blockHash, evidence } = confirmation
  const { type, network, chainId } = info
  return [{ type, network, chainId, txHash, blockNumber, blockHash, proof: proofText(type, evidence) }]
}

/** The proofs of the chains that come with the package are texts. */
const TEXT_PROOFS: ReadonlySet<string> = new Set(['evm', 'local'])

function proofText(type: string, base64: string): string {
  if (!TEXT_PROOFS.has(type)) return base64
  const bytes = fromBase64(base64)
  if (bytes === undefined) throw corrupt('The stored proof of an anchor is not base64')
  return decodeUtf8(bytes)
}

const validationDataOf = async (log: LogReader, refs: readonly ValidationDataRef[]): Promise<BundleValidationData[]> =>
  (await log.validationData(refs)).map(({ type, der }) => ({ type, data: toBase64(der) }))

/** Of the proofs of keys, the policy without certificates and the rest. */
const OTHER_CHARS = 8 * 1024

/** About what they take. */
function charsOf({ checkpoints, validationData, claimedPolicy }: Vouchers): number {
  const certificates = claimedPolicy.timestampAuthorities.flatMap(({ trustAnchors }) => trustAnchors)
  const proofs = checkpoints.flatMap(({ note, tokens, anchors }) => [
    note,
    ...tokens,
    ...anchors.map(({ proof }) => proof),
  ])
  const texts = [...certificates, ...proofs, ...validationData.map(({ data }) => data)]
  return texts.reduce((sum, text) => sum + text.length, OTHER_CHARS)
}

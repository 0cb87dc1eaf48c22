import type {
  Bundle,
  BundleAnchor,
  BundleCheckpoint,
  BundleEvent,
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
import type { LogIdentity, KeyInLog } from '../../log/identity.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import type { AnchorRecord, StampRecord, StampToken, ValidationDataRef } from '../../log/records.ts'
import { distinctTokens } from '../../log/attestation-rules.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { MAX_CHECKPOINT_TOKENS } from '../../commitment/bundle-format.ts'
import type { TxId } from '../../api/scope.ts'
import type { SealerTrust } from '../../ports/index.ts'
import { storedBytes } from '../../store/codec.ts'
import { logPolicy } from '../published-log.ts'

/** An event of a bundle and what it discloses, not proven yet. */
export interface DisclosedEvent {
  readonly txId: TxId
  /** Default true. Else it is proven under a checkpoint that the bundle has for other events. */
  readonly isShown?: boolean
  readonly disclosed: Omit<BundleEvent, 'position' | 'inclusion'>
}

/** The log's identity and what vouches for it. */
export interface BundleSources {
  readonly identity: Pick<LogIdentity, 'origin' | 'keys' | 'refresh'>
  readonly trust: SealerTrust
}

type ProvenParts = Omit<Bundle, 'format' | 'version' | 'origin' | 'subject' | 'extensions'>

/**
 * Proves events under the earliest stamped and the earliest anchored checkpoint that cover them. An event without
 * either is proven under the earliest checkpoint, and one that is not sealed yet is not proven. If these are more
 * checkpoints than a verifier reads, only every nth event has its own, and those between are proven under the next.
 */
export async function proveEvents(
  log: LogReader,
  sources: BundleSources,
  events: readonly DisclosedEvent[],
): Promise<ProvenParts> {
  const statuses = await log.eventStatuses(events.map(({ txId }) => txId))
  let step = 1
  let { coverage, sizes } = await cover(log, events, statuses, step)
  while (coverage.units > MAX_UNITS) {
    step *= Math.ceil(coverage.units / MAX_UNITS)
    ;({ coverage, sizes } = await cover(log, events, statuses, step))
  }
  const renewals = await coverage.renewals()
  // Another process may have signed a checkpoint with a key that it has added since.
  await sources.identity.refresh()
  const claimedPolicy = await logPolicy(log, sources)
  const { checkpoints, validationData } = await coverage.checkpoints(claimedPolicy.keys)
  return {
    events: await Promise.all(
      events.map((event, i) => eventOf(coverage, event, statuses[i]?.position, sizes[i] ?? [])),
    ),
    keys: await proveKeys(log, sources.identity.keys, coverage),
    checkpoints,
    validationData,
    ...(renewals.length > 0 && { renewals }),
    claimedPolicy,
  }
}

/** What a verifier may spend on the checkpoints of a bundle. The rest is for certificates, lists and responses. */
const MAX_UNITS = 1_000

/** Finds the checkpoints of every event, or of every nth one (`step`). */
async function cover(
  log: LogReader,
  events: readonly DisclosedEvent[],
  statuses: readonly (EntryStatus | undefined)[],
  step: number,
): Promise<{ readonly coverage: Coverage; readonly sizes: readonly (readonly number[] | undefined)[] }> {
  const coverage = new Coverage(log)
  const sizes: (readonly number[] | undefined)[] = []
  const last = statuses.findLastIndex((status) => status !== undefined && status.batch !== null)
  // Positions of a history ascend with its versions, so each search begins at the previous result.
  for (const [i, status] of statuses.entries()) {
    const isLeftOut = i < last && (events[i]?.isShown === false || i % step > 0)
    sizes.push(isLeftOut ? undefined : await coverage.sizesFor(status))
  }
  // A checkpoint that holds a version holds those before it.
  for (let i = last - 1; i >= 0; i--)
    sizes[i] ??= events[i]?.isShown === false ? sizes[i + 1]?.slice(0, 1) : sizes[i + 1]
  return { coverage, sizes }
}

async function eventOf(
  coverage: Coverage,
  { txId, disclosed: { opening, ...disclosed } }: DisclosedEvent,
  position: number | undefined,
  sizes: readonly number[],
): Promise<BundleEvent> {
  if (position === undefined || sizes.length === 0) return { opening, inclusion: [], ...disclosed }
  return { opening, position, inclusion: await coverage.inclusions({ entry: txId, position }, sizes), ...disclosed }
}

/** The keys up to the newest that signed one of the checkpoints, each proven under those that it signed. */
async function proveKeys(log: LogReader, logKeys: readonly KeyInLog[], coverage: Coverage): Promise<BundleKey[]> {
  const sizes = coverage.sizes()
  const signerOf = (size: number): number => logKeys.findLastIndex(({ position }) => position < size)
  const newest = Math.max(0, ...sizes.map(signerOf))
  return Promise.all(
    logKeys.slice(0, newest + 1).map(async ({ entry, position }, i) => {
      const payload = await log.payloadOf(storedBytes(entry, 'The entry of a checkpoint key'))
      if (payload === undefined) throw corrupt(`The opening of checkpoint key ${entry} is missing`)
      const signed = sizes.filter((size) => signerOf(size) === i)
      return {
        opening: toHex(payload.opening),
        position,
        inclusion: await coverage.inclusions({ entry, position }, signed),
      }
    }),
  )
}

/** An entry of the log. */
interface PlacedEntry {
  /** Hex. */
  readonly entry: string
  readonly position: number
}

interface Attestations {
  readonly stamp?: StampRecord
  readonly anchor?: AnchorRecord
}

interface CollectedCheckpoint extends Attestations {
  readonly note: string
  readonly root: Uint8Array
}

/** Collects the checkpoints under which events are proven, each once. */
class Coverage {
  readonly #log: LogReader
  readonly #bySize = new Map<number, CollectedCheckpoint>()
  #stamp: StampRecord | undefined
  #anchor: AnchorRecord | undefined

  constructor(log: LogReader) {
    this.#log = log
  }

  /** Proves an entry under collected checkpoints. Throws `CORRUPT` if tiles are damaged. */
  inclusions(entry: PlacedEntry, sizes: readonly number[]): Promise<BundleInclusion[]> {
    return Promise.all(sizes.map((size) => this.#inclusion(entry, size, this.#collected(size).root)))
  }

  async #inclusion({ entry, position }: PlacedEntry, treeSize: number, root: Uint8Array): Promise<BundleInclusion> {
    const leaf = leafHash(storedBytes(entry, 'A log entry'))
    const proof = await this.#log.proveInclusion({ leafHash: leaf, leafIndex: position, treeSize, root })
    return { treeSize, path: proof.map(toHex) }
  }

  #collected(size: number): CollectedCheckpoint {
    const checkpoint = this.#bySize.get(size)
    if (checkpoint === undefined) throw new RangeError(`No checkpoint of ${size} entries was collected`)
    return checkpoint
  }

  /** What a verifier spends on the collected checkpoints. */
  get units(): number {
    const all = [...this.#bySize.values()].map(({ stamp, anchor }) =>
      checkpointUnits(
        tokensOf(stamp).map(({ token }) => token),
        anchor === undefined ? 0 : 1,
      ),
    )
    return all.reduce((sum, units) => sum + units, 0)
  }

  /** Sizes of the collected checkpoints, ascending. */
  sizes(): readonly number[] {
    return [...this.#bySize.keys()].sort((a, b) => a - b)
  }

  /** Sizes of the one or two checkpoints that prove an entry, ascending; none if it is not sealed. */
  async sizesFor(status: EntryStatus | undefined): Promise<readonly number[]> {
    if (status === undefined || status.batch === null) return []
    const minSize = status.position + 1
    const sizes = new Set<number>()
    const stamp = await this.#stampFrom(minSize)
    if (stamp !== undefined) sizes.add(this.#add(stamp.size, stamp.checkpoint, { stamp }))
    const anchor = await this.#anchorFrom(minSize)
    if (anchor?.confirmation !== undefined) sizes.add(this.#add(anchor.size, anchor.checkpoint, { anchor }))
    if (sizes.size === 0) {
      const checkpoint = await this.#log.checkpointOf(status.batch)
      if (checkpoint !== undefined) sizes.add(this.#add(checkpoint.size, checkpoint.note))
    }
    return [...sizes].sort((a, b) => a - b)
  }

  async #stampFrom(minSize: number): Promise<StampRecord | undefined> {
    if (this.#stamp === undefined || !covers(this.#stamp, minSize)) this.#stamp = await this.#log.stampCovering(minSize)
    return this.#stamp
  }

  async #anchorFrom(minSize: number): Promise<AnchorRecord | undefined> {
    if (this.#anchor === undefined || !covers(this.#anchor, minSize))
      this.#anchor = await this.#log.anchorCovering(minSize)
    return this.#anchor
  }

  #add(size: number, note: string, attestations: Attestations = {}): number {
    const checkpoint = this.#bySize.get(size) ?? { note, root: rootOfNote(note) }
    this.#bySize.set(size, { ...checkpoint, ...attestations })
    return size
  }

  /**
   * The tokens whose entries the newest stamp covers, and adds its checkpoint: should the certificate of an older token
   * be revoked one day, the newest stamp shows that the token existed before.
   */
  async renewals(): Promise<BundleRenewal[]> {
    const newest = await this.#log.latestStamp()
    if (newest === undefined) return []
    const openings = [...this.#bySize.values()]
      .flatMap(({ stamp }) => tokensOf(stamp))
      .map(({ token }) => openingOf(token))
    const entries = openings.map(entryOf)
    const statuses = await this.#log.entryStatuses(entries)
    const root = rootOfNote(newest.checkpoint)
    const renewals = openings.map(async (opening, i): Promise<readonly BundleRenewal[]> => {
      const position = statuses[i]?.position
      const entry = entries[i]
      if (entry === undefined || position === undefined || position >= newest.size) return []
      const inclusion = [await this.#inclusion({ entry: toHex(entry), position }, newest.size, root)]
      return [{ opening: toHex(opening), position, inclusion }]
    })
    const covered = (await Promise.all(renewals)).flat()
    if (covered.length > 0) this.#add(newest.size, newest.checkpoint, { stamp: newest })
    return covered.toSorted((a, b) => a.position - b.position)
  }

  /** All of them, each with the proof that it is the beginning of the next one and of the last tree of its key. */
  async checkpoints(keys: LogPolicy['keys']): Promise<Pick<Bundle, 'checkpoints' | 'validationData'>> {
    const refs = new Map<string, ValidationDataRef>()
    const checkpoints: BundleCheckpoint[] = []
    const sizes = this.sizes()
    for (const [i, size] of sizes.entries()) {
      const { note, stamp, anchor } = this.#collected(size)
      const tokens = tokensOf(stamp)
      for (const ref of tokens.flatMap(({ evidence }) => evidence)) refs.set(ref.sha256, ref)
      checkpoints.push({
        note,
        ...(await this.#consistencyOf(size, sizes[i + 1], keys)),
        cosignatures: [],
        tokens: tokens.map(({ token }) => token),
        anchors: anchorsOf(anchor),
      })
    }
    return { checkpoints, validationData: await validationDataOf(this.#log, [...refs.values()]) }
  }

  /** Only the largest tree of a retired key needs the proof to its last one: the others lead to it. */
  async #consistencyOf(
    size: number,
    next: number | undefined,
    keys: LogPolicy['keys'],
  ): Promise<Pick<BundleCheckpoint, 'consistency' | 'keyConsistency'>> {
    const from = { fromSize: size, fromRoot: this.#collected(size).root }
    const prove = async (toSize: number, toRoot: Uint8Array): Promise<string[]> =>
      (await this.#log.proveConsistency({ ...from, toSize, toRoot })).map(toHex)
    const { until = null, root } = keys.find((key) => size <= (key.until ?? Infinity)) ?? {}
    return {
      ...(next !== undefined && { consistency: await prove(next, this.#collected(next).root) }),
      ...(until !== null &&
        root !== undefined &&
        (next ?? Infinity) > until && { keyConsistency: await prove(until, storedBytes(root, 'A root')) }),
    }
  }
}

/** What a verifier spends on a checkpoint (`core/SPECIFICATION.md`). A token has 850 characters or more for a unit. */
export const checkpointUnits = (tokens: readonly string[], anchors: number): number =>
  tokens.reduce((sum, token) => sum + 5 + token.length / 850, 1 + 8 * anchors)

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

/** Whether it is the first one that covers this size, given that the sizes that are searched ascend. */
const covers = (record: { readonly size: number }, minSize: number): boolean => record.size >= minSize

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

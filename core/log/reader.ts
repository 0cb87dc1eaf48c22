import { equalBytes, toHex } from '../bytes.ts'
import { corrupt, isError, RegistryError } from '../errors.ts'
import type { RecordStore, SignedHead, ValidationData, WitnessPolicy } from '../ports/index.ts'
import { decodeRecord, storedBytes } from '../store/codec.ts'
import { listRecords, lost, readFirst, readOne, readAll } from '../store/read.ts'
import { hasQuorum, linesOf } from './cosigned.ts'
import { positionsWithin, readLogWindow, type LogWindow } from './positions.ts'
import { CoveringRecords } from './covering-records.ts'
import { AnchorState } from './anchor-state.ts'
import { logKeys } from './keys.ts'
import { EntrySearch } from './entry-search.ts'
import { EventTimes } from './event-times.ts'
import { decodePayload, type LogPayload, needsAttestation, opensBatch } from './payload.ts'
import { readProofBlocks, type ProofBlock, type ProofRange } from './proof-blocks.ts'
import type {
  AnchorHeadRecord,
  AnchorRecord,
  BatchRecord,
  CheckpointRecord,
  StampPeriod,
  StampRecord,
  TreeHeadRecord,
  ValidationDataRef,
  WitnessesRecord,
} from './records.ts'
import { SealedTiles, StoredTiles } from './tiles.ts'
import { emptyRoot, nodesOfRange, rangeHash, type LeafRange } from './tree/hash.ts'
import {
  consistencyRanges,
  inclusionRanges,
  verifyConsistency,
  verifyInclusion,
  type ConsistencyProof,
  type InclusionProof,
} from './tree/proof.ts'

/**
 * `P`: in a batch. `S`: covered by an anchor that was sent. `C`: covered by a confirmed anchor. `null`: in no batch
 * yet.
 */
export type SendStatus = 'P' | 'S' | 'C' | null

export interface EntryStatus {
  /** Position in the log. It is also the leaf's index in every tree that contains the entry. */
  readonly position: number
  readonly batch: BatchRecord | null
  readonly sendStatus: SendStatus
}

export interface LogReaderOptions {
  /** Tiles kept in memory, at most 16,352 bytes each. Default 512: 8 MiB. */
  readonly maxCachedTiles?: number
  /** Whether witnesses cosign the log. Otherwise no cosignature is read. Default false. */
  readonly hasWitnesses?: boolean
}

/** About 400 bytes each: 1.6 MiB. */
const MAX_CACHED_BATCHES = 4_096

/**
 * Reads the log: positions, batches, checkpoints, proofs, stamps, anchors. Everything comes from stored records,
 * nothing is computed from the entries. A tree size that is passed in must be sealed.
 */
export class LogReader {
  /** The sealed part of the log as it is published. */
  readonly sealed: SealedTiles
  readonly eventTimes: EventTimes
  readonly #records: RecordStore
  readonly #tiles: StoredTiles
  /** A stored batch never changes. */
  readonly #batches: CoveringRecords<BatchRecord>
  readonly #toSeal: EntrySearch
  readonly #toAttest: EntrySearch
  readonly #hasWitnesses: boolean
  #anchors: AnchorState | undefined

  constructor(records: RecordStore, { maxCachedTiles = 512, hasWitnesses = false }: LogReaderOptions = {}) {
    this.#records = records
    this.#hasWitnesses = hasWitnesses
    this.#toSeal = new EntrySearch(records, opensBatch)
    this.#toAttest = new EntrySearch(records, needsAttestation)
    this.#batches = new CoveringRecords(
      records,
      { rangeFrom: logKeys.batchesFrom, startOf: ({ start }) => start, sizeOf: ({ end }) => end },
      MAX_CACHED_BATCHES,
    )
    this.#tiles = new StoredTiles(records, maxCachedTiles)
    this.sealed = new SealedTiles(records, this.#tiles)
    this.eventTimes = new EventTimes(records)
  }

  /** Size and root of the sealed tree; the empty tree before the first batch. */
  async treeHead(): Promise<TreeHeadRecord> {
    const head = await readOne(this.#records, logKeys.treeHead())
    return head ?? { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 }
  }

  /**
   * Checks at a start that the store still holds what was signed. Reads only the tiles at the right edge of the tree.
   *
   * `signed` must be read before this is called. In the other order, a batch that another sealer signs in between would
   * look like a tree that was set back.
   *
   * @throws RegistryError as `rootHolding`, and `CORRUPT` if the log is shorter than the tree
   */
  async assertHolds(signed: SignedHead | undefined): Promise<void> {
    const head = await this.treeHead()
    await this.rootHolding(head, signed)
    if ((await this.#records.logSize()) < head.size)
      throw corrupt(`The log has fewer than the ${head.size} entries that are sealed`)
  }

  /**
   * Checks that the tree of a head contains the one that was signed last, and returns its root, 32 bytes.
   *
   * @throws RegistryError `LOG_BEHIND_SIGNED` if the tree is smaller than the signed one or has a different root at its
   *   size, `CORRUPT` if the tiles do not produce the root of the head
   */
  async rootHolding(head: TreeHeadRecord, signed: SignedHead | undefined): Promise<Uint8Array> {
    if (signed !== undefined && signed.size > head.size)
      throw behindSigned(
        `a checkpoint of ${signed.size} entries was signed, but the store has only ${head.size} sealed entries`,
      )
    const root = await this.rootAt(head.size)
    if (toHex(root) !== head.root) throw corrupt(`The tiles do not produce the root of the tree of ${head.size}`)
    if (signed !== undefined && !equalBytes(await this.rootAt(signed.size), signed.root))
      throw behindSigned(
        `the signed checkpoint of ${signed.size} entries has a different root than the store has at that size`,
      )
    return root
  }

  /** The anchors as they are now: the same object as before if none has changed since. */
  async anchors(): Promise<AnchorState> {
    const [head] = await readAll(this.#records, [logKeys.anchorHead()])
    if (this.#anchors === undefined || this.#anchors.version !== head?.version)
      this.#anchors = new AnchorState(this.#records, head)
    return this.#anchors
  }

  /** Sizes of the largest confirmed and sent anchors; 0 before the first one. */
  async anchorHead(): Promise<AnchorHeadRecord> {
    return (await this.anchors()).head
  }

  /** The status of each entry (32 bytes), `undefined` if it is not in the log. */
  entryStatuses(entries: readonly Uint8Array[]): Promise<readonly (EntryStatus | undefined)[]> {
    return this.statusesAt(this.#records.positionsOf(entries))
  }

  /**
   * The status of the entry at each position. Reads the head of the anchors and each batch once, for any number of
   * entries. An anchor that is sent at the same time may not be visible yet.
   */
  async statusesAt(
    positions: readonly (number | undefined)[] | Promise<readonly (number | undefined)[]>,
  ): Promise<readonly (EntryStatus | undefined)[]> {
    const [found, head] = await Promise.all([positions, this.anchorHead()])
    const batches = await this.#batches.of(found.filter((position) => position !== undefined))
    return found.map((position) => {
      if (position === undefined) return undefined
      const batch = batches.get(position) ?? null
      return { position, batch, sendStatus: batch && sendStatusOf(batch, head) }
    })
  }

  /**
   * The status of stored events. The commit that stores an event also appends it to the log. So one that is not found
   * there is not waiting for a batch: the store has lost its position. Throws `CORRUPT` then.
   */
  async eventStatuses(txIds: readonly string[]): Promise<readonly EntryStatus[]> {
    const statuses = await this.entryStatuses(txIds.map(entryOfTxId))
    return statuses.map((status, i) => status ?? notInLog(txIds[i]))
  }

  /** As `eventStatuses`, of one event. */
  async eventStatus(txId: string): Promise<EntryStatus> {
    const [status] = await this.entryStatuses([entryOfTxId(txId)])
    return status ?? notInLog(txId)
  }

  /** See `readLogWindow`. */
  windowAround(entry: Uint8Array): Promise<LogWindow> {
    return readLogWindow(this.#records, entry)
  }

  /** See `positionsWithin`. */
  positionsOf(entries: readonly Uint8Array[], window: LogWindow): Promise<readonly (number | undefined)[]> {
    return positionsWithin(this.#records, entries, window)
  }

  /** Throws `CORRUPT` if the store has lost the batch with this id. */
  async batchById(id: string): Promise<BatchRecord | undefined> {
    const index = await readOne(this.#records, logKeys.batchById(id))
    if (index === undefined) return undefined
    const batch = await readOne(this.#records, logKeys.batch(index.end))
    if (batch === undefined) throw lost(`The batch ${id}`)
    return batch
  }

  /** The batch that contains a position, `undefined` if it is in no batch yet. */
  async batchOf(position: number): Promise<BatchRecord | undefined> {
    return (await this.#batches.of([position])).get(position)
  }

  /** The position of the first entry that must be sealed soon, from the end of a tree to that of the log. */
  firstToSeal(treeSize: number, logSize: number): Promise<number | undefined> {
    return this.#toSeal.first(treeSize, logSize)
  }

  /**
   * Whether a tree needs a stamp and an anchor although a smaller tree has them. Both must be sealed. A tree that has
   * grown by tokens and receipts of erasures alone needs none.
   */
  async needsAttestation(treeSize: number, coveredSize: number): Promise<boolean> {
    return (await this.#toAttest.first(coveredSize, treeSize)) !== undefined
  }

  /** The oldest batch with an entry that needs a stamp and an anchor, and that is not in the tree of this size. */
  async oldestUnattested(coveredSize: number): Promise<BatchRecord | undefined> {
    const position = await this.#toAttest.first(coveredSize, (await this.treeHead()).size)
    return position === undefined ? undefined : this.batchOf(position)
  }

  /** The size of the tree that a batch ended with this root (hex), `undefined` if there is no such batch. */
  async sizeOfRoot(root: string): Promise<number | undefined> {
    return (await readOne(this.#records, logKeys.batchByRoot(root)))?.end
  }

  /** The signed checkpoint of exactly this size. */
  checkpoint(size: number): Promise<CheckpointRecord | undefined> {
    return readOne(this.#records, logKeys.checkpoint(size))
  }

  /**
   * The signed checkpoint of a batch, `undefined` until it is signed. No batch follows one without a checkpoint, so if
   * there is a later one, the store has lost the checkpoint: throws `CORRUPT`.
   */
  async checkpointOf({ id, end }: BatchRecord): Promise<CheckpointRecord | undefined> {
    const checkpoint = await this.checkpoint(end)
    if (checkpoint !== undefined || (await this.treeHead()).size === end) return checkpoint
    // It may have been stored before the later batch, after the first read.
    const stored = await this.checkpoint(end)
    if (stored === undefined) throw lost(`The checkpoint of batch ${id}`)
    return stored
  }

  /** The smallest signed checkpoint of this size or larger. */
  checkpointFrom(minSize: number): Promise<CheckpointRecord | undefined> {
    return readFirst(this.#records, logKeys.checkpointsFrom(minSize))
  }

  latestCheckpoint(): Promise<CheckpointRecord | undefined> {
    return readFirst(this.#records, { ...logKeys.checkpoints(), reverse: true })
  }

  /** The first stamp with a quorum whose size is this one or larger. */
  stampCovering(treeSize: number): Promise<StampRecord | undefined> {
    return readFirst(this.#records, logKeys.stampsFrom(treeSize))
  }

  /** The stamp that proofs of this size show: the first with a quorum that covers it, else the first with a token. */
  async shownStamp(treeSize: number): Promise<StampRecord | undefined> {
    return (await this.stampCovering(treeSize)) ?? readFirst(this.#records, logKeys.partialStampsFrom(treeSize))
  }

  /** The newest stamp with a quorum. */
  latestStamp(): Promise<StampRecord | undefined> {
    return readFirst(this.#records, { ...logKeys.stamps(), reverse: true })
  }

  /** Whose tokens counted from which tree size on. */
  async stampPeriods(): Promise<readonly StampPeriod[]> {
    return (await readOne(this.#records, logKeys.stampHistory()))?.periods ?? []
  }

  latestPartialStamp(): Promise<StampRecord | undefined> {
    return readFirst(this.#records, { ...logKeys.partialStamps(), reverse: true })
  }

  /** What was submitted to witnesses; `undefined` before the first time, and without witnesses. */
  async witnesses(): Promise<WitnessesRecord | undefined> {
    return this.#hasWitnesses ? readOne(this.#records, logKeys.witnesses()) : undefined
  }

  /** The checkpoint that was submitted to witnesses last, `undefined` before. Without witnesses, the newest one. */
  async submittedCheckpoint(): Promise<CheckpointRecord | undefined> {
    const submitted = await this.witnesses()
    if (submitted !== undefined) return this.checkpoint(submitted.size)
    return this.#hasWitnesses ? undefined : this.latestCheckpoint()
  }

  /** The checkpoint that the log shows. Its witnesses had time to cosign it, if it has witnesses. */
  async shownCheckpoint(): Promise<CheckpointRecord | undefined> {
    const { size = 0, shown = size }: Partial<WitnessesRecord> = (await this.witnesses()) ?? {}
    return shown === 0 ? this.latestCheckpoint() : this.checkpoint(shown)
  }

  /**
   * One cosignature of each witness, of the checkpoint of exactly this size: lines without the line feed, as many as a
   * note may have.
   */
  async cosignatures(size: number, which: 'first' | 'newest' = 'first'): Promise<readonly string[]> {
    const record = this.#hasWitnesses ? await readOne(this.#records, logKeys.cosigned(size)) : undefined
    return record === undefined ? [] : linesOf(record, which)
  }

  /** The first checkpoint of this size or a larger one that a quorum of witnesses cosigned. */
  async cosignedFrom(size: number, policy: WitnessPolicy): Promise<CheckpointRecord | undefined> {
    for await (const entry of this.#hasWitnesses ? listRecords(this.#records, logKeys.cosignedFrom(size)) : []) {
      const record = decodeRecord(entry)
      if (hasQuorum(policy, record)) return this.checkpoint(record.size)
    }
    return undefined
  }

  /**
   * Changes whenever a stamp, an anchor or a cosignature changes. Read it before what is kept under it.
   */
  async attestationVersion(): Promise<string> {
    const heads = [logKeys.stampHead(), logKeys.anchorHead(), ...(this.#hasWitnesses ? [logKeys.witnesses()] : [])]
    return (await this.#records.get(heads)).map((head) => head?.version).join('/')
  }

  /** The DER of the validation data of a token, in order. Throws `CORRUPT` if one is missing. */
  async validationData(refs: readonly ValidationDataRef[]): Promise<readonly ValidationData[]> {
    const entries = await this.#records.get(refs.map(({ sha256 }) => logKeys.validationData(sha256)))
    return refs.map(({ type, sha256 }, i) => {
      const der = entries[i]?.value
      if (der === undefined) throw lost(`The validation data ${sha256} of a token`)
      return { type, der }
    })
  }

  /**
   * The confirmed anchor in the lowest block, among those of this size or a larger one. Throws `CORRUPT` if the store
   * has lost it.
   */
  async anchorCovering(treeSize: number): Promise<AnchorRecord | undefined> {
    const confirmed = await readFirst(this.#records, logKeys.confirmedAnchorsFrom(treeSize))
    if (confirmed === undefined) return undefined
    const anchor = await this.anchor(confirmed.size)
    if (anchor === undefined) throw lost(`The confirmed anchor of size ${confirmed.size}`)
    return anchor
  }

  /** The anchor of exactly this size, in any state. */
  anchor(treeSize: number): Promise<AnchorRecord | undefined> {
    return readOne(this.#records, logKeys.anchor(treeSize))
  }

  latestAnchor(): Promise<AnchorRecord | undefined> {
    return readFirst(this.#records, { ...logKeys.anchors(), reverse: true })
  }

  /** Hashes from the leaf's sibling to the root (RFC 9162 § 2.1.3). Requires position < treeSize. */
  async inclusionProof(position: number, treeSize: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(inclusionRanges(position, treeSize))
  }

  /**
   * The inclusion proof of a leaf, verified, so that damaged tiles never become a wrong proof: then it throws
   * `CORRUPT`.
   */
  async proveInclusion(
    claim: Omit<InclusionProof, 'proof'> & { readonly root: Uint8Array },
  ): Promise<readonly Uint8Array[]> {
    const proof = await this.inclusionProof(claim.leafIndex, claim.treeSize)
    assertStored(() => verifyInclusion({ ...claim, proof }))
    return proof
  }

  /** The consistency proof between two trees, verified as in `proveInclusion`. */
  async proveConsistency(trees: Omit<ConsistencyProof, 'proof'>): Promise<readonly Uint8Array[]> {
    const proof = await this.consistencyProof(trees.fromSize, trees.toSize)
    assertStored(() => verifyConsistency({ ...trees, proof }))
    return proof
  }

  /**
   * What the inclusion proofs of leaves `from` to `to` (exclusive) are copied from, in order, each block within one
   * tile. Reads a bounded number of tiles ahead. Requires from <= to <= treeSize.
   */
  proofBlocks(range: ProofRange): AsyncGenerator<readonly ProofBlock[], void, undefined> {
    return readProofBlocks(this.#tiles, range)
  }

  /** RFC 9162 § 2.1.4; empty if the sizes are equal. Requires from <= to. */
  async consistencyProof(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(consistencyRanges(from, to))
  }

  /** The root of the tree of any sealed size, computed from tiles. */
  async rootAt(size: number): Promise<Uint8Array> {
    const [root] = size === 0 ? [] : await this.#hashesOf([{ start: 0, end: size }])
    return root ?? emptyRoot()
  }

  /**
   * What is stored with a log entry (32 bytes), `undefined` if it is not in the log. Throws `CORRUPT` if the stored
   * opening does not hash to the entry.
   */
  async payloadOf(entry: Uint8Array): Promise<LogPayload | undefined> {
    const [position] = await this.#records.positionsOf([entry])
    return position === undefined ? undefined : this.payloadAt(position, entry)
  }

  /** What is stored with the log entry (32 bytes) at this position. Throws `CORRUPT` as `payloadOf`. */
  async payloadAt(position: number, entry: Uint8Array): Promise<LogPayload> {
    const [payload] = await this.#records.readPayloads(position, 1)
    return decodePayload(entry, payload)
  }

  async #hashesOf(ranges: readonly LeafRange[]): Promise<readonly Uint8Array[]> {
    const source = await this.#tiles.nodes(ranges.flatMap(nodesOfRange))
    return ranges.map((range) => rangeHash(range, source))
  }
}

const behindSigned = (what: string): RegistryError =>
  new RegistryError(
    'LOG_BEHIND_SIGNED',
    `The record store was set back or replaced: ${what}. Entries for which others hold proofs are lost. Restore the ` +
      'newest store, or a later backup. If there is none, start a new log with an empty store and a new secret, and ' +
      'keep this one only for reading: this log must not be signed again',
  )

function notInLog(txId: string | undefined): never {
  throw new RegistryError('CORRUPT', `The stored event ${txId} is not in the log: run fsck`)
}

/** Throws `CORRUPT` if a proof from stored tiles does not hold. */
function assertStored(verify: () => void): void {
  try {
    verify()
  } catch (cause) {
    throw corrupt(`The stored tiles are damaged. ${isError(cause) ? cause.message : ''}`, cause)
  }
}

/** The log entry of a stored event, 32 bytes. */
export const entryOfTxId = (txId: string): Uint8Array => storedBytes(txId, 'A stored txId')

/** The state of a batch is derived from the anchors and never stored. */
export const sendStatusOf = (
  { end }: Pick<BatchRecord, 'end'>,
  { confirmedSize, sentSize }: AnchorHeadRecord,
): Exclude<SendStatus, null> => (confirmedSize >= end ? 'C' : sentSize >= end ? 'S' : 'P')

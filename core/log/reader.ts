import { RegistryError } from '../errors.ts'
import type { RecordStore, ValidationData } from '../ports/index.ts'
import { storedBytes } from '../store/codec.ts'
import { lost, readFirst, readOne, readAll } from '../store/read.ts'
import { CoveringRecords } from './covering-records.ts'
import { AnchorState } from './anchor-state.ts'
import { Checkpoints } from './checkpoints.ts'
import { logKeys } from './keys.ts'
import { EntrySearch } from './entry-search.ts'
import { EventTimes } from './event-times.ts'
import { decodePayload, type LogPayload, needsAttestation, opensBatch } from './payload.ts'
import type {
  AnchorHeadRecord,
  AnchorRecord,
  BatchRecord,
  StampPeriod,
  StampRecord,
  ValidationDataRef,
} from './records.ts'
import { SealedTree } from './sealed-tree.ts'
import { SealedTiles, StoredTiles } from './tiles.ts'

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

/** `undefined`: not in the log. */
type Positions = readonly (number | undefined)[]

export interface LogReaderOptions {
  /** Whether witnesses cosign the log. Default false. */
  readonly hasWitnesses?: boolean
}

/** At most 16,352 bytes each: 8 MiB. */
const MAX_CACHED_TILES = 512
/** About 400 bytes each: 1.6 MiB. */
const MAX_CACHED_BATCHES = 4_096

/**
 * Reads the log: positions, batches, stamps, anchors, and by its parts the tree and the checkpoints. Everything comes
 * from stored records, nothing is computed from the entries. A tree size that is passed in must be sealed.
 */
export class LogReader {
  /** The sealed part of the log as it is published. */
  readonly sealed: SealedTiles
  readonly tree: SealedTree
  readonly checkpoints: Checkpoints
  readonly eventTimes: EventTimes
  readonly #records: RecordStore
  /** A stored batch never changes. */
  readonly #batches: CoveringRecords<BatchRecord>
  readonly #toSeal: EntrySearch
  readonly #toAttest: EntrySearch
  #anchors: AnchorState | undefined

  constructor(records: RecordStore, { hasWitnesses = false }: LogReaderOptions = {}) {
    this.#records = records
    this.#toSeal = new EntrySearch(records, opensBatch)
    this.#toAttest = new EntrySearch(records, needsAttestation)
    this.#batches = new CoveringRecords(
      records,
      { rangeFrom: logKeys.batchesFrom, startOf: ({ start }) => start, sizeOf: ({ end }) => end },
      MAX_CACHED_BATCHES,
    )
    const tiles = new StoredTiles(records, MAX_CACHED_TILES)
    this.sealed = new SealedTiles(records, tiles)
    this.tree = new SealedTree(records, tiles)
    this.checkpoints = new Checkpoints(records, hasWitnesses)
    this.eventTimes = new EventTimes(records)
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
  statusesAt(positions: readonly number[]): Promise<readonly EntryStatus[]>
  statusesAt(positions: Positions | Promise<Positions>): Promise<readonly (EntryStatus | undefined)[]>
  async statusesAt(positions: Positions | Promise<Positions>): Promise<readonly (EntryStatus | undefined)[]> {
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
    const position = await this.#toAttest.first(coveredSize, (await this.tree.head()).size)
    return position === undefined ? undefined : this.batchOf(position)
  }

  /** The size of the tree that a batch ended with this root (hex), `undefined` if there is no such batch. */
  async sizeOfRoot(root: string): Promise<number | undefined> {
    return (await readOne(this.#records, logKeys.batchByRoot(root)))?.end
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

  /**
   * Changes whenever a stamp, an anchor or a cosignature changes. Read it before what is kept under it.
   */
  async attestationVersion(): Promise<string> {
    const heads = [
      logKeys.stampHead(),
      logKeys.anchorHead(),
      ...(this.checkpoints.hasWitnesses ? [logKeys.witnesses()] : []),
    ]
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
}

function notInLog(txId: string | undefined): never {
  throw new RegistryError('CORRUPT', `The stored event ${txId} is not in the log: run fsck`)
}

/** The log entry of a stored event, 32 bytes. */
export const entryOfTxId = (txId: string): Uint8Array => storedBytes(txId, 'A stored txId')

/** The state of a batch is derived from the anchors and never stored. */
export const sendStatusOf = (
  { end }: Pick<BatchRecord, 'end'>,
  { confirmedSize, sentSize }: AnchorHeadRecord,
): Exclude<SendStatus, null> => (confirmedSize >= end ? 'C' : sentSize >= end ? 'S' : 'P')

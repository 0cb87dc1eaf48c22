import type { RecordStore, WitnessPolicy } from '../ports/index.ts'
import { decodeRecord } from '../store/codec.ts'
import { listRecords, lost, readFirst, readOne } from '../store/read.ts'
import { hasQuorum, linesOf } from './cosigned.ts'
import { logKeys } from './keys.ts'
import type { BatchRecord, CheckpointRecord, WitnessesRecord } from './records.ts'

/** Reads the signed checkpoints, and what witnesses cosigned. */
export class Checkpoints {
  /** Without witnesses no cosignature is read. */
  readonly hasWitnesses: boolean
  readonly #records: RecordStore

  constructor(records: RecordStore, hasWitnesses: boolean) {
    this.#records = records
    this.hasWitnesses = hasWitnesses
  }

  /** The signed checkpoint of exactly this size. */
  ofSize(size: number): Promise<CheckpointRecord | undefined> {
    return readOne(this.#records, logKeys.checkpoint(size))
  }

  /**
   * The signed checkpoint of a batch, `undefined` until it is signed. No batch follows one without a checkpoint, so if
   * there is a later one, the store has lost the checkpoint: throws `CORRUPT`.
   */
  async ofBatch({ id, end }: BatchRecord): Promise<CheckpointRecord | undefined> {
    const checkpoint = await this.ofSize(end)
    if (checkpoint !== undefined) return checkpoint
    const head = await readOne(this.#records, logKeys.treeHead())
    if (head?.size === end) return undefined
    // It may have been stored before the later batch, after the first read.
    const stored = await this.ofSize(end)
    if (stored === undefined) throw lost(`The checkpoint of batch ${id}`)
    return stored
  }

  /** The smallest signed checkpoint of this size or larger. */
  from(minSize: number): Promise<CheckpointRecord | undefined> {
    return readFirst(this.#records, logKeys.checkpointsFrom(minSize))
  }

  latest(): Promise<CheckpointRecord | undefined> {
    return readFirst(this.#records, { ...logKeys.checkpoints(), reverse: true })
  }

  /** What was submitted to witnesses; `undefined` before the first time, and without witnesses. */
  async witnesses(): Promise<WitnessesRecord | undefined> {
    return this.hasWitnesses ? readOne(this.#records, logKeys.witnesses()) : undefined
  }

  /** The checkpoint that was submitted to witnesses last, `undefined` before. Without witnesses, the newest one. */
  async submitted(): Promise<CheckpointRecord | undefined> {
    const submitted = await this.witnesses()
    if (submitted !== undefined) return this.ofSize(submitted.size)
    return this.hasWitnesses ? undefined : this.latest()
  }

  /** The checkpoint that the log shows. Its witnesses had time to cosign it, if it has witnesses. */
  async shown(): Promise<CheckpointRecord | undefined> {
    const { size = 0, shown = size }: Partial<WitnessesRecord> = (await this.witnesses()) ?? {}
    return shown === 0 ? this.latest() : this.ofSize(shown)
  }

  /**
   * One cosignature of each witness, of the checkpoint of exactly this size: lines without the line feed, as many as a
   * note may have.
   */
  async cosignatures(size: number, which: 'first' | 'newest' = 'first'): Promise<readonly string[]> {
    const record = this.hasWitnesses ? await readOne(this.#records, logKeys.cosigned(size)) : undefined
    return record === undefined ? [] : linesOf(record, which)
  }

  /** The first checkpoint of this size or a larger one that a quorum of witnesses cosigned. */
  async cosignedFrom(size: number, policy: WitnessPolicy): Promise<CheckpointRecord | undefined> {
    for await (const entry of this.hasWitnesses ? listRecords(this.#records, logKeys.cosignedFrom(size)) : []) {
      const record = decodeRecord(entry)
      if (hasQuorum(policy, record)) return this.ofSize(record.size)
    }
    return undefined
  }
}

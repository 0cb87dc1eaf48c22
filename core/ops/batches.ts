import { toHex } from '../bytes.ts'
import { verifyCheckpoint } from '../log/checkpoint.ts'
import { logKeys } from '../log/keys.ts'
import type { BatchRecord, CheckpointRecord, TreeHeadRecord } from '../log/records.ts'
import type { TreeAccumulator } from '../log/tree/accumulator.ts'
import type { Entry } from '../ports/index.ts'
import type { Check } from './check.ts'

export interface CheckpointKey {
  /** Position of the key's entry in the log; infinite if it is not in the log. */
  readonly position: number
  readonly verifierKey: string
}

/** Reads the batches in order and compares each with the tree when it reaches the batch's end. */
export class BatchCheck {
  readonly #check: Check
  readonly #checkpointKeys: readonly CheckpointKey[]
  readonly #batches: AsyncIterator<Entry>
  #next: BatchRecord | undefined
  #last: BatchRecord | undefined

  private constructor(check: Check, checkpointKeys: readonly CheckpointKey[]) {
    this.#check = check
    this.#checkpointKeys = checkpointKeys
    this.#batches = check.records.list(logKeys.batchesFrom(0))[Symbol.asyncIterator]()
  }

  static async start(check: Check, checkpointKeys: readonly CheckpointKey[]): Promise<BatchCheck> {
    const batches = new BatchCheck(check, checkpointKeys)
    await batches.#readNext()
    return batches
  }

  /** Call this after each leaf that was added to the tree. */
  async compare(tree: TreeAccumulator): Promise<void> {
    if (this.#next?.end !== tree.size) return
    const batch = this.#next
    const key = logKeys.batch(batch.end)
    const root = toHex(tree.root())
    this.#check.expect(batch.root === root, 'batch', key, "Its root is not the root of the log's entries")
    const follows = batch.start === (this.#last?.end ?? 0) && batch.previous === (this.#last?.id ?? null)
    this.#check.expect(follows, 'batch', key, 'It does not follow the previous batch')
    await this.#readNext()
    await this.#checkCheckpoint(batch)
    this.#last = batch
  }

  /** Reports batches that the tree did not reach, and compares the tree's head with the last batch. */
  async finish(head: TreeHeadRecord | undefined): Promise<void> {
    for (; this.#next !== undefined; await this.#readNext()) {
      const key = logKeys.batch(this.#next.end)
      this.#check.report('batch', key, 'It ends after the sealed entries, or inside another batch')
    }
    const { id = null, end = 0, root, createdAt } = this.#last ?? {}
    const isSame =
      head === undefined
        ? end === 0
        : head.size === end && head.batchId === id && head.root === root && head.time === createdAt
    this.#check.expect(isSame, 'head', logKeys.treeHead(), "The tree's head is not the last batch")
  }

  /** Reads up to the next batch that can be decoded and is stored under its own size. */
  async #readNext(): Promise<void> {
    for (;;) {
      const { value: entry, done } = await this.#batches.next()
      this.#next = done === true ? undefined : this.#check.decode<BatchRecord>('batch', entry)
      if (done === true) return
      if (this.#next === undefined) continue
      if (logKeys.batch(this.#next.end) === entry.key) return
      this.#check.report('batch', entry.key, 'It is stored under another size than its own')
    }
  }

  /** Only the last batch may have no checkpoint yet. The next start signs it. */
  async #checkCheckpoint(batch: BatchRecord): Promise<void> {
    const key = logKeys.checkpoint(batch.end)
    const entry = await this.#check.get(key)
    if (entry === undefined) {
      this.#check.expect(this.#next === undefined, 'checkpoint', key, 'The checkpoint of a batch is missing')
      return
    }
    const checkpoint = this.#check.decode<CheckpointRecord>('checkpoint', entry)
    if (checkpoint === undefined) return
    const isSame = checkpoint.size === batch.end && checkpoint.root === batch.root
    this.#check.expect(isSame, 'checkpoint', key, 'It is not the checkpoint of its batch')
    this.#checkSignature(checkpoint, batch)
  }

  #checkSignature({ size, root, note }: CheckpointRecord, batch: BatchRecord): void {
    const key = logKeys.checkpoint(batch.end)
    const signer = this.#checkpointKeys.findLast(({ position }) => position < batch.end)
    if (signer === undefined) return
    this.#check.guard('checkpoint', key, () => {
      const signed = verifyCheckpoint(note, signer.verifierKey)
      const isSame = signed.size === size && toHex(signed.root) === root
      this.#check.expect(isSame, 'checkpoint', key, 'The signed note has another size or root')
    })
  }
}

import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists, replaceDurably } from '../../adapters/files/index.ts'
import { SLOT_BYTES, SLOT_RECORD_BYTES, type MonitorState, type SlotSet } from '../../core/verify/index.ts'

const BUCKETS = 256

/**
 * What a monitor keeps in a directory: its state, and the slots of the log in 256 files by their first byte. A file has
 * the records of its slots, in the order of the slots.
 */
export class MonitorDirectory implements SlotSet {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  static async open(path: string): Promise<MonitorDirectory> {
    await mkdir(join(path, 'slots'), { recursive: true })
    return new MonitorDirectory(path)
  }

  /** `undefined` before the first round. */
  async readState(): Promise<MonitorState | undefined> {
    const text = await ifExists(readFile(join(this.#path, 'state.json'), 'utf8'))
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- `saveState` wrote it
    return text === undefined ? undefined : (JSON.parse(text) as MonitorState)
  }

  saveState(state: MonitorState): Promise<void> {
    return replaceDurably(join(this.#path, 'state.json'), Buffer.from(JSON.stringify(state)))
  }

  async add(records: Uint8Array): Promise<readonly number[]> {
    const added = sorted(Buffer.from(records.buffer, records.byteOffset, records.length))
    const taken: number[] = []
    for (let bucket = 0, at = 0; bucket < BUCKETS; bucket++) {
      const start = at
      while (added[at] === bucket) at += SLOT_RECORD_BYTES
      if (at > start) taken.push(...(await this.#merge(bucket, added.subarray(start, at))))
    }
    return taken
  }

  async has(slot: Uint8Array): Promise<boolean> {
    return recordsIn(await this.#read(slot[0] ?? 0)).some((record) => slotOf(record).equals(slot))
  }

  async forgetFrom(position: number): Promise<void> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const records = recordsIn(await this.#read(bucket))
      const stay = records.filter((record) => positionOf(record) < position)
      if (stay.length < records.length) await this.#write(bucket, Buffer.concat(stay))
    }
  }

  /** Returns the positions of those whose slot another position has. The lowest position stays. */
  async #merge(bucket: number, added: Buffer): Promise<readonly number[]> {
    const taken: number[] = []
    const merged = sorted(Buffer.concat([await this.#read(bucket), added]))
    let end = 0
    for (const record of recordsIn(merged)) {
      const before = merged.subarray(Math.max(0, end - SLOT_RECORD_BYTES), end)
      if (!slotOf(before).equals(slotOf(record))) end += record.copy(merged, end)
      else if (!before.equals(record)) taken.push(positionOf(record))
    }
    await this.#write(bucket, merged.subarray(0, end))
    return taken
  }

  async #read(bucket: number): Promise<Buffer> {
    return (await ifExists(readFile(this.#file(bucket)))) ?? Buffer.alloc(0)
  }

  #write(bucket: number, records: Buffer): Promise<void> {
    return replaceDurably(this.#file(bucket), records)
  }

  #file(bucket: number): string {
    return join(this.#path, 'slots', bucket.toString(16).padStart(2, '0'))
  }
}

const recordsIn = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: bytes.length / SLOT_RECORD_BYTES }, (_, i) =>
    bytes.subarray(i * SLOT_RECORD_BYTES, (i + 1) * SLOT_RECORD_BYTES),
  )

const sorted = (records: Buffer): Buffer => Buffer.concat(recordsIn(records).toSorted((a, b) => a.compare(b)))

const slotOf = (record: Buffer): Buffer => record.subarray(0, SLOT_BYTES)
const positionOf = (record: Buffer): number => Number(record.readBigUInt64BE(SLOT_BYTES))

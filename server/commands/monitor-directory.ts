import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists, replaceDurably } from '../../adapters/files/index.ts'
import type { MonitorState, SlotAt, SlotSet } from '../../core/verify/index.ts'

const SLOT_BYTES = 32
const RECORD_BYTES = 40
const BUCKETS = 256

/**
 * What a monitor keeps in a directory: its state, and the slots of the log in 256 files by their first byte. A file has
 * 40 bytes for each slot, in the order of the slots: the slot, then its position in the log (u64, big-endian).
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

  async add(slots: readonly SlotAt[]): Promise<readonly SlotAt[]> {
    const added = slots.map(recordOf).toSorted((a, b) => a.compare(b))
    const taken: SlotAt[] = []
    for (let at = 0; at < added.length;) {
      const bucket = added[at]?.[0] ?? 0
      const end = added.findIndex((record, i) => i > at && record[0] !== bucket)
      const records = added.slice(at, end === -1 ? added.length : end)
      taken.push(...(await this.#merge(bucket, records)))
      at += records.length
    }
    return taken
  }

  async has(slot: Uint8Array): Promise<boolean> {
    return (await this.#read(slot[0] ?? 0)).some((record) => slotOf(record).equals(slot))
  }

  async forgetFrom(position: number): Promise<void> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const records = await this.#read(bucket)
      const stay = records.filter((record) => positionOf(record) < position)
      if (stay.length < records.length) await this.#write(bucket, stay)
    }
  }

  /** Returns those whose slot another position has. The lowest position stays. */
  async #merge(bucket: number, added: readonly Buffer[]): Promise<readonly SlotAt[]> {
    const taken: SlotAt[] = []
    const merged: Buffer[] = []
    for (const record of [...(await this.#read(bucket)), ...added].toSorted((a, b) => a.compare(b))) {
      const before = merged.at(-1)
      if (before === undefined || !slotOf(before).equals(slotOf(record))) merged.push(record)
      else if (!before.equals(record)) taken.push({ slot: slotOf(record), position: positionOf(record) })
    }
    await this.#write(bucket, merged)
    return taken
  }

  async #read(bucket: number): Promise<readonly Buffer[]> {
    const bytes = (await ifExists(readFile(this.#file(bucket)))) ?? Buffer.alloc(0)
    return Array.from({ length: bytes.length / RECORD_BYTES }, (_, i) =>
      bytes.subarray(i * RECORD_BYTES, (i + 1) * RECORD_BYTES),
    )
  }

  #write(bucket: number, records: readonly Buffer[]): Promise<void> {
    return replaceDurably(this.#file(bucket), Buffer.concat(records))
  }

  #file(bucket: number): string {
    return join(this.#path, 'slots', bucket.toString(16).padStart(2, '0'))
  }
}

function recordOf({ slot, position }: SlotAt): Buffer {
  const record = Buffer.alloc(RECORD_BYTES)
  record.set(slot)
  record.writeBigUInt64BE(BigInt(position), SLOT_BYTES)
  return record
}

const slotOf = (record: Buffer): Buffer => record.subarray(0, SLOT_BYTES)
const positionOf = (record: Buffer): number => Number(record.readBigUInt64BE(SLOT_BYTES))

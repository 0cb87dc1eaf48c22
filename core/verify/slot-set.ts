import { readU64, toHex } from '../bytes.ts'

export const SLOT_BYTES = 32
/** The slot of an event, then the event's position in the log (u64, big-endian). */
export const SLOT_RECORD_BYTES = 40

/** The slots of a log with their positions. An event of the same slot at another position is a forked history. */
export interface SlotSet {
  /**
   * Adds slots, and returns the positions of those that another position has. Adding the same one again changes
   * nothing.
   *
   * @param records packed, 40 bytes each: as objects, those of a large log would take many times the memory
   */
  add(records: Uint8Array): Promise<readonly number[]>
  has(slot: Uint8Array): Promise<boolean>
  /** Removes all slots from this position on: they were read, and no checkpoint vouches for them. */
  forgetFrom(position: number): Promise<void>
}

/** Slots in memory, about 200 bytes each. */
export class MemorySlots implements SlotSet {
  readonly #positions = new Map<string, number>()

  async add(records: Uint8Array): Promise<readonly number[]> {
    const taken: number[] = []
    for (let at = 0; at < records.length; at += SLOT_RECORD_BYTES) {
      const key = toHex(records.subarray(at, at + SLOT_BYTES))
      const position = readU64(records, at + SLOT_BYTES)
      const before = this.#positions.get(key) ?? position
      this.#positions.set(key, before)
      if (before !== position) taken.push(position)
    }
    return taken
  }

  async has(slot: Uint8Array): Promise<boolean> {
    return this.#positions.has(toHex(slot))
  }

  async forgetFrom(position: number): Promise<void> {
    for (const [key, at] of this.#positions) if (at >= position) this.#positions.delete(key)
  }
}

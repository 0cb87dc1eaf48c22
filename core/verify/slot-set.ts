import { toHex } from '../bytes.ts'

/** The slot of an event, and the event's position in the log. */
export interface SlotAt {
  /** 32 bytes. */
  readonly slot: Uint8Array
  readonly position: number
}

/** The slots of a log with their positions. An event of the same slot at another position is a forked history. */
export interface SlotSet {
  /** Adds slots, and returns those that another position has. Adding the same one again changes nothing. */
  add(slots: readonly SlotAt[]): Promise<readonly SlotAt[]>
  has(slot: Uint8Array): Promise<boolean>
  /** Removes all slots from this position on: they were read, and no checkpoint vouches for them. */
  forgetFrom(position: number): Promise<void>
}

/** Slots in memory, about 200 bytes each. */
export class MemorySlots implements SlotSet {
  readonly #positions = new Map<string, number>()

  async add(slots: readonly SlotAt[]): Promise<readonly SlotAt[]> {
    return slots.filter(({ slot, position }) => {
      const key = toHex(slot)
      const at = this.#positions.get(key) ?? position
      this.#positions.set(key, at)
      return at !== position
    })
  }

  async has(slot: Uint8Array): Promise<boolean> {
    return this.#positions.has(toHex(slot))
  }

  async forgetFrom(position: number): Promise<void> {
    for (const [key, at] of this.#positions) if (at >= position) this.#positions.delete(key)
  }
}

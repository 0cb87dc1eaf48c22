/** So many senders without anything stay in the map: a map that gets and loses its only entry all the time is slow. */
const IDLE_SENDERS = 64

/**
 * Counts what each sender has of something that is limited. A sender may have seven times what is free: if it is alone,
 * all but an eighth; if several want much, equal parts; and a newcomer finds some, unless others have taken the rest.
 */
export class Portions {
  readonly #max: number
  readonly #bySender = new Map<string, number>()
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get used(): number {
    return this.#used
  }

  get isFull(): boolean {
    return this.#used >= this.#max
  }

  of(sender: string): number {
    return this.#bySender.get(sender) ?? 0
  }

  /** Whether a sender can have so much more. What no other sender uses is never too large. */
  hasRoom(sender: string, amount: number): boolean {
    const own = this.of(sender)
    const free = this.#max - this.#used - amount
    return this.#used === 0 || (free >= 0 && (own === 0 || own + amount <= 7 * free))
  }

  /** `amount`: negative to give it back. */
  add(sender: string, amount: number): void {
    const own = this.of(sender) + amount
    this.#used += amount
    if (own === 0 && this.#bySender.size > IDLE_SENDERS) this.#bySender.delete(sender)
    else this.#bySender.set(sender, own)
  }
}

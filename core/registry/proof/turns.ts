/** Characters that are hashed or written in one turn of the event loop: some ms. */
const TURN_CHARS = 256 * 1024

/** Lets other requests go on during long work. */
export class Turns {
  #chars = 0

  /** Notes work on so many characters. */
  async add(chars: number): Promise<void> {
    this.#chars += chars
    if (this.#chars < TURN_CHARS) return
    this.#chars = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}

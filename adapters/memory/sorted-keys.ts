import type { Key, Range } from '../kit/index.ts'

const MAX_CHUNK = 512

/**
 * An ordered set of keys in chunks of at most 512 keys. Adding or removing a key moves the keys of one chunk only; a
 * splice of one flat array of a million keys would move 8 MB. No chunk is empty.
 */
export class SortedKeys {
  readonly #chunks: Key[][] = []

  add(key: Key): void {
    const at = this.#chunkOf(key)
    const chunk = this.#chunks[at]
    if (chunk === undefined) {
      this.#chunks.push([key])
      return
    }
    const index = lowerBound(chunk, key)
    if (chunk[index] === key) return
    chunk.splice(index, 0, key)
    if (chunk.length > MAX_CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(MAX_CHUNK / 2))
  }

  delete(key: Key): void {
    const at = this.#chunkOf(key)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    const index = lowerBound(chunk, key)
    if (chunk[index] !== key) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Returns up to `count` keys of the range, in its direction. Ignores the limit of the range. */
  slice(range: Range, count: number): Key[] {
    return range.reverse === true ? this.#backward(range, count) : this.#forward(range, count)
  }

  #forward({ gte, lt }: Range, count: number): Key[] {
    const out: Key[] = []
    let at = this.#chunkOf(gte)
    let index = lowerBound(this.#chunks[at] ?? [], gte)
    for (; at < this.#chunks.length; at += 1, index = 0) {
      const chunk = this.#chunks[at] ?? []
      for (; index < chunk.length; index += 1) {
        const key = chunk[index]
        if (key === undefined || key >= lt || out.length === count) return out
        out.push(key)
      }
    }
    return out
  }

  #backward({ gte, lt }: Range, count: number): Key[] {
    const out: Key[] = []
    let at = this.#chunkOf(lt)
    let index = lowerBound(this.#chunks[at] ?? [], lt) - 1
    for (; at >= 0; at -= 1, index = (this.#chunks[at]?.length ?? 0) - 1) {
      const chunk = this.#chunks[at] ?? []
      for (; index >= 0; index -= 1) {
        const key = chunk[index]
        if (key === undefined || key < gte || out.length === count) return out
        out.push(key)
      }
    }
    return out
  }

  /**
   * The index of the chunk that holds the key or into which it belongs: the last one that begins at or before it, else
   * the first.
   */
  #chunkOf(key: Key): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const first = this.#chunks[middle]?.[0]
      if (first !== undefined && first <= key) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }
}

/** Returns the index of the first key that is not less than `key`. Keys are ASCII, so `<` is the bytewise order. */
function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = keys[middle]
    if (other !== undefined && other < key) low = middle + 1
    else high = middle
  }
  return low
}

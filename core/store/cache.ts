import type { Known } from '../api/scope.ts'
import type { RecordStore } from '../ports/index.ts'
import { readFirstCovering, type SizedRecords } from './read.ts'

/**
 * A map of bounded size that drops the entries that were not used for the longest time. It keeps two generations:
 * entries that were read or written recently, and those of the generation before. When the recent generation is full,
 * it becomes the previous one, and the old previous one is dropped. So reading a recent entry is one `Map` look-up,
 * without the bookkeeping of an exact least-recently-used list.
 */
export class BoundedMap<K, V extends object | number | string> {
  readonly #maxRecent: number
  readonly #sizeOf: (value: V) => number
  #recent = new Map<K, V>()
  #recentSize = 0
  #previous = new Map<K, V>()

  /**
   * @param maxSize The values never have more than this together. At least 2. Throws a `RangeError` otherwise.
   * @param sizeOf What a value counts; it must not change. Default: 1, so that `maxSize` is a number of entries. A
   * value of more than half of `maxSize` is not kept.
   */
  constructor(maxSize: number, sizeOf: (value: V) => number = () => 1) {
    if (!Number.isSafeInteger(maxSize) || maxSize < 2)
      throw new RangeError(`maxSize must be a whole number from 2, got ${maxSize}`)
    this.#maxRecent = Math.floor(maxSize / 2)
    this.#sizeOf = sizeOf
  }

  get(key: K): V | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const previous = this.#previous.get(key)
    if (previous !== undefined) this.set(key, previous)
    return previous
  }

  set(key: K, value: V): void {
    const size = this.#sizeOf(value)
    this.#deleteRecent(key)
    if (size > this.#maxRecent) {
      this.#previous.delete(key)
      return
    }
    if (this.#recentSize + size > this.#maxRecent) {
      this.#previous = this.#recent
      this.#recent = new Map()
      this.#recentSize = 0
    }
    this.#recent.set(key, value)
    this.#recentSize += size
  }

  delete(key: K): void {
    this.#deleteRecent(key)
    this.#previous.delete(key)
  }

  #deleteRecent(key: K): void {
    const value = this.#recent.get(key)
    if (value === undefined) return
    this.#recent.delete(key)
    this.#recentSize -= this.#sizeOf(value)
  }
}

/** Default of `slots`. */
const SLOTS = 16_384

/**
 * A `BoundedMap` that keeps a value from the second time on that its key is set. Of many values that are each needed
 * once, it keeps few: otherwise it would drop values that are needed again, and garbage collection would copy each of
 * them.
 */
export class SecondUseMap<K extends string, V extends object | number | string> {
  readonly #kept: BoundedMap<K, V>
  /** Hashes of keys that were set, each in its slot. Not the keys: garbage collection would copy them, too. */
  readonly #setOnce: Uint32Array

  /**
   * The first parameters are those of `BoundedMap`.
   *
   * @param slots How many keys are remembered at most whose value was set once, 4 bytes each. With many more than there
   * is room for values, values are kept that are dropped before they are needed again.
   */
  constructor(maxSize: number, sizeOf?: (value: V) => number, slots = SLOTS) {
    this.#kept = new BoundedMap(maxSize, sizeOf)
    this.#setOnce = new Uint32Array(slots)
  }

  get(key: K): V | undefined {
    return this.#kept.get(key)
  }

  /** Keeps what `make` returns if the key was set before. Otherwise remembers the key only. */
  set(key: K, make: () => V): void {
    const hash = hashOf(key)
    const slot = hash % this.#setOnce.length
    // The slot may have been taken by another key since an older value was kept.
    if (this.#setOnce[slot] === hash || this.#kept.get(key) !== undefined) this.#kept.set(key, make())
    this.#setOnce[slot] = hash
  }

  /** Drops the value of a key. */
  delete(key: K): void {
    this.#kept.delete(key)
  }
}

/** 32 bits. Two keys rarely have the same, and then one of them is kept from its first use on. */
function hashOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return hash >>> 0
}

/** Positions in the log, from `start` until before `end`. */
export interface LogRange {
  readonly start: number
  readonly end: number
}

/**
 * Ranges of the log that were read, to be found again by a position. Two ranges that overlap must have the same end.
 * Drops ranges by the rule of `BoundedMap`, but finds them by binary search.
 */
export class RangeCache<R extends LogRange> {
  readonly #maxRecent: number
  #recent: R[] = []
  #previous: R[] = []

  /** @param maxRanges How many ranges are kept at most. At least 2. */
  constructor(maxRanges: number) {
    this.#maxRecent = Math.floor(maxRanges / 2)
  }

  /** The range that contains this position, `undefined` if it is not cached. */
  find(position: number): R | undefined {
    const recent = rangeAt(this.#recent, position)
    if (recent !== undefined) return recent
    const previous = rangeAt(this.#previous, position)
    if (previous !== undefined) this.add(previous)
    return previous
  }

  /** Adds a range, unless a cached one contains its start. */
  add(range: R): void {
    if (rangeAt(this.#recent, range.start) !== undefined) return
    if (this.#recent.length >= this.#maxRecent) {
      this.#previous = this.#recent
      this.#recent = []
    }
    const index = indexAfter(this.#recent, range.start)
    // A range with the same end is a part of this one.
    const replaced = this.#recent[index]?.end === range.end ? 1 : 0
    this.#recent.splice(index, replaced, range)
  }
}

function rangeAt<R extends LogRange>(ranges: readonly R[], position: number): R | undefined {
  const range = ranges[indexAfter(ranges, position)]
  return range !== undefined && range.start <= position ? range : undefined
}

/** The index of the first range that ends after this position. The ranges ascend and do not overlap. */
function indexAfter(ranges: readonly LogRange[], position: number): number {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range !== undefined && range.end > position) high = middle
    else low = middle + 1
  }
  return low
}

/** A record and the positions that it covers. */
interface Covered<T> extends LogRange {
  readonly record: T
}

interface CoveringSource<T> extends SizedRecords<T> {
  /** The first position that a record covers. Default: the one after the record before it. */
  readonly startOf?: (record: T) => number
}

/** Records that each cover a range of positions: batches, anchors. Keeps those that it has read. */
export class CoveringRecords<T extends object> {
  readonly #records: RecordStore
  readonly #source: CoveringSource<T>
  readonly #kept: RangeCache<Covered<T>>

  /** @param maxKept How many records are kept at most. At least 2. */
  constructor(records: RecordStore, source: CoveringSource<T>, maxKept: number) {
    this.#records = records
    this.#source = source
    this.#kept = new RangeCache(maxKept)
  }

  /** The record that covers each position. A position that none covers yet is missing in the map. */
  async of(positions: readonly number[]): Promise<ReadonlyMap<number, T>> {
    const found = new Map<number, T>()
    const missing: number[] = []
    for (const position of positions) {
      const kept = this.#kept.find(position)
      if (kept === undefined) missing.push(position)
      else found.set(position, kept.record)
    }
    if (missing.length === 0) return found
    const sizes = missing.map((position) => position + 1)
    const onPage = (firstSize: number, page: readonly T[]): void => this.#keep(firstSize - 1, page)
    for (const [size, record] of await readFirstCovering(this.#records, sizes, { ...this.#source, onPage }))
      found.set(size - 1, record)
    return found
  }

  /** The records between the requested ones are kept, too. */
  #keep(start: number, page: readonly T[]): void {
    const { sizeOf, startOf } = this.#source
    let next = start
    for (const record of page) {
      const end = sizeOf(record)
      this.#kept.add({ start: startOf?.(record) ?? next, end, record })
      next = end
    }
  }
}

/** Adds what a result was made of. Not enumerable, because results are also documents. */
export const withState = <T extends object>(result: T, state: object): T & Known =>
  Object.defineProperty(result, 'state', { value: state })

/** Whether what is known has a state of this kind. `member`: one that no other kind has. */
export const hasState = <S extends object>(known: Known | undefined, member: keyof S): known is { readonly state: S } =>
  known?.state !== undefined && member in known.state

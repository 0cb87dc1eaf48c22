import type { Key, RecordStore, Stored } from '../ports/index.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** Encodes the value of a counter as 8 bytes, big-endian two's complement. Throws a RangeError beyond 64 bits. */
export function encodeCounter(value: bigint): Uint8Array {
  if (value < MIN || value > MAX) throw new RangeError(`A counter must fit in 64 bits, got ${value}`)
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigInt64(0, value)
  return out
}

/** The inverse of `encodeCounter`. Throws a RangeError unless there are 8 bytes. */
export function decodeCounter(bytes: Uint8Array): bigint {
  if (bytes.length !== 8) throw new RangeError(`A counter must have 8 bytes, got ${bytes.length}`)
  return new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0)
}

/**
 * Returns the value of a counter's entry as a number, 0 without an entry. Throws a RangeError beyond the safe integers.
 */
export function countOf(entry: { readonly value: Uint8Array } | undefined): number {
  if (entry === undefined) return 0
  const count = Number(decodeCounter(entry.value))
  if (!Number.isSafeInteger(count)) throw new RangeError('The counter is beyond the safe integers')
  return count
}

/** How many entries a list has, and a text that changes whenever the list does. */
export interface Count {
  readonly count: number
  readonly version: string
}

/** What counters count together. */
export const readCount = async (records: Pick<RecordStore, 'get'>, counters: readonly Key[]): Promise<Count> =>
  sumOfCounters(await records.get(counters))

/** The sum of counters that were read. */
export const sumOfCounters = (entries: readonly (Stored | undefined)[]): Count => ({
  count: entries.reduce((sum, entry) => sum + countOf(entry), 0),
  version: entries.map((entry) => entry?.version ?? '').join(),
})

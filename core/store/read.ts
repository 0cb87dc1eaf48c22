import { corrupt, type RegistryError } from '../errors.ts'
import type { Check, Key, Range, RecordStore, Stored } from '../ports/index.ts'
import { decodeRecord } from './codec.ts'
import { shownKey, type RecordKey, type RecordRange, type StoredRecord } from './keys.ts'

/** Reads of records. Each has the type of its key. */

/** A decoded record, and the check that makes a commit fail if the record has changed since it was read. */
export interface Read<T> {
  readonly record: T
  readonly check: Check
}

/** Decodes an entry. Throws `CORRUPT` if its bytes are not a JSON object. */
export const readEntry = <T extends object>(entry: StoredRecord<T>): Read<NoInfer<T>> => ({
  record: decodeRecord(entry),
  check: { key: entry.key, version: entry.version },
})

/** What is stored under keys: an entry or `undefined` for each of them. */
type StoredUnder<Keys extends readonly Key[]> = {
  readonly [I in keyof Keys]: Keys[I] extends RecordKey<infer T> ? StoredRecord<T> | undefined : never
}

/** Reads keys from one consistent snapshot. Each entry has the type of its key. */
export const readAll = <const Keys extends readonly Key[]>(
  records: Pick<RecordStore, 'get'>,
  keys: Keys,
): Promise<StoredUnder<Keys>> =>
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a store returns one entry for each key, in order
  records.get(keys) as Promise<StoredUnder<Keys>>

/** Reads one record, `undefined` if it does not exist. */
export const readRecord = async <T extends object>(
  records: Pick<RecordStore, 'get'>,
  key: RecordKey<T>,
): Promise<Read<NoInfer<T>> | undefined> => {
  const [entry]: readonly (StoredRecord<T> | undefined)[] = await records.get([key])
  return entry && readEntry(entry)
}

/** Reads one record. Throws what `notFound` returns if it does not exist. */
export const requireRecord = async <T extends object>(
  records: RecordStore,
  key: RecordKey<T>,
  notFound: () => RegistryError,
): Promise<Read<NoInfer<T>>> => {
  const read = await readRecord(records, key)
  if (read === undefined) throw notFound()
  return read
}

/** The record under a key, `undefined` if it does not exist. */
export const readOne = async <T extends object>(
  records: RecordStore,
  key: RecordKey<T>,
): Promise<NoInfer<T> | undefined> => (await readRecord(records, key))?.record

/** The first record of a range, `undefined` if there is none. */
export const readFirst = async <T extends object>(
  records: RecordStore,
  range: RecordRange<T>,
): Promise<NoInfer<T> | undefined> => (await readPage(records, { ...range, limit: 1 }))[0]

/** The entries of a range, as they are consumed. */
export const listRecords = <T>(
  records: Pick<RecordStore, 'list'>,
  range: RecordRange<T>,
): AsyncIterable<StoredRecord<T>> => records.list(range)

/** Every entry of a listing, in memory. Use it only for listings that are known to be small. */
export async function listEntries<T>(records: RecordStore, range: RecordRange<T>): Promise<StoredRecord<T>[]> {
  const entries: StoredRecord<T>[] = []
  for await (const entry of records.list(range)) entries.push(entry)
  return entries
}

/** The records of a range, in memory. Use it only for ranges with a limit. */
export const readPage = async <T extends object>(records: RecordStore, range: RecordRange<T>): Promise<readonly T[]> =>
  (await listEntries(records, range)).map((entry) => decodeRecord(entry))

/**
 * Reads the two records on each side of a key that was not found, within its range. A damaged key is still among them,
 * and fails its CRC-32: then the store throws `CORRUPT`. What is damaged in another way is found by the scrub.
 */
export async function assertUndamagedAround(records: RecordStore, key: Key, { gte, lt }: Range): Promise<void> {
  const sides = [
    { gte: key, lt, limit: 2 },
    { gte, lt: key, limit: 2, reverse: true },
  ]
  await Promise.all(sides.map((side) => listEntries(records, side)))
}

/** The error for a record that another record refers to and that does not exist: the store has lost it. */
export const danglingReference = (from: string, to: string): RegistryError =>
  corrupt(`${from} refers to ${to}, which is missing`)

/** The error for a part of the log that must exist: the store has lost it. */
export const lost = (what: string): RegistryError => corrupt(`${what} is missing`)

/**
 * The records to which the entries of a listing refer, in their order. One that was removed after the listing was read
 * is left out. Throws `CORRUPT` if a record is missing that is still listed.
 */
export async function listedRecords<T>(
  records: RecordStore,
  listing: readonly Stored[],
  keyOf: (listed: Key) => RecordKey<T>,
): Promise<StoredRecord<T>[]> {
  const found = await records.get(listing.map(({ key }) => keyOf(key)))
  const entries: StoredRecord<T>[] = []
  for (const [i, listed] of listing.entries()) {
    const entry = found[i] ?? (await readReferred(records, listed, keyOf(listed.key)))
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

/**
 * The record to which an entry refers that was read before. `undefined` if the entry was changed or removed meanwhile,
 * and the record with it. Throws `CORRUPT` if only the record is missing.
 */
export async function readReferred<T>(
  records: Pick<RecordStore, 'get'>,
  from: Check,
  to: RecordKey<T>,
): Promise<StoredRecord<T> | undefined> {
  const [entry, record] = await readAll(records, [from.key, to])
  if (record === undefined && entry !== undefined && entry.version === from.version)
    throw danglingReference(`The entry ${shownKey(from.key)}`, to)
  return record
}

/**
 * Looks for signs that the store has lost a record that was not found: an entry under one of these keys, which exists
 * only beside the record, or a damaged record beside its place. Throws `CORRUPT` if there is one.
 */
export async function assertNeverStored(
  records: RecordStore,
  key: Key,
  { beside, family }: { readonly beside: readonly Key[]; readonly family: Range },
): Promise<void> {
  const [record, ...others] = await records.get([key, ...beside])
  // It may have been created meanwhile. A counter of nothing says nothing.
  const sign = record === undefined && others.find((other) => other !== undefined && !isZero(other.value))
  if (sign) throw danglingReference(`The entry ${shownKey(sign.key)}`, key)
  await assertUndamagedAround(records, key, family)
}

/** Whether a value is that of a counter of nothing. The entries of lists are empty. */
const isZero = (value: Uint8Array): boolean => value.length > 0 && value.every((byte) => byte === 0)

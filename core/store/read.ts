import { RegistryError } from '../errors.ts'
import type { Check, Entry, Key, Range, RecordStore } from '../ports/index.ts'
import { decodeRecord } from './record-codec.ts'

/** A decoded record, and the check that makes a commit fail if the record has changed since it was read. */
export interface Read<T> {
  readonly record: T
  readonly check: Check
}

/** Decodes an entry. Throws `CORRUPT` if its bytes are not a JSON object. */
export const readEntry = <T extends object>(entry: Entry): Read<T> => ({
  record: decodeRecord<T>(entry),
  check: { key: entry.key, version: entry.version },
})

/** Reads one record, `undefined` if it does not exist. */
export async function readRecord<T extends object>(records: RecordStore, key: Key): Promise<Read<T> | undefined> {
  const [entry] = await records.get([key])
  return entry && readEntry<T>(entry)
}

/** Reads one record. Throws what `notFound` returns if it does not exist. */
export async function requireRecord<T extends object>(
  records: RecordStore,
  key: Key,
  notFound: () => RegistryError,
): Promise<Read<T>> {
  const read = await readRecord<T>(records, key)
  if (read === undefined) throw notFound()
  return read
}

/** Every entry of a listing, in memory. Use it only for listings that are known to be small. */
export async function listEntries(records: RecordStore, range: Range): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of records.list(range)) entries.push(entry)
  return entries
}

/** The error for a record that another record refers to and that does not exist: the store has lost it. */
export const danglingReference = (from: string, to: string): RegistryError =>
  new RegistryError('CORRUPT', `${from} refers to ${to}, which is missing: restore the store from a backup`)

/**
 * The records to which the entries of a listing refer, in their order. One that was removed after the listing was read
 * is left out. Throws `CORRUPT` if a record is missing that is still listed.
 */
export async function listedRecords(
  records: RecordStore,
  listing: readonly Entry[],
  keyOf: (listed: Key) => Key,
): Promise<Entry[]> {
  const found = await records.get(listing.map(({ key }) => keyOf(key)))
  const entries: Entry[] = []
  for (const [i, { key }] of listing.entries()) {
    const entry = found[i] ?? (await readIfListed(records, key, keyOf(key)))
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

async function readIfListed(records: RecordStore, listed: Key, key: Key): Promise<Entry | undefined> {
  const [stillListed, entry] = await records.get([listed, key])
  if (stillListed !== undefined && entry === undefined) throw danglingReference(`The list entry ${listed}`, key)
  return entry
}

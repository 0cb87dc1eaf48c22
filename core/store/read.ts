import { decodeUtf8, encodeUtf8, equalBytes, fromBase64, fromHex } from '../bytes.ts'
import type { CompanyId, EvidenceId } from '../api/scope.ts'
import { type RegistryError, corrupt } from '../errors.ts'
import { timeOfId } from '../ids.ts'
import type { Check, Stored, Key, Range, RecordStore, Write } from '../ports/index.ts'
import { decodeCounter } from './commit.ts'
import type { RecordKey, RecordRange, StoredRecord } from './keys.ts'
import type { EvidenceRecord, NameRecord } from './records.ts'

/**
 * How records are stored and read. The type of a record follows from its key, so that no caller names it. That the
 * bytes under a key are a record of its type is trusted here, and nowhere else.
 */

/** The bytes under which a record is stored: JSON in UTF-8. Evidences have a form of their own (`evidenceText`). */
export const encodeRecord = (record: object): Uint8Array => encodeUtf8(JSON.stringify(record))

/** The write that stores a record. */
export const putRecord = <T extends object>(
  key: RecordKey<T>,
  record: NoInfer<Exclude<T, EvidenceRecord>>,
): DerivedEntry => ({ key, value: encodeRecord(record) })

/** An entry that follows from a record. */
export type DerivedEntry = Write & { readonly value: Uint8Array }

/** The value of an entry whose key says everything. */
const NO_VALUE = new Uint8Array()

/** The entry of a list. */
export const listEntry = (key: Key): DerivedEntry => ({ key, value: NO_VALUE })

/** The entry of a unique name. */
export const nameEntry = <Id extends string>(
  key: RecordKey<NameRecord<Id>>,
  { id }: { readonly id: NoInfer<Id> },
): DerivedEntry => putRecord(key, { id })

/** An entry that holds a text. */
export const textEntry = (key: Key, text: string): DerivedEntry => ({ key, value: encodeUtf8(text) })

/** The text in an entry. */
export const textOf = ({ value }: Pick<Stored, 'value'>): string => decodeUtf8(value)

/** The writes that bring the entries of a record from one state to the next. */
export function derivedWrites(before: readonly DerivedEntry[], after: readonly DerivedEntry[]): readonly Write[] {
  if (before.length === 0) return after
  const old = new Map(before.map(({ key, value }) => [key, value]))
  const changed = after.filter(({ key, value }) => {
    const oldValue = old.get(key)
    old.delete(key)
    return oldValue === undefined || !equalBytes(oldValue, value)
  })
  return [...changed, ...Array.from(old.keys(), (key) => ({ key, value: null }))]
}

/** The part of a stored record that says what it holds. */
export type RecordBytes<T> = Pick<Stored, 'value'> & { readonly key: RecordKey<T> }

/**
 * The record in a stored entry; `undefined` without an entry. Only checks that the bytes are a JSON object, and trusts
 * that it has the members that were written. Throws `CORRUPT` otherwise.
 */
export function decodeRecord<T extends object>(entry: RecordBytes<T>): NoInfer<T>
export function decodeRecord<T extends object>(entry: RecordBytes<T> | undefined): NoInfer<T> | undefined
export function decodeRecord<T extends object>(entry: RecordBytes<T> | undefined): T | undefined {
  if (entry === undefined) return undefined
  const value = parseJson(entry)
  if (typeof value !== 'object' || value === null) throw corruptRecord(entry, 'not a JSON object')
  const record = isEvidenceKey(entry.key) ? evidenceOf(entry.key, value) : value
  if (record === undefined) throw corruptRecord(entry, 'not an evidence')
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- `putRecord` wrote it with this type
  return record as T
}

function parseJson(entry: RecordBytes<unknown>): unknown {
  try {
    return JSON.parse(decodeUtf8(entry.value))
  } catch (cause) {
    throw corruptRecord(entry, 'not JSON', cause)
  }
}

/** `CORRUPT` for a record that is not what was written. */
export const corruptRecord = ({ key }: { readonly key: Key }, what: string, cause?: unknown): RegistryError =>
  corrupt(`The record ${key} is ${what}`, cause)

/** The bytes of a stored hash or key in hex. Throws `CORRUPT` for a text that is not hex. */
export function storedBytes(hex: string, what: string): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes === undefined) throw corrupt(`${what} is not hex: ${hex}`)
  return bytes
}

/** The bytes of a stored text in base64. Throws `CORRUPT` for a text that is not base64. */
export function storedBase64(text: string | undefined, what: string): Uint8Array {
  const bytes = text === undefined ? undefined : fromBase64(text)
  if (bytes === undefined) throw corrupt(`${what} is not base64`)
  return bytes
}

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
  for (const [i, { key }] of listing.entries()) {
    const entry = found[i] ?? (await readIfListed(records, key, keyOf(key)))
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

async function readIfListed(records: RecordStore, listed: Key, key: Key): Promise<Stored | undefined> {
  const [stillListed, entry] = await records.get([listed, key])
  if (stillListed !== undefined && entry === undefined) throw danglingReference(`The list entry ${listed}`, key)
  return entry
}

const MAX_PAGE = 256

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

export interface SizedRecords<T> {
  /** The range of the records of this size and larger ones, in ascending order. */
  readonly rangeFrom: (size: number) => RecordRange<T>
  readonly sizeOf: (record: T) => number
  /** Records that are read together at least. Default: 1. */
  readonly minPage?: number
  /** Gets each page that was read, and the size from which it was read. */
  readonly onPage?: (firstSize: number, records: readonly T[]) => void
}

/**
 * For each size, the first record of this size or a larger one. Goes through the range once, in pages. If the requested
 * records lie far apart, it reads pages of `minPage` records and jumps. If they lie close together, the pages grow.
 */
export async function readFirstCovering<T extends object>(
  store: RecordStore,
  sizes: readonly number[],
  { rangeFrom, sizeOf, minPage = 1, onPage }: SizedRecords<T>,
): Promise<ReadonlyMap<number, T>> {
  const records = new Map<number, T>()
  let page: readonly T[] = []
  let [limit, at, used] = [minPage, 0, 0]
  for (const size of [...new Set(sizes)].sort((a, b) => a - b)) {
    for (let record = page[at]; record !== undefined && sizeOf(record) < size; record = page[at]) at++
    if (at === page.length) {
      if (page.length < limit && page.length > 0) break
      limit = Math.min(MAX_PAGE, Math.max(minPage, used * 2))
      page = await readPage(store, { ...rangeFrom(size), limit })
      onPage?.(size, page)
      ;[at, used] = [0, 0]
    }
    const record = page[at]
    if (record === undefined) break
    records.set(size, record)
    used = at + 1
  }
  return records
}

const readPage = async <T extends object>(records: RecordStore, range: RecordRange<T>): Promise<readonly T[]> =>
  (await listEntries(records, range)).map((entry) => decodeRecord(entry))

/** The error for a part of the log that must exist: the store has lost it. */
export const lost = (what: string): RegistryError => corrupt(`${what} is missing`)

/**
 * Returns the value of a counter's entry as a number, 0 without an entry. Throws a RangeError beyond the safe integers.
 */
export function countOf(entry: { readonly value: Uint8Array } | undefined): number {
  if (entry === undefined) return 0
  const count = Number(decodeCounter(entry.value))
  if (!Number.isSafeInteger(count)) throw new RangeError('The counter is beyond the safe integers')
  return count
}

type Of<Name extends keyof EvidenceRecord> = EvidenceRecord[Name]
type First<Name extends keyof EvidenceRecord['first']> = EvidenceRecord['first'][Name]
/** JSON has no `undefined` in arrays. */
type Maybe<T> = T | null | undefined

/**
 * The stored form of an evidence: a JSON array of these values, without names, which would take as much room again in
 * each of them. Its key has its company and its id, and the id its time of creation. What most evidences lack comes
 * last: after the last value that is neither missing nor 0 nor false, none is written.
 */
type EvidenceValues = readonly [
  externalId: Of<'externalId'>,
  categoryId: Of<'categoryId'>,
  subcategoryId: Of<'subcategoryId'>,
  name: Of<'name'>,
  txId: Of<'txId'>,
  slotKey: Of<'slotKey'>,
  salts: First<'salts'>,
  fields: First<'fields'>,
  owner?: Maybe<Of<'owner'>>,
  description?: Maybe<Of<'description'>>,
  meta?: Maybe<Of<'meta'>>,
  summary?: Maybe<Of<'summary'>>,
  image?: Maybe<Of<'image'>>,
  files?: Maybe<First<'files'>>,
  fileCount?: number,
  updates?: number,
  transfers?: number,
  /** Without a later event, missing. */
  lastTxId?: Maybe<Of<'lastTxId'>>,
  /** The time from the creation to the last event. */
  age?: number,
  stolen?: boolean,
  erased?: Maybe<First<'erased'>>,
]

/** How many values every evidence has. */
const REQUIRED = 8

/** Of the key of an evidence. */
const KEY_START = 'ev/'

export const isEvidenceKey = (key: Key): boolean => key.startsWith(KEY_START)

/** The stored form of an evidence, as JSON. */
export function evidenceText(evidence: EvidenceRecord): string {
  const { txId, lastTxId, changes, first } = evidence
  const values: unknown[] = [
    evidence.externalId,
    evidence.categoryId,
    evidence.subcategoryId,
    evidence.name,
    txId,
    evidence.slotKey,
    first.salts,
    first.fields,
    evidence.owner,
    evidence.description,
    evidence.meta,
    evidence.summary,
    evidence.image,
    first.files,
    evidence.fileCount,
    changes.update,
    changes.transfer,
    lastTxId === txId ? undefined : lastTxId,
    evidence.lastAt - evidence.createdAt,
    evidence.stolen,
    first.erased,
  ] satisfies EvidenceValues
  while (!values.at(-1) && values.length > REQUIRED) values.pop()
  return JSON.stringify(values)
}

/** The evidence that is stored in this form under a key; `undefined` for another form. */
function evidenceOf(key: Key, values: object): EvidenceRecord | undefined {
  if (!isEvidence(values)) return undefined
  const [
    externalId,
    categoryId,
    subcategoryId,
    name,
    txId,
    slotKey,
    salts,
    fields,
    owner,
    description,
    meta,
    summary,
    image,
    files,
    fileCount = 0,
    update = 0,
    transfer = 0,
    lastTxId,
    age = 0,
    stolen = false,
    erased,
  ] = values
  const at = key.lastIndexOf('/')
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- keys contain ids as they are
  const [company, id] = [key.slice(KEY_START.length, at) as CompanyId, key.slice(at + 1) as EvidenceId]
  const createdAt = timeOfId(id)
  return {
    id,
    company,
    externalId,
    categoryId,
    subcategoryId,
    createdAt,
    name,
    stolen,
    description: description ?? undefined,
    summary: summary ?? undefined,
    owner: owner ?? undefined,
    meta: meta ?? undefined,
    image: image ?? undefined,
    txId,
    lastVersion: 1 + update + transfer,
    lastTxId: lastTxId ?? txId,
    lastAt: createdAt + age,
    changes: { create: 1, update, transfer },
    slotKey,
    fileCount,
    first: { salts, fields, files: files ?? undefined, erased: erased ?? undefined },
  }
}

const isEvidence = (values: object): values is EvidenceValues =>
  Array.isArray(values) && values.length >= REQUIRED && typeof values[REQUIRED - 1] === 'object'

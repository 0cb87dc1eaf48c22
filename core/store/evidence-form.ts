import type { CompanyId, EvidenceId } from '../api/scope.ts'
import { encodeUtf8, equalBytes } from '../bytes.ts'
import { timeOfId } from '../ids.ts'
import type { Key, Stored } from '../ports/index.ts'
import type { EvidenceRecord } from './records.ts'

/** The form in which the record of an evidence is stored. */

type Of<Name extends keyof EvidenceRecord> = EvidenceRecord[Name]
type First<Name extends keyof EvidenceRecord['first']> = EvidenceRecord['first'][Name]
/** JSON has no `undefined` in arrays. */
type Maybe<T> = T | null | undefined

/**
 * The stored form of an evidence: a JSON array of these values, without names, which would take as much room again in
 * each of them. Its key has its company and its id, and the id its time of creation. What most evidences lack comes
 * last: after the last value that is neither missing nor 0, none is written.
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
  /** Without a later event, missing, as is the position. */
  lastTxId?: Maybe<Of<'lastTxId'>>,
  position?: Maybe<Of<'position'>>,
  /** The time from the creation to the last event. */
  age?: number,
  stolenAt?: Maybe<Of<'stolenAt'>>,
  erased?: Maybe<First<'erased'>>,
  erasedValues?: Maybe<Of<'erased'>>,
]

/** An evidence whose last event has no position yet: its commit appends it. */
export type UnplacedEvidence = Omit<EvidenceRecord, 'lastPosition'>

/** The JSON of each of these values; `undefined` for one that is missing. */
export type EvidenceTexts = TextsOf<EvidenceValues>
type TextsOf<Values extends readonly unknown[]> = { readonly [Index in keyof Values]: string | undefined }

/** How many values every evidence has. */
const REQUIRED = 8

/** Of the key of an evidence. */
const KEY_START = 'ev/'

export const isEvidenceKey = (key: Key): boolean => key.startsWith(KEY_START)

/** The stored form of an evidence, as JSON. `texts`: as `EvidenceTexts`. */
export function joinedTexts(texts: readonly (string | undefined)[]): string {
  let end = texts.length
  while (end > REQUIRED && isOmitted(texts[end - 1])) end--
  let out = `[${texts[0]}`
  for (let i = 1; i < end; i++) out += `,${texts[i] ?? 'null'}`
  return `${out}]`
}

const isOmitted = (text: string | undefined): boolean => text === undefined || text === '0'

/** The stored form of an evidence, as JSON. Behind it is the position of the last event. */
export function evidenceText(evidence: UnplacedEvidence): string {
  const { txId, lastTxId, changes, first } = evidence
  const values = [
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
    lastTxId === txId ? undefined : evidence.position,
    evidence.lastAt - evidence.createdAt,
    evidence.stolenAt,
    first.erased,
    evidence.erased,
  ] satisfies EvidenceValues
  return joinedTexts(values.map((value) => JSON.stringify(value)))
}

/** Whether the stored form of an evidence has this external id, which is its first value. */
export function hasExternalId({ value }: Pick<Stored, 'value'>, externalId: string): boolean {
  const start = encodeUtf8(`[${JSON.stringify(externalId)},`)
  return equalBytes(value.subarray(0, start.length), start)
}

/** The evidence that is stored in this form under a key; `undefined` for another form. */
export function evidenceOfValues(key: Key, values: object, lastPosition: number): EvidenceRecord | undefined {
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
    position,
    age = 0,
    stolenAt,
    erased,
    erasedValues,
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
    stolen: typeof stolenAt === 'number',
    stolenAt: stolenAt ?? undefined,
    description: description ?? undefined,
    summary: summary ?? undefined,
    owner: owner ?? undefined,
    meta: meta ?? undefined,
    image: image ?? undefined,
    txId,
    position: position ?? lastPosition,
    lastVersion: 1 + update + transfer,
    lastTxId: lastTxId ?? txId,
    lastPosition,
    lastAt: createdAt + age,
    changes: { create: 1, update, transfer },
    slotKey,
    fileCount,
    erased: erasedValues ?? undefined,
    first: { salts, fields, files: files ?? undefined, erased: erased ?? undefined },
  }
}

const isEvidence = (values: object): values is EvidenceValues =>
  Array.isArray(values) && values.length >= REQUIRED && typeof values[REQUIRED - 1] === 'object'

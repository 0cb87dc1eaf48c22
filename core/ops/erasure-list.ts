import Type, { type Static } from '#typebox'
import { toHex } from '../bytes.ts'
import { canonicalJson } from '../commitment/canonical-json.ts'
import { receiptHash } from '../commitment/receipt.ts'
import { keyedHashOf } from '../log/identity.ts'
import { logKeys } from '../log/keys.ts'
import type { LogIdentityRecord } from '../log/records.ts'
import type { Commit, Key, RecordStore } from '../ports/index.ts'
import { erasureWrites } from '../registry/erasure/erase.ts'
import { type Events, planErasure, type PartsOf } from '../registry/erasure/plan.ts'
import { closed, FileId, hexOf, opt } from '../schemas/fields.ts'
import { readShape } from '../schemas/validation.ts'
import { decodeRecord, type RecordBytes, storedBytes } from '../store/codec.ts'
import { firstEventOf } from '../store/evidence.ts'
import { isInRange, type KeyedHash, keys, partsOfKey } from '../store/keys.ts'
import { lost } from '../store/read.ts'
import type { ErasureRecord, EventRecord, EvidenceRecord } from '../store/records.ts'
import type { CopiedRecord, StreamPart } from './record-stream.ts'

/**
 * The list of what was erased, so that a restore of an earlier backup does not bring it back. It has a line of
 * canonical JSON for each erased field and file, in any order, and holds no text that was erased.
 */

const Hash = Type.String(hexOf(64))
/** `txId`: of the event. `file`: only with the field `files`. `receipt`: its hash. */
const Line = closed({ txId: Hash, field: Type.String(), file: opt(FileId), receipt: Hash })

/** Whether a text is a line of a list. */
export const isErasureLine = (line: string): boolean => readShape(Line, line) !== undefined

/** The lines of the erasure in a record. None for any other record. */
export function erasureLinesIn(record: CopiedRecord): readonly string[] {
  if (!isInRange(record.key, keys.allErasures())) return []
  const stored: RecordBytes<ErasureRecord> = record
  const { salt, text, erased } = decodeRecord(stored)
  const receipt = toHex(receiptHash(storedBytes(salt, 'The salt of a receipt'), text))
  return erased.flatMap(({ txId, fields, files }) => [
    ...fields.map((field) => canonicalJson({ field, receipt, txId })),
    ...files.map((file) => canonicalJson({ field: 'files', file, receipt, txId })),
  ])
}

/** The lines of all erasures in a store. */
export async function* storedErasureLines(records: Pick<RecordStore, 'list'>): AsyncGenerator<string, void, undefined> {
  for await (const record of records.list(keys.allErasures())) yield* erasureLinesIn(record)
}

/** How records are copied so that nothing of what a list names is in the copy. */
export interface ListedPlan {
  /** The keys of records that are not copied, because they go, or because a commit writes them. */
  readonly leftOut: ReadonlySet<Key>
  /** For each evidence that still had something of it: what is written when all others are copied. */
  readonly commits: readonly Commit[]
}

/**
 * Plans to leave out what a list names, so that evidences become as their erasure left them, without another receipt.
 *
 * @param read - reads the stream of the records from its beginning
 * @param at - when it is erased, ms since 1970
 */
export async function planListed(
  read: () => AsyncIterable<StreamPart>,
  lines: readonly string[],
  at: number,
): Promise<ListedPlan> {
  const listed = lines.flatMap((line) => readShape(Line, line) ?? [])
  const partsOf = partsIn(listed)
  const txIds = new Set(listed.map(({ txId }) => txId))
  const concerned = new Set<Key>()
  let hash: KeyedHash | undefined
  for await (const part of read()) {
    hash ??= keyedHashIn(part)
    const found = inHistory(part)
    if (found !== undefined && txIds.has(found.record.txId)) concerned.add(found.key)
  }
  if (hash === undefined) throw lost("The log's identity")
  const histories = new Map<Key, { readonly evidence: EvidenceRecord; readonly events: [...Events] }>()
  // A second pass: a listed event may come after all evidences, and these do not fit into memory.
  for await (const part of read()) {
    const found = inHistory(part)
    if (found === undefined || !concerned.has(found.key)) continue
    const { key, record } = found
    if ('slotKey' in record) histories.set(key, { evidence: record, events: [firstEventOf(record)] })
    else histories.get(key)?.events.push(record)
  }
  const leftOut = new Set<Key>()
  const commits: Commit[] = []
  for (const { evidence, events } of histories.values()) {
    const plan = planErasure(evidence, events, partsOf, at)
    if (plan.erased.length === 0) continue
    const { writes, adds } = erasureWrites(evidence, plan, { at, hash })
    for (const { key } of writes) leftOut.add(key)
    commits.push({ writes: writes.filter(({ value }) => value !== null), adds })
  }
  return { leftOut, commits }
}

/** The hash for keys, if the part is the identity of the log. */
function keyedHashIn(part: StreamPart): KeyedHash | undefined {
  if (!('key' in part) || part.key !== logKeys.identity()) return undefined
  const stored: RecordBytes<LogIdentityRecord> = part
  return keyedHashOf(decodeRecord(stored))
}

const HISTORIES = [keys.evidences(), keys.laterEvents()]

/** The record of an evidence or of a later event, with the key of the evidence. */
function inHistory(part: StreamPart) {
  if (!('key' in part) || !HISTORIES.some((range) => isInRange(part.key, range))) return undefined
  const stored: RecordBytes<EvidenceRecord | EventRecord> = part
  const [, company = '', id = ''] = partsOfKey(part.key)
  return { key: keys.evidence(company, id), record: decodeRecord(stored) }
}

/** Of an event, the fields and files that are listed and that it still has. */
function partsIn(listed: readonly Static<typeof Line>[]): PartsOf {
  const named = new Set(listed.map(({ txId, field, file }) => `${txId} ${file ?? field}`))
  return ({ txId, fields, files }) => {
    const isNamed = (one: string): boolean => named.has(`${txId} ${one}`)
    return {
      fields: Object.keys(fields).filter(isNamed).toSorted(),
      files: Object.keys(files).filter(isNamed).toSorted(),
    }
  }
}

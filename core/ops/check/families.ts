import { toHex } from '../../bytes.ts'
import { canonicalJson } from '../../commitment/canonical-json.ts'
import { entryOf } from '../../commitment/log-entry.ts'
import { type ErasedOfEvent, erasureOpening, receiptHash, statedOf } from '../../commitment/receipt.ts'
import { logKeys } from '../../log/keys.ts'
import type { Stored, Key, Range } from '../../ports/index.ts'
import { decodeRecord, storedBytes } from '../../store/codec.ts'
import { DERIVED } from '../../store/derived.ts'
import { eventInRecord } from '../../store/evidence.ts'
import {
  keys,
  isInRange,
  onlyKey,
  partsOfKey,
  type RecordKey,
  type RecordRange,
  type StoredRecord,
} from '../../store/keys.ts'
import type { DeletedFileRecord, EventRecord, FileRecord } from '../../store/records.ts'

/** What a difference is about. */
export type DifferenceKind =
  /** The identity of the log, or one of its keys. */
  | 'identity'
  /** A log entry: its opening or its position. */
  | 'entry'
  | 'tile'
  | 'batch'
  /** The tree's head, or the tree that was signed last. */
  | 'head'
  | 'checkpoint'
  | 'stamp'
  | 'cosignature'
  | 'anchor'
  /** An event: its opening, its txId or its version. */
  | 'event'
  /** An evidence's record, compared with its history. */
  | 'evidence'
  | 'file'
  | 'category'
  | 'source system'
  /** An erasure, compared with the events that it names. */
  | 'erasure'
  /** A company, or a record of its audit trail, of uploads, deletions or idempotency keys. */
  | 'other'
  /** An entry of a list or an index. It follows from another record. */
  | 'index'
  | 'counter'
  /** The bytes of a stored file. */
  | 'blob'
  /** A file of the record store itself. */
  | 'store file'
  /** A key that belongs to no family. */
  | 'unknown'

/** A record to which another one refers. It must exist. */
export interface Reference {
  readonly key: Key
  /** Whether it is what the other record says. */
  readonly fits?: (entry: Stored) => boolean
}

/** Records whose keys begin alike. */
export interface Family {
  readonly range: Range
  readonly kind: DifferenceKind
  /** Of a record: throws if it cannot be read, or is stored under the key of another one. */
  referencesOf(record: Stored): readonly Reference[]
}

/** The parts of a key, without the family. */
type Parts = readonly string[]

/** Records that hold JSON. */
const family = <T extends object>(
  kind: DifferenceKind,
  range: RecordRange<T>,
  refersTo: (record: T, ...parts: Parts) => readonly Reference[] = () => [],
): Family => ({
  kind,
  range,
  referencesOf: (entry: StoredRecord<T>) => refersTo(decodeRecord(entry), ...partsOfKey(entry.key).slice(1)),
})

/** As `family`, of records whose keys end with their ids. */
const familyById = <T extends { readonly id: string }>(
  kind: DifferenceKind,
  range: RecordRange<T>,
  refersTo: (record: T, ...parts: Parts) => readonly Reference[],
): Family =>
  family(kind, range, (record, ...parts) => {
    if (record.id !== parts.at(-1)) throw new TypeError('it is stored under another id')
    return refersTo(record, ...parts)
  })

/** Values that are compared as bytes with what they follow from. */
const bytes = (kind: DifferenceKind, range: Range): Family => ({ kind, range, referencesOf: () => [] })

const referTo = <T>(key: RecordKey<T>, fits: (entry: StoredRecord<T>) => boolean): Reference => ({ key, fits })

const categoryIn = (company: string, parent: string | undefined, id: string): Reference =>
  referTo(keys.category(company, id), (entry) => decodeRecord(entry).parentId === parent)

const fileOf = (owner: string, id: string): Reference =>
  referTo(keys.file(id), (entry) => decodeRecord(entry).ownerId === owner)

/** The event that attached a file to its evidence, or the category of a file. */
function ownerOf({ id, company, ownerKind, ownerId, version }: FileRecord | DeletedFileRecord): Reference {
  if (ownerKind === 'category') return referTo(keys.category(company, ownerId), () => version === 0)
  if (ownerKind !== 'evidence') throw new TypeError('its owner is neither an evidence nor a category')
  return referTo(keys.event(company, ownerId, version), (entry) => {
    const { files, erased } = eventInRecord(entry)
    return Object.hasOwn(files, id) || Object.hasOwn(erased?.files ?? {}, id)
  })
}

/** Whether an event has lost what the receipt of an erasure states. */
const hasLost = ({ txId, erased }: EventRecord, stated: ErasedOfEvent, receipt: string): boolean =>
  txId === stated.txId &&
  receipt.includes(canonicalJson(statedOf(stated))) &&
  stated.fields.every((name) => Object.hasOwn(erased?.fields ?? {}, name)) &&
  stated.files.every((id) => Object.hasOwn(erased?.files ?? {}, id))

/** Every family of a complete registry, in the order of the keys. */
export const FAMILIES: readonly Family[] = [
  family('identity', onlyKey(logKeys.identity())),
  family('head', onlyKey(logKeys.treeHead())),
  family('other', onlyKey(logKeys.sealerLease())),
  bytes('tile', logKeys.tiles()),
  family('batch', logKeys.batches()),
  family('checkpoint', logKeys.checkpoints()),
  family('stamp', logKeys.stamps()),
  family('stamp', logKeys.partialStamps()),
  family('stamp', onlyKey(logKeys.stampHistory())),
  family('index', onlyKey(logKeys.stampHead())),
  family('cosignature', logKeys.cosignedFrom(0), ({ size }) => [{ key: logKeys.checkpoint(size) }]),
  family('cosignature', onlyKey(logKeys.witnesses())),
  bytes('stamp', logKeys.allValidationData()),
  family('anchor', logKeys.anchors()),
  family('anchor', onlyKey(logKeys.anchorHead())),
  family('anchor', onlyKey(logKeys.confirmedUses())),
  family('other', onlyKey(keys.operator())),
  family('other', onlyKey(keys.blobStore())),
  family('other', keys.companies()),
  familyById('source system', keys.allSourceSystems(), (_, company) => [{ key: keys.company(company) }]),
  family('other', keys.allLastUses(), (_, company, id) => [{ key: keys.sourceSystem(company, id) }]),
  familyById('other', keys.allAudit(), (record, _, company) => [
    { key: keys.company(company) },
    ...('systemId' in record ? [{ key: keys.sourceSystem(company, record.systemId) }] : []),
  ]),
  familyById('category', keys.allCategories(), ({ id, parentId, imageId }, company) => [
    ...(parentId === undefined ? [] : [categoryIn(company, undefined, parentId)]),
    ...(imageId === undefined ? [] : [fileOf(id, imageId)]),
  ]),
  family('evidence', keys.evidences(), ({ id, company, categoryId, subcategoryId, lastVersion }) => [
    categoryIn(company, undefined, categoryId),
    categoryIn(company, categoryId, subcategoryId),
    // Its history is compared with the last one of its events.
    ...(lastVersion > 1 ? [{ key: keys.event(company, id, lastVersion) }] : []),
  ]),
  family('event', keys.laterEvents(), ({ version }, company, id = '') => [
    referTo(keys.evidence(company, id), (entry) => decodeRecord(entry).lastVersion >= version),
  ]),
  familyById('file', keys.files(), (file) => [ownerOf(file)]),
  family('other', keys.blobIntents()),
  family('other', keys.pendingDeletions()),
  family('other', keys.pendingErasures()),
  familyById('other', keys.shares(), ({ company, evidence, version }) => [
    referTo(keys.evidence(company, evidence), (entry) => decodeRecord(entry).lastVersion >= version),
  ]),
  familyById('erasure', keys.allErasures(), ({ evidence, erased, salt, text, txId }, company) => {
    const opening = erasureOpening(receiptHash(storedBytes(salt, 'The salt of a receipt'), text))
    if (toHex(entryOf(opening)) !== txId) throw new TypeError('its receipt results in another txId')
    return erased.map((of) =>
      referTo(keys.event(company, evidence, of.version), (entry) => hasLost(eventInRecord(entry), of, text)),
    )
  }),
  familyById('other', keys.allSubjectErasures(), (_, company) => [{ key: keys.company(company) }]),
  ...[keys.allSubjects(), keys.allFound()].map((range) => bytes('other', range)),
  family('other', keys.allShareUses(), (_, company, id = '') => [
    referTo(keys.share(id), (entry) => decodeRecord(entry).company === company),
  ]),
  family('other', keys.allIdempotency()),
  ...DERIVED.map(({ range }) => bytes('index', range)),
  ...[keys.evidenceCounts(), keys.categoryCounts(), keys.auditCounts(), keys.fileCounts(), keys.shareCounts()].map(
    (range) => bytes('counter', range),
  ),
].toSorted((a, b) => (a.range.gte < b.range.gte ? -1 : 1))

/** What a difference of this record is about. */
export const differenceKindOf = (key: Key): DifferenceKind =>
  FAMILIES.find(({ range }) => isInRange(key, range))?.kind ?? 'unknown'

const DERIVED_KINDS: ReadonlySet<DifferenceKind> = new Set(['tile', 'index', 'counter'])

/** Whether a difference of this kind is about a record that follows from others. */
export const isOfDerived = (kind: DifferenceKind): boolean => DERIVED_KINDS.has(kind)

import type { CompanyId } from '../api/scope.ts'
import { DAY_MS, dayOfId, idsFrom } from '../ids.ts'
import { logKeys } from '../log/keys.ts'
import type { AnchorRecord, BatchRecord } from '../log/records.ts'
import type { Stored, Key, Range } from '../ports/index.ts'
import { evidenceEntries } from './evidence.ts'
import {
  companyIn,
  isInRange,
  type KeyedHash,
  keys,
  keysUnder,
  lastPartOfKey,
  partsOfKey,
  type RecordRange,
  type StoredRecord,
} from './keys.ts'
import { corruptRecord, decodeRecord, textOf } from './codec.ts'
import { type DerivedEntry, listEntry, nameEntry, putRecord, textEntry } from './entries.ts'
import type {
  ApiKeyRecord,
  CategoryRecord,
  DeletedFileRecord,
  ErasureRecord,
  FileRecord,
  IdempotencyRecord,
  ShareRecord,
  SourceSystemRecord,
} from './records.ts'

/**
 * The entries of the store that follow from records: names, lists, indexes, counters. The commit that writes a record
 * also writes its entries, and fsck derives them again, in both directions.
 */

/** The name of a source system, and the records of its current key and of those that it has replaced. */
export function systemEntries(company: CompanyId, system: SourceSystemRecord): readonly DerivedEntry[] {
  const { id, name, permissions, active, mac, expiresAt, replacedKeys = [] } = system
  const record: ApiKeyRecord = {
    company,
    systemId: id,
    permissions,
    active,
    ...(expiresAt !== undefined && { expiresAt }),
  }
  const replaced = replacedKeys.map(({ mac: other, endsAt }) =>
    putRecord(keys.apiKey(other), { ...record, expiresAt: Math.min(endsAt, expiresAt ?? Infinity), isReplaced: true }),
  )
  return [nameEntry(keys.sourceSystemName(company, name), system), putRecord(keys.apiKey(mac), record), ...replaced]
}

/** The name of a category, and its entry in the list of its siblings. */
export const categoryEntries = (company: CompanyId, category: CategoryRecord): readonly DerivedEntry[] => [
  nameEntry(keys.categoryName(company, category.parentId, category.name), category),
  listEntry(keys.categoryIn(company, category.parentId, category.id)),
]

/** The entry of a file in the list of its owner, until it is deleted. */
export const fileEntries = (file: FileRecord | DeletedFileRecord): readonly DerivedEntry[] =>
  'deletion' in file ? [] : [listEntry(keys.fileOf(file.company, file.ownerId, file.id))]

/** The entry of a share in the list of its evidence. */
export const shareEntries = ({ company, evidence, id }: ShareRecord): readonly DerivedEntry[] => [
  listEntry(keys.shareOf(company, evidence, id)),
]

/** The entry of an erasure in the list of its company. */
export const erasureEntries = (company: CompanyId, { id, evidence }: ErasureRecord): readonly DerivedEntry[] => [
  textEntry(keys.erasureIn(company, id), evidence),
]

/** When an idempotency record expires. `key`: of the record. */
export const idempotencyEntries = (key: Key, { expires }: IdempotencyRecord): readonly DerivedEntry[] => [
  putRecord(keys.idempotencyExpiry(expires, key), { key }),
]

/** The id and the root of a batch. */
export const batchEntries = ({ id, root, end }: BatchRecord): readonly DerivedEntry[] =>
  [logKeys.batchById(id), logKeys.batchByRoot(root)].map((key) => putRecord(key, { end }))

/** The block of a confirmed anchor. */
export const anchorEntries = ({ size, confirmation }: AnchorRecord): readonly DerivedEntry[] =>
  confirmation === undefined
    ? []
    : [putRecord(logKeys.confirmedAnchor(size), { size, blockNumber: confirmation.blockNumber })]

/** A family of records from which entries follow. */
interface Source {
  readonly range: Range
  entriesOf(record: Stored, hash: KeyedHash): readonly DerivedEntry[]
}

const source = <T extends object>(
  range: RecordRange<T>,
  entriesOf: (record: T, key: Key, hash: KeyedHash) => readonly DerivedEntry[],
): Source => ({
  range,
  entriesOf: (entry: StoredRecord<T>, hash) => entriesOf(decodeRecord(entry), entry.key, hash),
})

const SOURCES: readonly Source[] = [
  source(logKeys.batches(), batchEntries),
  source(logKeys.anchors(), anchorEntries),
  source(keys.allSourceSystems(), (system, key) => systemEntries(companyIn(key), system)),
  source(keys.allCategories(), (category, key) => categoryEntries(companyIn(key), category)),
  source(keys.evidences(), (evidence, _, hash) => evidenceEntries(evidence, hash)),
  source(keys.files(), fileEntries),
  source(keys.shares(), shareEntries),
  source(keys.allErasures(), (erasure, key) => erasureEntries(companyIn(key), erasure)),
  source(keys.allIdempotency(), (record, key) => idempotencyEntries(key, record)),
]

/** The entries that follow from a record of any family. Throws if it lacks a member from which one follows. */
export const derivedFrom = (record: Stored, hash: KeyedHash): readonly DerivedEntry[] =>
  SOURCES.find(({ range }) => isInRange(record.key, range))?.entriesOf(record, hash) ?? []

/** A family of entries that follow from records. */
export interface DerivedFamily {
  readonly range: Range
  /** The key of the record from which an entry follows. Throws if the entry does not say it. */
  readonly ownerOf: (entry: Stored) => Key
  /** Another check reports that the record is missing. Otherwise the entry may be all that is left of it. */
  readonly isLossNoticed: boolean
}

/** A family whose loss no other check notices. */
const family = <T>(range: RecordRange<T>, ownerOf: (entry: StoredRecord<T>) => Key): DerivedFamily => ({
  range,
  ownerOf,
  isLossNoticed: false,
})

/** A family of which the log shows what is missing. */
const noticed = <T>(range: RecordRange<T>, ownerOf: (entry: StoredRecord<T>) => Key): DerivedFamily => ({
  ...family(range, ownerOf),
  isLossNoticed: true,
})

/** Entries of evidences, whose keys have the company at `depth` and end with the id. */
const ofEvidence = (range: Range, depth: number): DerivedFamily =>
  noticed(range, ({ key }) => keys.evidence(partsOfKey(key)[depth] ?? '', lastPartOfKey(key)))

export const DERIVED: readonly DerivedFamily[] = [
  ...[logKeys.batchIds(), logKeys.batchRoots()].map((range) =>
    noticed(range, (entry) => logKeys.batch(decodeRecord(entry).end)),
  ),
  family(logKeys.confirmedAnchors(), (entry) => logKeys.anchor(decodeRecord(entry).size)),
  family(keys.allSourceSystemNames(), (entry) => keys.sourceSystem(companyIn(entry.key), decodeRecord(entry).id)),
  family(keys.apiKeys(), (entry) => {
    const { company, systemId } = decodeRecord(entry)
    return keys.sourceSystem(company, systemId)
  }),
  family(keys.allCategoryNames(), (entry) => keys.category(companyIn(entry.key), decodeRecord(entry).id)),
  family(keys.allCategoryListings(), ({ key }) => keys.category(companyIn(key), lastPartOfKey(key))),
  noticed(keys.allExternalIds(), (entry) => keys.evidence(companyIn(entry.key), textOf(entry))),
  ...[keys.allPublicIds(), keys.allCompaniesOf()].map((range) =>
    noticed(range, (entry) => keys.evidence(textOf(entry), lastPartOfKey(entry.key))),
  ),
  ofEvidence(keys.allEvidenceListings(), 2),
  ofEvidence(keys.allOwnerIndex(), 1),
  ofEvidence(keys.allWordIndex(), 1),
  ofEvidence(keys.allUpdateIndex(), 1),
  family(keys.allFileListings(), ({ key }) => keys.file(lastPartOfKey(key))),
  family(keys.allShareListings(), ({ key }) => keys.share(lastPartOfKey(key))),
  family(keys.allErasureListings(), (entry) =>
    keys.erasure(companyIn(entry.key), textOf(entry), lastPartOfKey(entry.key)),
  ),
  family(keys.idempotencyExpiries(), (entry) => {
    const { key } = decodeRecord(entry)
    if (!isInRange(key, keys.allIdempotency())) throw corruptRecord(entry, 'not of an idempotency key')
    return key
  }),
]

/** A family of lists with its counters. */
export interface CountedFamily {
  readonly lists: Range
  readonly counters: Range
  /** Entries with the same text, which lie side by side, are counted by the same counters. */
  listOf(entry: Key): string
  countersOf(entry: Key): readonly Key[]
  /** The entries that a counter counts. */
  countedBy(counter: Key): Range
}

/** A counter has the key of its list in the family of the counters: all of it, or only its first parts. */
const counted = (lists: Range, counters: Range, ...partial: readonly number[]): CountedFamily => ({
  lists,
  counters,
  listOf: (entry) => entry.slice(0, entry.lastIndexOf('/')),
  countersOf: (entry) =>
    [...partial, Infinity].map(
      (depth) => recordFamily(counters.gte) + partsOfKey(entry).slice(1, -1).slice(0, depth).join('/'),
    ),
  countedBy: (counter) => keysUnder(lists.gte + counter.slice(recordFamily(counter).length)),
})

const recordFamily = (key: Key): string => key.slice(0, key.indexOf('/') + 1)

/** The time of a creation is in the id, so the evidences of a day lie side by side. */
const createdEvidences: CountedFamily = {
  lists: keys.evidences(),
  counters: { gte: 'ec/company/', lt: 'ec/day0' },
  listOf: (entry) => `${companyIn(entry)} ${dayOfId(lastPartOfKey(entry))}`,
  countersOf: (entry) => [
    keys.evidenceCount(['company', companyIn(entry)]),
    keys.evidenceCount(['day', companyIn(entry), dayOfId(lastPartOfKey(entry))]),
  ],
  countedBy(counter) {
    const [, kind, company = '', text = ''] = partsOfKey(counter)
    const range = keys.evidencesOf(company)
    if (kind === 'company') return range
    const day = Number.parseInt(text, 16)
    return { gte: range.gte + idsFrom(day * DAY_MS), lt: range.gte + idsFrom((day + 1) * DAY_MS) }
  },
}

export const COUNTED: readonly CountedFamily[] = [
  createdEvidences,
  counted(keys.allEvidenceListings(), { gte: 'ec/stolen/', lt: 'ec/sub0' }),
  counted(keys.allCategoryListings(), keys.categoryCounts()),
  counted(keys.allAudit(), keys.auditCounts()),
  counted(keys.allFileListings(), keys.fileCounts(), 1),
  counted(keys.allShareListings(), keys.shareCounts()),
]

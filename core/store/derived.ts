import { equalBytes } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import type { BatchIndexRecord, BatchRecord } from '../log/records.ts'
import type { Entry, Key, Range, Write } from '../ports/index.ts'
import { keys } from './keys.ts'
import { foldCase, isInRange, lastPartOfKey, partsOfKey } from './key.ts'
import { encodeListed, listedKey } from './evidence.ts'
import { corruptRecord, decodeRecord, putRecord } from './record-codec.ts'
import type {
  ApiKeyRecord,
  CategoryRecord,
  DeletedFileRecord,
  EvidenceRecord,
  FileRecord,
  IdempotencyExpiryRecord,
  IdempotencyRecord,
  NameRecord,
  SourceSystemRecord,
} from './records.ts'

/**
 * The entries of the store that follow from records: names, lists, indexes, counters. The commit that writes a record
 * also writes its entries, and fsck derives them again, in both directions.
 */

/** An entry that follows from a record. */
export type DerivedEntry = Write & { readonly value: Uint8Array }

/** The value of an entry whose key says everything. */
const NO_VALUE = new Uint8Array()

const listed = (key: Key): DerivedEntry => ({ key, value: NO_VALUE })

const named = (key: Key, { id }: { readonly id: string }): DerivedEntry => putRecord(key, { id } satisfies NameRecord)

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

/** The name of a source system, and the records of its current key and of those that it has replaced. */
export function systemEntries(company: string, system: SourceSystemRecord): readonly DerivedEntry[] {
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
  return [named(keys.sourceSystemName(company, name), system), putRecord(keys.apiKey(mac), record), ...replaced]
}

/** The name of a category, and its entry in the list of its siblings. */
export const categoryEntries = (company: string, category: CategoryRecord): readonly DerivedEntry[] => [
  named(keys.categoryName(company, category.parentId, category.name), category),
  listed(keys.categoryIn(company, category.parentId, category.id)),
]

/**
 * The external id of an evidence, and its entries in lists and indexes. The one in the list of its company has what
 * lists show as its value, so that a page of it is read in one go.
 */
export function evidenceEntries(evidence: EvidenceRecord): readonly DerivedEntry[] {
  const { id, company, categoryId, subcategoryId, externalId, owner, stolen, lastAt } = evidence
  const entries = [
    named(keys.externalId(externalId, company), evidence),
    { key: listedKey(company, id), value: encodeListed(evidence) },
    listed(keys.evidenceIn(['category', categoryId, subcategoryId], id)),
    listed(keys.externalIdIndex(company, externalId, id)),
    listed(keys.updateIndex(company, lastAt, id)),
  ]
  if (owner !== undefined) entries.push(listed(keys.ownerIndex(company, foldCase(owner), id)))
  if (stolen) entries.push(listed(keys.evidenceIn(['stolen', company], id)))
  return entries
}

/** The entry of a file in the list of its owner, until it is deleted. */
export const fileEntries = (file: FileRecord | DeletedFileRecord): readonly DerivedEntry[] =>
  'deletion' in file ? [] : [listed(keys.fileOf(file.ownerId, file.id))]

/** When an idempotency record expires. `key`: of the record. */
export const idempotencyEntries = (key: Key, { expires }: IdempotencyRecord): readonly DerivedEntry[] => [
  putRecord(keys.idempotencyExpiry(expires, key), { key } satisfies IdempotencyExpiryRecord),
]

/** The id and the root of a batch. */
export const batchEntries = ({ id, root, end }: BatchRecord): readonly DerivedEntry[] =>
  [logKeys.batchById(id), logKeys.batchByRoot(root)].map((key) => putRecord(key, { end } satisfies BatchIndexRecord))

/** A family of records from which entries follow. */
interface Source {
  readonly range: Range
  entriesOf(record: Entry): readonly DerivedEntry[]
}

const source = <T extends object>(
  range: Range,
  entriesOf: (record: T, key: Key) => readonly DerivedEntry[],
): Source => ({ range, entriesOf: (entry) => entriesOf(decodeRecord<T>(entry), entry.key) })

/** The company in a key of a source system or category. */
const companyIn = (key: Key): string => String(partsOfKey(key)[1])

const SOURCES: readonly Source[] = [
  source<BatchRecord>(logKeys.batchesFrom(0), batchEntries),
  source<SourceSystemRecord>(keys.allSourceSystems(), (system, key) => systemEntries(companyIn(key), system)),
  source<CategoryRecord>(keys.allCategories(), (category, key) => categoryEntries(companyIn(key), category)),
  source<EvidenceRecord>(keys.evidences(), evidenceEntries),
  source<FileRecord | DeletedFileRecord>(keys.files(), fileEntries),
  source<IdempotencyRecord>(keys.allIdempotency(), (record, key) => idempotencyEntries(key, record)),
]

/** The entries that follow from a record of any family. Throws if it lacks a member from which one follows. */
export const derivedFrom = (record: Entry): readonly DerivedEntry[] =>
  SOURCES.find(({ range }) => isInRange(record.key, range))?.entriesOf(record) ?? []

/** A family of entries that follow from records. */
interface DerivedFamily {
  readonly range: Range
  /** The key of the record from which an entry follows. Throws if the entry does not say it. */
  readonly ownerOf: (entry: Entry) => Key
  /** Another check reports that the record is missing. Otherwise the entry may be all that is left of it. */
  readonly isLossNoticed: boolean
}

/** Entries of evidences, whose keys end with the id. The log shows that an evidence is missing. */
const ofEvidence = (range: Range): DerivedFamily => ({
  range,
  ownerOf: ({ key }) => keys.evidence(lastPartOfKey(key)),
  isLossNoticed: true,
})

export const DERIVED: readonly DerivedFamily[] = [
  ...[logKeys.batchIds(), logKeys.batchRoots()].map((range) => ({
    range,
    ownerOf: (entry: Entry) => logKeys.batch(decodeRecord<BatchIndexRecord>(entry).end),
    isLossNoticed: true,
  })),
  {
    range: keys.allSourceSystemNames(),
    ownerOf: (entry) => keys.sourceSystem(companyIn(entry.key), decodeRecord<NameRecord>(entry).id),
    isLossNoticed: false,
  },
  {
    range: keys.apiKeys(),
    ownerOf(entry) {
      const { company, systemId } = decodeRecord<ApiKeyRecord>(entry)
      return keys.sourceSystem(company, systemId)
    },
    isLossNoticed: false,
  },
  {
    range: keys.allCategoryNames(),
    ownerOf: (entry) => keys.category(companyIn(entry.key), decodeRecord<NameRecord>(entry).id),
    isLossNoticed: false,
  },
  {
    range: keys.allCategoryListings(),
    ownerOf: ({ key }) => keys.category(companyIn(key), lastPartOfKey(key)),
    isLossNoticed: false,
  },
  {
    range: keys.allExternalIds(),
    ownerOf: (entry) => keys.evidence(decodeRecord<NameRecord>(entry).id),
    isLossNoticed: true,
  },
  ofEvidence(keys.allEvidenceListings()),
  ofEvidence(keys.allExternalIdIndex()),
  ofEvidence(keys.allOwnerIndex()),
  ofEvidence(keys.allUpdateIndex()),
  { range: keys.allFileListings(), ownerOf: ({ key }) => keys.file(lastPartOfKey(key)), isLossNoticed: false },
  {
    range: keys.idempotencyExpiries(),
    ownerOf(entry) {
      const { key } = decodeRecord<IdempotencyExpiryRecord>(entry)
      if (!isInRange(key, keys.allIdempotency())) throw corruptRecord(entry, 'not of an idempotency key')
      return key
    },
    isLossNoticed: false,
  },
]

/** Families of lists, each with its counters. A counter has the key of its list in the family of the counters. */
export const COUNTED: readonly { readonly lists: Range; readonly counters: Range }[] = [
  { lists: keys.allEvidenceListings(), counters: keys.evidenceCounts() },
  { lists: keys.allCategoryListings(), counters: keys.categoryCounts() },
  { lists: keys.allAudit(), counters: keys.auditCounts() },
]

import type {
  CategoryId,
  CompanyId,
  ErasureId,
  EvidenceId,
  FileId,
  IdText,
  ShareId,
  SourceSystemId,
} from '../api/scope.ts'
import { encodeUtf8, sha256, sha256HexOfText, toHex } from '../bytes.ts'
import type { Stored, Key, Range } from '../ports/index.ts'
import type {
  ApiKeyRecord,
  AuditRecord,
  BlobStoreRecord,
  CategoryRecord,
  CompanyRecord,
  DeletedFileRecord,
  ErasureRecord,
  EventRecord,
  EvidenceRecord,
  FileRecord,
  IdempotencyExpiryRecord,
  IdempotencyRecord,
  LastUseRecord,
  NameRecord,
  OperatorRecord,
  PendingDeletionRecord,
  PendingErasureRecord,
  ShareRecord,
  SourceSystemRecord,
  SubjectErasureRecord,
  UploadIntentRecord,
} from './records.ts'

declare const holds: unique symbol

/** A key under which a record of this type is stored. At run time it is a plain key. */
export type RecordKey<T> = Key & { readonly [holds]?: T }

/** A range of keys under which records of this type are stored. */
export type RecordRange<T> = Range & { readonly [holds]?: T }

/** A record as it is stored. Its key says what `decodeRecord` makes of its bytes. */
export interface StoredRecord<T> extends Stored {
  readonly key: RecordKey<T>
}

/**
 * How record keys are written. A key is a tuple of parts joined by `/`, and its first part names the record's family.
 *
 * - Text is percent-encoded over its UTF-8 bytes, except `A-Z a-z 0-9 . _ -`. So no part contains a `/`, and no part
 *   can run into the next one.
 * - A number is written as 14 hex digits, so that keys sort by their numbers.
 * - A text part that would be longer than `MAX_PART` is replaced by `~` and its SHA-256. A name of 256 characters can
 *   take 3,072 bytes when encoded, and a store accepts keys of 2,048. With the hash every text has a valid key, also
 *   text from a query that was never validated.
 * - A text whose beginning is searched for is never replaced (`searchableKey`): a prefix of the text is a prefix of its
 *   key.
 */
const MAX_PART = 400
const plain = /^[A-Za-z0-9._-]*$/

function encodeText(part: string): string {
  // Of a record that lacks a member.
  if (typeof part !== 'string') throw new TypeError(`A part of a key is missing: got ${typeof part}`)
  const encoded = encodeWholeText(part)
  return encoded.length > MAX_PART ? hashText(part) : encoded
}

const encodeWholeText = (part: string): string =>
  plain.test(part) ? part : encodeURIComponent(part.toWellFormed()).replace(/[!'()*~]/g, escapeCharacter)

const escapeCharacter = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`

const hashText = (part: string): string => `~${toHex(sha256(encodeUtf8(part)))}`

/** Encodes a safe integer >= 0 as 14 hex digits, so that keys sort by their numbers. */
export const encodeNumber = (value: number): string => value.toString(16).padStart(14, '0')

/** The key of these parts in a family. Numbers must be safe integers >= 0. */
export function recordKey(family: string, ...parts: readonly (string | number)[]): Key {
  let out = family
  for (const part of parts) out += '/' + (typeof part === 'number' ? encodeNumber(part) : encodeText(part))
  return out
}

/** A key that ends with a text that can be searched by its beginning, and an id. */
export const searchableKey = (prefix: Key, text: string, id: string): Key =>
  `${searchPrefix(prefix, text)}/${encodeText(id)}`

/** The keys of `searchableKey` whose text begins with `beginning`. No encoded text contains a `~`. */
export function keysBeginningWith(prefix: Key, beginning: string): Range {
  const gte = searchPrefix(prefix, beginning)
  return { gte, lt: `${gte}~` }
}

/** The most characters that an external id can take, of 128 with 12 each. A longer text is never stored. */
const MAX_SEARCHED = 1_536

function searchPrefix(prefix: Key, text: string): Key {
  const encoded = encodeWholeText(text)
  return `${prefix}/${encoded.length > MAX_SEARCHED ? hashText(text) : encoded}`
}

/** HMAC-SHA-256 of a text under the key of the store, hex: for a text that is only looked up whole. */
export type KeyedHash = (text: string) => string

/** Of an owner in any case, 128 bits: without the key, no attacker can search for two owners with the same hash. */
export const hashOfOwner = (company: Company, owner: string, hash: KeyedHash): string =>
  hash(`owner\0${company}\0${foldCase(owner)}`).slice(0, 32)

/** 192 bits in hex: to find two texts with the same hash takes 2^96 attempts. */
const hashOfExternalId = (externalId: string): string => sha256HexOfText(externalId).slice(0, 48)

/** All keys that begin with the parts of `prefix` and have at least one more part. */
export const keysUnder = (prefix: Key): Range => ({ gte: `${prefix}/`, lt: `${prefix}0` })

/** All keys of a family whose first part is this number or a larger one. */
export const keysFrom = (family: string, first: number): Range => ({
  gte: recordKey(family, first),
  lt: keysUnder(family).lt,
})

/** The range that contains only this key. */
export const onlyKey = <T>(key: RecordKey<T>): RecordRange<T> => ({ gte: key, lt: `${key}\0` })

export const isInRange = (key: Key, { gte, lt }: Pick<Range, 'gte' | 'lt'>): boolean => key >= gte && key < lt

/** The parts of a key, family first. Text parts are still encoded. */
export const partsOfKey = (key: Key): readonly string[] => key.split('/')

/** The first part of a key, after its family. It is still encoded. */
export const firstPartOfKey = (key: Key): string => String(partsOfKey(key)[1])

/** A name in the form in which names are compared: Unicode NFC, without white space around it. It is stored as sent. */
export const comparedName = (name: string): string => name.normalize('NFC').trim()

/** Whether two texts are the same name: some systems write `ö` as one character, others as two. */
export const isSameName = (a: string, b: string): boolean => a === b || comparedName(a) === comparedName(b)

/**
 * A name with folded case, so that two names that differ only in case become equal. `ß`, `ẞ` and `ss` become equal, and
 * so do `Σ`, `σ` and `ς`.
 */
export const foldCase = (name: string): string =>
  comparedName(comparedName(name).toLowerCase().toUpperCase().toLowerCase())

/** A longer word is cut, so that it takes at most 384 characters in a key. */
const MAX_WORD = 32
const ASCII = /^[\0-\x7F]*$/

/** The distinct words of a text, as searches compare them: NFKC, with folded case, and cut to 32 characters. */
export function searchWords(text: string): readonly string[] {
  const words = ASCII.test(text)
    ? text.toLowerCase().match(/[a-z0-9]+/g)
    : foldCase(text.normalize('NFKC')).match(/[\p{L}\p{Nd}]+/gu)
  return [
    ...new Set(words?.map((word) => (word.length > MAX_WORD ? Array.from(word).slice(0, MAX_WORD).join('') : word))),
  ]
}

/** Families whose keys contain texts of evidences. */
const WITH_TEXT = /^(ex|wo)\/([^/]*)\/.*$/

/** A key as a log may show it: without texts of evidences, which can be personal. */
export const shownKey = (key: Key): string => key.replace(WITH_TEXT, '$1/$2/…')

/** The last part of a key, for keys that end with an id. */
export const lastPartOfKey = (key: Key): string => key.slice(key.lastIndexOf('/') + 1)

type Company = IdText<CompanyId>
type Category = IdText<CategoryId>
type Evidence = IdText<EvidenceId>
type Erasure = IdText<ErasureId>
type File = IdText<FileId>
type Share = IdText<ShareId>
type SourceSystem = IdText<SourceSystemId>

/** A list of evidences that is stored beside them: of the stolen ones of a company, of a subcategory. */
export type Listing =
  | readonly [kind: 'stolen', company: Company]
  | readonly [kind: 'sub', company: Company, subcategory: Category]
/** What a counter counts: also all evidences of a company, and those that it created on a day since 1970 in UTC. */
export type CountedEvidences = Listing | readonly ['company', Company] | readonly ['day', Company, day: number]

/**
 * What an audit trail consists of, each with its own limit: changes of source systems; uses of keys and tokens of the
 * company; and texts that are not its keys, which anyone can send.
 */
export type AuditKind = 'change' | 'access' | 'unknown'

/** What keys have in the place of a parent if a category has none. */
const NO_PARENT = ''

/** The key of an event from version 2. */
export const laterEventKey = (company: Company, evidence: Evidence, version: number): RecordKey<EventRecord> =>
  recordKey('vh', company, evidence, version)
export const isLaterEventKey = (key: Key): boolean => key.startsWith('vh/')

/**
 * Keys of the registry's own records. Those of the log are in `core/log/keys.ts`. A function without parameters returns
 * all keys of a family, or its only one.
 */
export const keys = {
  operator: (): RecordKey<OperatorRecord> => 'op',
  /** In shared records: the store that holds the files. */
  blobStore: (): RecordKey<BlobStoreRecord> => 'bs',
  /** Present while the store is being filled from another one. Until then no registry opens it. */
  filling: (): Key => 'mg',
  // -- companies and source systems
  company: (company: Company): RecordKey<CompanyRecord> => recordKey('co', company),
  companies: (): RecordRange<CompanyRecord> => keysUnder('co'),
  sourceSystem: (company: Company, id: SourceSystem): RecordKey<SourceSystemRecord> => recordKey('ss', company, id),
  sourceSystems: (company: Company): RecordRange<SourceSystemRecord> => keysUnder(recordKey('ss', company)),
  allSourceSystems: (): RecordRange<SourceSystemRecord> => keysUnder('ss'),
  sourceSystemName: (company: Company, name: string): RecordKey<NameRecord<SourceSystemId>> =>
    recordKey('sn', company, name),
  allSourceSystemNames: (): RecordRange<NameRecord<SourceSystemId>> => keysUnder('sn'),
  /** `mac`: HMAC of company and key, hex. */
  apiKey: (mac: string): RecordKey<ApiKeyRecord> => recordKey('sk', mac),
  apiKeys: (): RecordRange<ApiKeyRecord> => keysUnder('sk'),
  /** When a source system was last used. */
  lastUse: (company: Company, system: SourceSystem): RecordKey<LastUseRecord> => recordKey('lu', company, system),
  lastUses: (company: Company): RecordRange<LastUseRecord> => keysUnder(recordKey('lu', company)),
  allLastUses: (): RecordRange<LastUseRecord> => keysUnder('lu'),
  audit: (kind: AuditKind, company: Company, id: string): RecordKey<AuditRecord> => recordKey('au', kind, company, id),
  auditOf: (kind: AuditKind, company: Company): RecordRange<AuditRecord> => keysUnder(recordKey('au', kind, company)),
  allAudit: (): RecordRange<AuditRecord> => keysUnder('au'),
  /** Counter. */
  auditCount: (kind: AuditKind, company: Company): Key => recordKey('at', kind, company),
  auditCounts: (): Range => keysUnder('at'),
  // -- categories and subcategories, which are categories with a parent
  category: (company: Company, id: Category): RecordKey<CategoryRecord> => recordKey('ca', company, id),
  allCategories: (): RecordRange<CategoryRecord> => keysUnder('ca'),
  // `parent`: of a subcategory.
  categoryName: (company: Company, parent: Category | undefined, name: string): RecordKey<NameRecord<CategoryId>> =>
    recordKey('cn', company, parent ?? NO_PARENT, comparedName(name)),
  allCategoryNames: (): RecordRange<NameRecord<CategoryId>> => keysUnder('cn'),
  categoryIn: (company: Company, parent: Category | undefined, id: Category): Key =>
    recordKey('cl', company, parent ?? NO_PARENT, id),
  /** The subcategories of a category. */
  categoriesIn: (company: Company, parent: Category): Range => keysUnder(recordKey('cl', company, parent)),
  /** All categories and subcategories of a company. */
  categoriesOf: (company: Company): Range => keysUnder(recordKey('cl', company)),
  allCategoryListings: (): Range => keysUnder('cl'),
  /** Counter. */
  categoryCount: (company: Company, parent: Category | undefined): Key => recordKey('cc', company, parent ?? NO_PARENT),
  categoryCountsOf: (company: Company): Range => keysUnder(recordKey('cc', company)),
  categoryCounts: (): Range => keysUnder('cc'),
  // -- evidences
  /** The records of a company are also its list, by id. */
  evidence: (company: Company, id: Evidence): RecordKey<EvidenceRecord> => recordKey('ev', company, id),
  evidencesOf: (company: Company): RecordRange<EvidenceRecord> => keysUnder(recordKey('ev', company)),
  evidences: (): RecordRange<EvidenceRecord> => keysUnder('ev'),
  /**
   * Holds the company of an evidence. The public endpoints look an id up over all companies, and beside one that is not
   * there: no counter may come before this family, because LevelDB would step through all of its versions.
   */
  companyOf: (id: Evidence): Key => recordKey('ie', id),
  allCompaniesOf: (): Range => keysUnder('ie'),
  /** Holds the evidence's id. */
  externalId: (company: Company, externalId: string): Key => searchPrefix(recordKey('ex', company), externalId),
  externalIdsBeginningWith: (company: Company, beginning: string): Range =>
    keysBeginningWith(recordKey('ex', company), beginning),
  allExternalIds: (): Range => keysUnder('ex'),
  /**
   * Holds the evidence's company. The public endpoints look an external id up over all companies. Each company has at
   * most one entry for it, and the oldest comes first. No counter may come before this family: see `companyOf`.
   */
  publicId: (externalId: string, id: Evidence): Key => recordKey('ep', hashOfExternalId(externalId), id),
  publicIds: (externalId: string): Range => keysUnder(recordKey('ep', hashOfExternalId(externalId))),
  allPublicIds: (): Range => keysUnder('ep'),
  evidenceIn: (listing: Listing, id: Evidence): Key => recordKey('el', ...listing, id),
  evidencesIn: (listing: Listing): Range => keysUnder(recordKey('el', ...listing)),
  allEvidenceListings: (): Range => keysUnder('el'),
  /** Counter. */
  evidenceCount: (list: CountedEvidences): Key => recordKey('ec', ...list),
  evidenceCounts: (): Range => keysUnder('ec'),
  /** The record that holds an event. Version 1 is in the record of its evidence. */
  event: (company: Company, evidence: Evidence, version: number): RecordKey<EvidenceRecord | EventRecord> =>
    version === 1 ? keys.evidence(company, evidence) : laterEventKey(company, evidence, version),
  /** Events from version 2. */
  laterEvents: (): RecordRange<EventRecord> => keysUnder('vh'),
  laterEventsOf: (company: Company, evidence: Evidence): RecordRange<EventRecord> =>
    keysUnder(recordKey('vh', company, evidence)),
  // Indexes for searching: each key ends with the evidence's id and has an empty value.
  /** `owner`: as `hashOfOwner` returns it. */
  ownerIndex: (company: Company, owner: string, id: Evidence): Key => recordKey('ow', company, owner, id),
  ownedBy: (company: Company, owner: string): Range => keysUnder(recordKey('ow', company, owner)),
  allOwnerIndex: (): Range => keysUnder('ow'),
  /** `word`: as `searchWords` returns it. */
  wordIndex: (company: Company, word: string, id: Evidence): Key => searchableKey(recordKey('wo', company), word, id),
  wordsBeginningWith: (company: Company, beginning: string): Range =>
    keysBeginningWith(recordKey('wo', company), beginning),
  allWordIndex: (): Range => keysUnder('wo'),
  /** By the time of the last event, ms since 1970. Evidences with one event have no entry: their ids have its time. */
  updateIndex: (company: Company, lastAt: number, id: Evidence): Key => recordKey('up', company, lastAt, id),
  updatesOf: (company: Company): Range => keysUnder(recordKey('up', company)),
  allUpdateIndex: (): Range => keysUnder('up'),
  // -- shares
  share: (id: Share): RecordKey<ShareRecord> => recordKey('ln', id),
  shares: (): RecordRange<ShareRecord> => keysUnder('ln'),
  shareOf: (company: Company, evidence: Evidence, id: Share): Key => recordKey('le', company, evidence, id),
  sharesOf: (company: Company, evidence: Evidence): Range => keysUnder(recordKey('le', company, evidence)),
  allShareListings: (): Range => keysUnder('le'),
  /** Counter. */
  shareCount: (company: Company, evidence: Evidence): Key => recordKey('lc', company, evidence),
  shareCounts: (): Range => keysUnder('lc'),
  /** When a share was last opened. */
  shareUse: (company: Company, id: Share): RecordKey<LastUseRecord> => recordKey('lv', company, id),
  allShareUses: (): RecordRange<LastUseRecord> => keysUnder('lv'),
  // -- erasures
  erasure: (company: Company, evidence: Evidence, id: Erasure): RecordKey<ErasureRecord> =>
    recordKey('er', company, evidence, id),
  erasuresOf: (company: Company, evidence: Evidence): RecordRange<ErasureRecord> =>
    keysUnder(recordKey('er', company, evidence)),
  allErasures: (): RecordRange<ErasureRecord> => keysUnder('er'),
  /** Holds the id of the evidence. */
  erasureIn: (company: Company, id: Erasure): Key => recordKey('es', company, id),
  erasuresIn: (company: Company): Range => keysUnder(recordKey('es', company)),
  allErasureListings: (): Range => keysUnder('es'),
  subjectErasure: (company: Company, id: Erasure): RecordKey<SubjectErasureRecord> => recordKey('ej', company, id),
  subjectErasuresOf: (company: Company): RecordRange<SubjectErasureRecord> => keysUnder(recordKey('ej', company)),
  allSubjectErasures: (): RecordRange<SubjectErasureRecord> => keysUnder('ej'),
  /** Holds the subject of an erasure until that is done. So these are the erasures of subjects that are not done. */
  subject: (company: Company, id: Erasure): Key => recordKey('eu', company, id),
  subjectsOf: (company: Company): Range => keysUnder(recordKey('eu', company)),
  allSubjects: (): Range => keysUnder('eu'),
  /** A value that the erasure of a subject has found: `field` of an event. */
  found: (company: Company, erasure: Erasure, evidence: Evidence, version: number, field: string): Key =>
    recordKey('ef', company, erasure, evidence, version, field),
  foundBy: (company: Company, erasure: Erasure): Range => keysUnder(recordKey('ef', company, erasure)),
  allFound: (): Range => keysUnder('ef'),
  // -- files
  file: (id: File): RecordKey<FileRecord | DeletedFileRecord> => recordKey('fi', id),
  files: (): RecordRange<FileRecord | DeletedFileRecord> => keysUnder('fi'),
  /** Files by owner: an evidence or a category. */
  fileOf: (company: Company, owner: Evidence | Category, id: File): Key => recordKey('fo', company, owner, id),
  filesOf: (company: Company, owner: Evidence | Category): Range => keysUnder(recordKey('fo', company, owner)),
  allFileListings: (): Range => keysUnder('fo'),
  /** Counter: of all files of a company, or of an owner. */
  fileCount: (company: Company, owner?: Evidence | Category): Key =>
    recordKey('fc', company, ...(owner === undefined ? [] : [owner])),
  fileCounts: (): Range => keysUnder('fc'),
  /** A blob whose upload has begun and that no record uses yet. */
  blobIntent: (blob: File): RecordKey<UploadIntentRecord> => recordKey('bi', blob),
  blobIntents: (): RecordRange<UploadIntentRecord> => keysUnder('bi'),
  /** A blob whose bytes are to be deleted. */
  pendingDeletion: (blob: File): RecordKey<PendingDeletionRecord> => recordKey('bd', blob),
  pendingDeletions: (): RecordRange<PendingDeletionRecord> => keysUnder('bd'),
  /** A deleted file, or a category that was removed with its files, whose old values are still on disk. */
  pendingErasure: (id: string): RecordKey<PendingErasureRecord> => recordKey('pe', id),
  pendingErasures: (): RecordRange<PendingErasureRecord> => keysUnder('pe'),
  /** `use`: a keyed hash of the caller, the call and its idempotency key. */
  idempotency: (company: Company, use: string): RecordKey<IdempotencyRecord> => recordKey('ik', company, use),
  allIdempotency: (): RecordRange<IdempotencyRecord> => keysUnder('ik'),
  /** By expiry time, for the sweep. Holds the key of the record that expires. */
  idempotencyExpiry: (expires: number, record: Key): RecordKey<IdempotencyExpiryRecord> =>
    recordKey('it', expires, toHex(sha256(encodeUtf8(record)))),
  idempotencyExpired: (before: number): RecordRange<IdempotencyExpiryRecord> => ({
    gte: 'it/',
    lt: recordKey('it', before),
  }),
  idempotencyExpiries: (): RecordRange<IdempotencyExpiryRecord> => keysUnder('it'),
} as const

/** The company in a key whose first part it is. Keys contain its id as it is. */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- keys contain ids as they are
export const companyIn = (key: Key): CompanyId => firstPartOfKey(key) as CompanyId

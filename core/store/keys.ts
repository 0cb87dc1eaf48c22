import { encodeUtf8, sha256, toHex } from '../bytes.ts'
import type { Key, Range } from '../ports/index.ts'
import { keysBeginningWith, keysUnder, onlyKey, recordKey, searchableKey } from './key.ts'

/** A list of evidences that is stored: of a company, of a subcategory, of the stolen ones of a company. */
export type Listing =
  | readonly [kind: 'company' | 'stolen', company: string]
  | readonly [kind: 'category', category: string, subcategory: string]
/** The evidences that a counter counts. Those of a category are in the listings of its subcategories. */
export type CountedEvidences = Listing | readonly [kind: 'category', category: string]

/** What an audit trail consists of: changes of source systems, and uses of keys. Each has its own limit. */
export type AuditKind = 'change' | 'access'

/**
 * Keys of the registry's own records. Those of the log are in `core/log/keys.ts`, the encoding in `core/store/key.ts`.
 */
export const keys = {
  // -- the registry itself
  operator: (): Key => 'op',
  /** Present while the store is being filled from another one. Until then no registry opens it. */
  filling: (): Key => 'mg',
  // -- companies and source systems
  company: (company: string): Key => recordKey('co', company),
  companies: (): Range => keysUnder('co'),
  sourceSystem: (company: string, id: string): Key => recordKey('ss', company, id),
  sourceSystems: (company: string): Range => keysUnder(recordKey('ss', company)),
  allSourceSystems: (): Range => keysUnder('ss'),
  sourceSystemName: (company: string, name: string): Key => recordKey('sn', company, name),
  allSourceSystemNames: (): Range => keysUnder('sn'),
  /** `mac`: HMAC of company and key, hex. */
  apiKey: (mac: string): Key => recordKey('sk', mac),
  apiKeys: (): Range => keysUnder('sk'),
  /** When a source system was last used. */
  lastUse: (company: string, system: string): Key => recordKey('lu', company, system),
  lastUses: (company: string): Range => keysUnder(recordKey('lu', company)),
  allLastUses: (): Range => keysUnder('lu'),
  audit: (kind: AuditKind, company: string, id: string): Key => recordKey('au', kind, company, id),
  auditOf: (kind: AuditKind, company: string): Range => keysUnder(recordKey('au', kind, company)),
  allAudit: (): Range => keysUnder('au'),
  /** Counter. */
  auditCount: (kind: AuditKind, company: string): Key => recordKey('at', kind, company),
  auditCounts: (): Range => keysUnder('at'),
  // -- categories and subcategories, which are categories with a parent
  category: (company: string, id: string): Key => recordKey('ca', company, id),
  allCategories: (): Range => keysUnder('ca'),
  // `parent`: of a subcategory.
  categoryName: (company: string, parent: string | undefined, name: string): Key =>
    recordKey('cn', company, parent ?? '', name),
  allCategoryNames: (): Range => keysUnder('cn'),
  categoryIn: (company: string, parent: string | undefined, id: string): Key =>
    recordKey('cl', company, parent ?? '', id),
  /** The subcategories of a category. */
  categoriesIn: (company: string, parent: string): Range => keysUnder(recordKey('cl', company, parent)),
  /** All categories and subcategories of a company. */
  categoriesOf: (company: string): Range => keysUnder(recordKey('cl', company)),
  allCategoryListings: (): Range => keysUnder('cl'),
  /** Counter. */
  categoryCount: (company: string, parent: string | undefined): Key => recordKey('cc', company, parent ?? ''),
  categoryCounts: (): Range => keysUnder('cc'),
  // -- evidences
  evidence: (id: string): Key => recordKey('ev', id),
  evidences: (): Range => keysUnder('ev'),
  /** Holds the evidence's id. The public endpoints look an external id up over all companies. */
  externalId: (externalId: string, company: string): Key => recordKey('ex', externalId, company),
  externalIds: (externalId: string): Range => keysUnder(recordKey('ex', externalId)),
  allExternalIds: (): Range => keysUnder('ex'),
  /** Lists by id. The value of an entry in the list of a company is a `ListedEvidence`. */
  evidenceIn: (listing: Listing, id: string): Key => recordKey('el', ...listing, id),
  evidencesIn: (listing: Listing): Range => keysUnder(recordKey('el', ...listing)),
  allEvidenceListings: (): Range => keysUnder('el'),
  /** Counter. */
  evidenceCount: (list: CountedEvidences): Key => recordKey('ec', ...list),
  evidenceCounts: (): Range => keysUnder('ec'),
  /** The record that holds an event. Version 1 is in the record of its evidence. */
  event: (evidence: string, version: number): Key =>
    version === 1 ? keys.evidence(evidence) : recordKey('vh', evidence, version),
  /** Events from version 2. */
  laterEvents: (): Range => keysUnder('vh'),
  // Indexes for searching: each key ends with the evidence's id and has an empty value.
  externalIdIndex: (company: string, externalId: string, id: string): Key =>
    searchableKey(recordKey('xp', company), externalId, id),
  externalIdsBeginningWith: (company: string, beginning: string): Range =>
    keysBeginningWith(recordKey('xp', company), beginning),
  allExternalIdIndex: (): Range => keysUnder('xp'),
  /** `owner`: with folded case. */
  ownerIndex: (company: string, owner: string, id: string): Key => recordKey('ow', company, owner, id),
  ownedBy: (company: string, owner: string): Range => keysUnder(recordKey('ow', company, owner)),
  allOwnerIndex: (): Range => keysUnder('ow'),
  /** By the time of the last event, ms since 1970. */
  updateIndex: (company: string, lastAt: number, id: string): Key => recordKey('up', company, lastAt, id),
  updatesOf: (company: string): Range => keysUnder(recordKey('up', company)),
  allUpdateIndex: (): Range => keysUnder('up'),
  // -- files
  file: (id: string): Key => recordKey('fi', id),
  files: (): Range => keysUnder('fi'),
  /** Files by owner: an evidence or a category. */
  fileOf: (owner: string, id: string): Key => recordKey('fo', owner, id),
  filesOf: (owner: string): Range => keysUnder(recordKey('fo', owner)),
  allFileListings: (): Range => keysUnder('fo'),
  /** A blob whose upload has begun and that no record uses yet. */
  blobIntent: (blob: string): Key => recordKey('bi', blob),
  blobIntents: (): Range => keysUnder('bi'),
  /** A blob whose bytes are to be deleted. */
  pendingDeletion: (blob: string): Key => recordKey('bd', blob),
  pendingDeletions: (): Range => keysUnder('bd'),
  /** A deleted file, or a category that was removed with its files, whose old values are still on disk. */
  pendingErasure: (id: string): Key => recordKey('pe', id),
  pendingErasures: (): Range => keysUnder('pe'),
  // -- idempotency
  idempotency: (company: string, actor: string, route: string, idempotencyKey: string): Key =>
    recordKey('ik', company, actor, route, idempotencyKey),
  allIdempotency: (): Range => keysUnder('ik'),
  /** By expiry time, for the sweep. Holds the key of the record that expires. */
  idempotencyExpiry: (expires: number, record: Key): Key => recordKey('it', expires, toHex(sha256(encodeUtf8(record)))),
  idempotencyExpired: (before: number): Range => ({ gte: 'it/', lt: recordKey('it', before) }),
  idempotencyExpiries: (): Range => keysUnder('it'),
} as const

/** Ranges that together contain every key of a complete registry, one per family, without those of the log. */
export const registryKeyRanges: readonly Range[] = [
  onlyKey(keys.operator()),
  keys.companies(),
  keys.allSourceSystems(),
  keys.allSourceSystemNames(),
  keys.apiKeys(),
  keys.allLastUses(),
  keys.allAudit(),
  keys.auditCounts(),
  keys.allCategories(),
  keys.allCategoryNames(),
  keys.allCategoryListings(),
  keys.categoryCounts(),
  keys.evidences(),
  keys.allExternalIds(),
  keys.allEvidenceListings(),
  keys.evidenceCounts(),
  keys.laterEvents(),
  keys.allExternalIdIndex(),
  keys.allOwnerIndex(),
  keys.allUpdateIndex(),
  keys.files(),
  keys.allFileListings(),
  keys.blobIntents(),
  keys.pendingDeletions(),
  keys.pendingErasures(),
  keys.allIdempotency(),
  keys.idempotencyExpiries(),
]

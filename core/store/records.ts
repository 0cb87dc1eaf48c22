import type { SubjectErasure } from '../api/erasures.ts'
import type {
  CategoryId,
  CompanyId,
  ErasureId,
  EvidenceId,
  FileId,
  PermissionLevel,
  ShareId,
  SourceSystemId,
  TxId,
} from '../api/scope.ts'
import type { AuditedAccess, AuditedShare } from '../api/source-systems.ts'
import type { Json } from '../commitment/canonical-json.ts'
import type { AttachedFile, EventFile } from '../commitment/event-format.ts'
import type { ErasedOfEvent, ErasureReason } from '../commitment/receipt.ts'

/** The records that the registry stores as JSON. Times are ms since 1970, hashes are lowercase hex. */

export interface CompanyRecord {
  readonly createdAt: number
  /** Entries that the log had before the company: none is one of its events. */
  readonly logSize: number
}

/** Under a unique name: the id of the entity that has it. */
export interface NameRecord<Id extends string = string> {
  readonly id: Id
}

export interface BlobStoreRecord {
  readonly id: string
}

export interface OperatorRecord {
  /** HMAC of the operator key, hex. */
  readonly mac: string
}

export interface SourceSystemRecord {
  readonly id: SourceSystemId
  readonly name: string
  readonly permissions: PermissionLevel
  readonly active: boolean
  readonly createdAt: number
  /** HMAC of company and API key, hex. The key's `ApiKeyRecord` is stored under it. */
  readonly mac: string
  /** From then on no key of it works. */
  readonly expiresAt?: number
  /** Keys that were replaced and still work for some time. An ended one stays until the next change. */
  readonly replacedKeys?: readonly ReplacedKey[]
}

export interface ReplacedKey {
  /** As `SourceSystemRecord.mac`. */
  readonly mac: string
  /** From then on it does not work. */
  readonly endsAt: number
}

/** Everything that authentication needs, so that it takes a single look-up. */
export interface ApiKeyRecord {
  readonly company: CompanyId
  readonly systemId: SourceSystemId
  readonly permissions: PermissionLevel
  readonly active: boolean
  /** From then on it does not work. */
  readonly expiresAt?: number
  /** Another key has replaced it. */
  readonly isReplaced?: true
}

export interface LastUseRecord {
  /** To the minute. */
  readonly at: number
}

/** One entry of a company's audit trail. Never contains a key or its HMAC. */
export type AuditRecord = AuditChangeRecord | AuditShareRecord | AuditAccessRecord

interface AuditRecordBase {
  readonly id: string
  readonly at: number
}

/** What a source system was changed to. */
export interface AuditedValues {
  readonly name?: string
  readonly permissions?: PermissionLevel
  readonly active?: boolean
  readonly expiresAt?: number
  readonly clear?: 'expiresAt'[]
}

/** A source system was created, changed, or got another key. */
export interface AuditChangeRecord extends AuditRecordBase {
  readonly type: 'created' | 'changed' | 'rotated'
  /** Who did it: the id of a source system, or `operator`. */
  readonly actor: string
  readonly systemId: SourceSystemId
  /** Of `created` and `changed`. */
  readonly values?: AuditedValues
  /** Of `rotated`: until when the replaced key works, if it still does. */
  readonly replacedKeyEndsAt?: number
}

export type AuditShareRecord = AuditRecordBase & AuditedShare

/** Equal ones of about a minute are one entry. */
export type AuditAccessRecord = AuditRecordBase & AuditedAccess & { readonly count: number }

/** A category, or a subcategory. */
export interface CategoryRecord {
  readonly id: CategoryId
  /** Of a subcategory: its category. It never changes. */
  readonly parentId?: CategoryId
  readonly name: string
  readonly status: 'active' | 'inactive'
  /** Counts its own changes: its values and its files, not the evidences and subcategories in it. 1: the creation. */
  readonly version: number
  readonly createdAt: number
  readonly description?: string
  readonly imageId?: FileId
  /** Of a category: anyone may ask whether an evidence in it is reported stolen. */
  readonly publicStatus?: true
}

/** The current state of an evidence: what its events up to `lastVersion` lead to. */
export interface EvidenceRecord {
  readonly id: EvidenceId
  readonly company: CompanyId
  readonly externalId: string
  readonly categoryId: CategoryId
  readonly subcategoryId: CategoryId
  readonly createdAt: number
  readonly name: string
  readonly stolen: boolean
  /** Of a stolen one: when it was reported, ms since 1970. A repeated report does not change it. */
  readonly stolenAt?: number | undefined
  readonly description?: string | undefined
  readonly summary?: string | undefined
  readonly owner?: string | undefined
  readonly meta?: { readonly [name: string]: Json } | undefined
  readonly image?: { readonly id: FileId; readonly mimeType: string; readonly size: number } | undefined
  /** Of the create event. */
  readonly txId: TxId
  /** The position of the create event in the log. */
  readonly position: number
  readonly lastVersion: number
  readonly lastTxId: TxId
  /** The position of the last event in the log. */
  readonly lastPosition: number
  readonly lastAt: number
  readonly changes: { readonly create: number; readonly update: number; readonly transfer: number }
  /** 32 random bytes, base64. From it and the version follow the slots of the evidence's events. */
  readonly slotKey: string
  readonly fileCount: number
  /** The current values that were erased, and when. A later event that sets such a value removes it from here. */
  readonly erased?: Readonly<Record<string, number>> | undefined
  /** The create event. `core/store/evidence.ts` reads and writes it. */
  readonly first: FirstEventRecord
}

/** The part of an evidence's create event that does not follow from the rest of the evidence's record. */
export interface FirstEventRecord {
  readonly salts: EventSalts
  /** The fields whose value in the record is another one; `null` for a field that the event does not have. */
  readonly fields: Readonly<Record<string, Json>>
  /** Absent if there are none. */
  readonly files?: Readonly<Record<string, EventFile>> | undefined
  readonly erased?: ErasedHashes | undefined
}

/** The salts of an event: a seed in base64 from which all derive or, after an erasure, the ones that are left. */
type EventSalts = string | RemainingSalts

export interface RemainingSalts {
  readonly filesSalt: string
  readonly fields: Readonly<Record<string, string>>
  readonly files: Readonly<Record<string, string>>
}

/** The hashes of erased fields and files, so that the header and the files text can still be recomputed. */
export interface ErasedHashes {
  readonly fields: Readonly<Record<string, string>>
  readonly files: Readonly<Record<string, string>>
  /** When an erasure removed them, by the name of the field or the id of the file. Deleted files are not among them. */
  readonly at?: Readonly<Record<string, number>>
}

/** An event. The first one of an evidence is stored in the evidence's record, the others have records of their own. */
export interface EventRecord {
  readonly version: number
  readonly time: number
  readonly txId: TxId
  /** Its position in the log. */
  readonly position: number
  readonly first: string | null
  readonly prev: string | null
  readonly type: 'create' | 'update' | 'transfer'
  readonly updateType?: 'stolen' | 'repair' | 'custom' | 'change' | 'addfile' | 'deletefile'
  /** The owner at that time. This event set it only if `fields` contains it. */
  readonly ownerName: string
  /** The values of the committed fields that are not erased. */
  readonly fields: Readonly<Record<string, Json>>
  readonly files: Readonly<Record<string, EventFile>>
  readonly salts: EventSalts
  readonly erased?: ErasedHashes
}

/** The entity that a file belongs to. The owner of a subcategory's file is a `category`. */
export type FileOwner = {
  readonly company: CompanyId
  /** Version of the event that attached the file, 0 for files of categories. */
  readonly version: number
} & (
  | { readonly ownerKind: 'evidence'; readonly ownerId: EvidenceId }
  | { readonly ownerKind: 'category'; readonly ownerId: CategoryId }
)

export type FileRecord = AttachedFile &
  FileOwner & {
    readonly id: FileId
    readonly title: string
    /** The bytes of a small file, in base64. The blob store has those of the others. */
    readonly content?: string
  }

/** What is left of a deleted or erased file of an evidence: which event attached it, and which one deleted it. */
export interface DeletedFileRecord {
  readonly id: FileId
  readonly company: CompanyId
  readonly ownerKind: 'evidence'
  readonly ownerId: EvidenceId
  readonly version: number
  readonly deletion: { readonly version?: number }
}

/** A link that discloses a part of an evidence. */
export interface ShareRecord {
  readonly id: ShareId
  readonly kind: 'link' | 'certificate'
  readonly company: CompanyId
  readonly evidence: EvidenceId
  /** SHA-256 of the secret, hex. The secret has 128 random bits, so it cannot be guessed from it. */
  readonly secretHash: string
  readonly fields: readonly string[]
  readonly files: readonly FileId[] | 'all'
  /** Of the evidence, up to which values and files are disclosed. */
  readonly version: number
  /** Who made it: the id of a source system, or `operator`. */
  readonly actor: string
  readonly createdAt: number
  /** From then on it opens nothing. */
  readonly expiresAt?: number
  readonly endedAt?: number
}

/** An erasure of an evidence, with the receipt that is in the log. */
export interface ErasureRecord {
  readonly id: ErasureId
  readonly at: number
  readonly evidence: EvidenceId
  readonly reason: ErasureReason
  /** For the company alone. */
  readonly note?: string
  /** Who erased: the id of a source system, or `operator`. */
  readonly by: string
  /** Of the receipt: 32 bytes, hex. */
  readonly salt: string
  /** J of the receipt. */
  readonly text: string
  /** The log entry of the receipt, hex. */
  readonly txId: TxId
  /** By ascending version. */
  readonly erased: readonly (ErasedOfEvent & { readonly version: number })[]
}

/** The erasure of a subject, and how far it is. The subject is in an entry of its own. */
export interface SubjectErasureRecord extends Omit<SubjectErasure, 'kind' | 'createdAt' | 'doneAt'> {
  readonly createdAt: number
  /** The server that works on it, and when it took the last step, by its clock. */
  readonly holder?: string
  readonly heldAt?: number
  /** The evidence that it looked at last. It looks at them by ascending id. */
  readonly cursor?: EvidenceId
}

export interface IdempotencyRecord {
  /** HMAC of the request's fingerprint, hex. */
  readonly fingerprint: string
  /** What the first call returned. */
  readonly answer: Json
  readonly expires: number
}

export interface IdempotencyExpiryRecord {
  /** Key of the idempotency record that expires. */
  readonly key: string
}

/** Of deleted files and erased text: what the files of the store still hold of it. */
export interface PendingErasureRecord {
  /** When it was deleted. */
  readonly at: number
  /** The keys whose old values are still on disk. */
  readonly keys: readonly string[]
  /** Some of the keys contain text that was erased, so the old values of this record go, too, and then the keys. */
  readonly hasText?: true
}

/** Of a pending deletion. */
export interface PendingDeletionRecord {
  /** When it was written. */
  readonly at: number
}

export interface UploadIntentRecord {
  /** When it was written. */
  readonly at: number
  /** The process that wrote it: see `beginUpload`. */
  readonly opening: string
}

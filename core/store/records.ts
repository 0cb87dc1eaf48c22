import { decodeUtf8 } from '../bytes.ts'
import type { Json } from '../commitment/canonical-json.ts'
import type { AttachedFile } from '../commitment/event-format.ts'
import type { PermissionLevel } from '../registry/permissions.ts'

/** What the registry stores, as JSON. Times are ms since 1970, hashes and keys lowercase hex. */

/** A record that this registry wrote. */
export const decodeRecord = <T>(bytes: Uint8Array): T => JSON.parse(decodeUtf8(bytes)) as T

export interface SourceSystemRecord {
  readonly id: string
  readonly name: string
  readonly permissions: PermissionLevel
  readonly active: boolean
  readonly createdAt: number
  /** HMAC of company and key: where the key's own record is. */
  readonly mac: string
}

/** All that a look-up by key needs, so that it is one look-up. */
export interface ApiKeyRecord {
  readonly systemId: string
  readonly permissions: PermissionLevel
  readonly active: boolean
}

export type CategoryState = 'active' | 'inactive'

export interface CategoryRecord {
  readonly id: string
  readonly name: string
  readonly status: CategoryState
  readonly createdAt: number
  readonly description?: string
  readonly imageId?: string
}

export interface SubcategoryRecord extends CategoryRecord {
  readonly categoryId: string
}

export interface EvidenceRecord {
  readonly id: string
  readonly company: string
  readonly externalId: string
  readonly categoryId: string
  readonly subcategoryId: string
  readonly createdAt: number
  readonly name: string
  readonly stolen: boolean
  readonly description?: string
  readonly summary?: string
  readonly owner?: string
  readonly meta?: { readonly [name: string]: Json }
  readonly image?: { readonly id: string; readonly mimeType: string }
  /** Of the create event. */
  readonly txId: string
  readonly lastVersion: number
  readonly lastTxId: string
  readonly lastAt: number
  readonly changes: { readonly create: number; readonly update: number; readonly transfer: number }
  readonly slotKey: string
  readonly fileCount: number
}

/** A file in an event's commitment: attached, or by a deletefile event deleted. */
export type EventFile = AttachedFile | DeletedFile

export interface DeletedFile {
  readonly id: string
  /** txId of the event that attached it. */
  readonly deleted: string
}

/** What is left to open an event with: a seed from which all salts are cut, or, after an erasure, the salts that remain. */
export type EventSalts = { readonly seed: string } | RemainingSalts

export interface RemainingSalts {
  readonly filesSalt: string
  readonly fields: Readonly<Record<string, string>>
  readonly files: Readonly<Record<string, string>>
}

export interface EventRecord {
  readonly version: number
  readonly time: number
  readonly txId: string
  readonly first: string | null
  readonly prev: string | null
  readonly type: 'create' | 'update' | 'transfer'
  readonly updateType?: string
  /** The owner at that time; set by this event only where `fields` holds it. */
  readonly ownerName: string
  /** The values of the committed fields that are not erased. */
  readonly fields: Readonly<Record<string, Json>>
  readonly files: Readonly<Record<string, EventFile>>
  readonly salts: EventSalts
  /** Hashes of what was erased, so that header and files still open. */
  readonly erased?: {
    readonly fields: Readonly<Record<string, string>>
    readonly files: Readonly<Record<string, string>>
  }
}

export type FileOwner = 'evidence' | 'category' | 'subcategory'

export interface FileRecord extends AttachedFile {
  readonly company: string
  readonly ownerKind: FileOwner
  readonly ownerId: string
  /** Version of the event that attached it, 0 for files of categories. */
  readonly version: number
  readonly title: string
}

/** What stays of a deleted file of an evidence: that it was, and which events say so. */
export interface DeletedFileRecord {
  readonly id: string
  readonly company: string
  readonly ownerKind: 'evidence'
  readonly ownerId: string
  readonly version: number
  readonly deletion: { readonly version: number }
}

export interface IdempotencyRecord {
  readonly fingerprint: string
  readonly answer: Json
  readonly expires: number
}

/** Why a blob's bytes are, or are not yet, needed. */
export interface BlobRecord {
  readonly at: number
}

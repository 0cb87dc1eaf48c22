import { timingSafeEqual } from 'node:crypto'
import type { CompanyId, Principal } from '../../api/scope.ts'
import type { KeyRejection, Credentials } from '../../api/source-systems.ts'
import { fromHex, hmacSha256, toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import type { Clock, Key, RecordStore, Version } from '../../ports/index.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { keys, type StoredRecord } from '../../store/keys.ts'
import { decodeRecord } from '../../store/codec.ts'
import { putRecord } from '../../store/entries.ts'
import { readAll } from '../../store/read.ts'
import type { ApiKeyRecord, OperatorRecord } from '../../store/records.ts'
import { invalidInput } from '../../schemas/validation.ts'
import type { AuditLog } from './audit.ts'
import type { LastUses } from '../last-uses.ts'

const MIN_OPERATOR_KEY_LENGTH = 16
/** About 300 bytes each. */
const MAX_CACHED_KEYS = 4_096
const MAX_ADDRESS_LENGTH = 64

/** What each authentication is noted in, and the clock by which keys expire. */
export interface AuthenticationNotes {
  readonly clock: Clock
  readonly lastUses: LastUses
  readonly auditLog: AuditLog
}

/** The record of a key in one version. */
interface CachedKey {
  readonly version: Version
  readonly record: ApiKeyRecord
  /** The operator key that this key was compared with, and is not. */
  otherThan: Uint8Array | undefined
}

/** API keys and the operator key. They are stored only as HMACs, and found by them. */
export class ApiKeys {
  readonly #records: RecordStore
  readonly #notes: AuthenticationNotes
  readonly #hmac: (text: string) => string
  readonly #cached = new BoundedMap<Key, CachedKey>(MAX_CACHED_KEYS)
  /** Where the record of a key is, by the text of its HMAC: only of keys that have a record, so no guess takes room. */
  readonly #keysByText = new BoundedMap<string, ReturnType<typeof keys.apiKey>>(MAX_CACHED_KEYS)
  #operatorMac: Uint8Array | undefined
  /** Version of the record that `#operatorMac` was read from. */
  #operatorVersion: Version | undefined

  constructor(records: RecordStore, hmacKey: Uint8Array, notes: AuthenticationNotes) {
    this.#records = records
    this.#notes = notes
    this.#hmac = hmacSha256(hmacKey)
  }

  /** Reads the HMAC of the operator key. Call it before anything else. */
  async load(): Promise<void> {
    const [operator] = await readAll(this.#records, [keys.operator()])
    this.#noteOperator(operator)
  }

  get hasOperatorKey(): boolean {
    return this.#operatorMac !== undefined
  }

  /** See `SourceSystems.setOperatorKey`. */
  async setOperatorKey(apiKey: string, onlyIfNone: boolean): Promise<boolean> {
    if (typeof apiKey !== 'string' || apiKey.length < MIN_OPERATOR_KEY_LENGTH)
      throw new RegistryError(
        'CONFIG_ERROR',
        `operatorKey must be a string of at least ${MIN_OPERATOR_KEY_LENGTH} characters`,
        { field: 'operatorKey' },
      )
    const mac = this.#macOfOperatorKey(apiKey)
    // Another process may have replaced the operator key.
    await this.load()
    if (this.#operatorMac !== undefined && timingSafeEqual(mac, this.#operatorMac)) return true
    const { ok } = await this.#records.commit({
      checks: onlyIfNone ? [{ key: keys.operator(), version: null }] : [],
      writes: [putRecord(keys.operator(), { mac: toHex(mac) })],
    })
    if (ok) this.#operatorMac = mac
    return ok
  }

  /** See `SourceSystems.authenticate`. */
  async authenticate({ companyId, apiKey, address }: Credentials): Promise<Principal | undefined> {
    // Every case does the same single look-up, so that its duration reveals nothing. It includes the operator's record,
    // because another process may have replaced the operator key.
    const text = macText(companyId, apiKey)
    const known = this.#keysByText.get(text)
    const key = known ?? keys.apiKey(this.#hmac(text))
    const [entry, operator] = await readAll(this.#records, [key, keys.operator()])
    if (entry === undefined) this.#keysByText.delete(text)
    else if (known === undefined) this.#keysByText.set(text, key)
    this.#noteOperator(operator)
    const cached = entry && this.#cachedKey(entry)
    if (this.#isOperators(cached, apiKey)) return { kind: 'operator' }
    const record = cached?.record
    const reason = rejectionOf(record, this.#notes.clock.now())
    if (record === undefined || reason !== undefined) {
      this.#noteRejected({ companyId, address }, reason ?? 'unknown', record)
      return undefined
    }
    this.#notes.lastUses.note(companyId, record.systemId)
    // The HMAC covers the company, so the key belongs to it.
    return {
      kind: 'sourceSystem',
      id: record.systemId,
      companyId: record.company,
      permissions: record.permissions,
    }
  }

  #noteRejected(
    { companyId, address }: { readonly companyId: string; readonly address: string | undefined },
    reason: KeyRejection,
    record: ApiKeyRecord | undefined,
  ): void {
    this.#notes.auditLog.note({
      companyId,
      type: 'rejected',
      reason,
      ...(record !== undefined && { systemId: record.systemId }),
      ...(address !== undefined && { address: address.slice(0, MAX_ADDRESS_LENGTH) }),
    })
  }

  /** Throws `KEY_EXISTS` if the key is used in this company, or is the operator key. */
  async assertUnused(companyId: CompanyId, apiKey: string): Promise<void> {
    // A source system with the operator key would be the operator.
    const [used] = this.#isOperatorKey(apiKey)
      ? [true]
      : await this.#records.get([keys.apiKey(this.macOf(companyId, apiKey))])
    if (used !== undefined)
      throw new RegistryError('KEY_EXISTS', 'apiKey is in use in this company: choose another key', { field: 'apiKey' })
  }

  /** HMAC of company and key, hex. */
  macOf(companyId: string, apiKey: string): string {
    return this.#hmac(macText(companyId, apiKey))
  }

  /** Each version of a record is decoded once. */
  #cachedKey(entry: StoredRecord<ApiKeyRecord>): CachedKey {
    const { key, version } = entry
    const before = this.#cached.get(key)
    if (before?.version === version) return before
    const cached = { version, record: decodeRecord(entry), otherThan: undefined }
    this.#cached.set(key, cached)
    return cached
  }

  /** A record is found by its key, so the comparison of one record need not be repeated. */
  #isOperators(cached: CachedKey | undefined, apiKey: string): boolean {
    if (cached !== undefined && cached.otherThan === this.#operatorMac) return false
    if (this.#isOperatorKey(apiKey)) return true
    if (cached !== undefined) cached.otherThan = this.#operatorMac
    return false
  }

  #isOperatorKey(apiKey: string): boolean {
    return this.#operatorMac !== undefined && timingSafeEqual(this.#macOfOperatorKey(apiKey), this.#operatorMac)
  }

  #macOfOperatorKey(apiKey: string): Uint8Array {
    return Buffer.from(this.#hmac(`\0operator\0${apiKey}`), 'hex')
  }

  #noteOperator(entry: StoredRecord<OperatorRecord> | undefined): void {
    if (entry !== undefined && entry.version === this.#operatorVersion) return
    this.#operatorMac = entry && fromHex(decodeRecord(entry).mac)
    this.#operatorVersion = entry?.version
  }
}

/** A company id contains no NUL, so two different pairs never give the same text. */
const macText = (companyId: string, apiKey: string): string => `${companyId}\0${apiKey}`

/** Why a key does not work at `now`, `undefined` if it does. */
function rejectionOf(record: ApiKeyRecord | undefined, now: number): KeyRejection | undefined {
  if (record === undefined) return 'unknown'
  if (!record.active) return 'inactive'
  if (record.expiresAt === undefined || record.expiresAt > now) return undefined
  return record.isReplaced === true ? 'replaced' : 'expired'
}

/**
 * Credentials that are not strings are a mistake in the caller's program, not a wrong key. Throws `VALIDATION_ERROR`.
 */
export function assertTexts(credentials: object, ...names: readonly string[]): void {
  for (const name of names)
    if (typeof Reflect.get(Object(credentials), name) !== 'string') throw invalidInput(name, 'must be a string')
}

import { createHmac } from 'node:crypto'
import type { WriteOptions } from '../api/scope.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import type { Check, Clock, Commit, RecordStore } from '../ports/index.ts'
import { invalidInput } from '../schemas/validation.ts'
import { decodeRecord } from '../store/codec.ts'
import { idempotencyEntries } from '../store/derived.ts'
import { derivedWrites, putRecord } from '../store/entries.ts'
import { keys, type RecordKey } from '../store/keys.ts'
import { readAll } from '../store/read.ts'
import type { IdempotencyRecord } from '../store/records.ts'
import type { AuthorizedScope } from './permissions.ts'

/** What idempotency keys are looked up and recorded with. */
export interface IdempotencyParts {
  readonly records: RecordStore
  readonly clock: Clock
  /** Keys the HMACs of calls and their inputs: these can contain secrets and personal texts that are easy to guess. */
  readonly fingerprintKey: Uint8Array
  /** The input without what may differ in a repeated call. */
  readonly comparable: (input: object) => object
}

const LIFETIME_MS = 24 * 60 * 60 * 1_000

/** The operations that accept an idempotency key. The names are stored, so they must not change. */
type IdempotentOperation =
  | 'createSourceSystem'
  | 'createCategory'
  | 'updateCategory'
  | 'createSubcategory'
  | 'updateSubcategory'
  | 'createEvidence'
  | 'createEvidences'
  | 'updateEvidence'
  | 'createShare'

/** A call that can be repeated with the same idempotency key. */
export interface Call {
  readonly scope: AuthorizedScope
  readonly options: WriteOptions
  readonly operation: IdempotentOperation
  /** Ids that name what the call works on, in the order of the path. */
  readonly ids?: readonly string[]
  /** The validated input. */
  readonly input: object
}

/** A call with an idempotency key. */
export interface IdempotentCall {
  /** Of its idempotency record. */
  readonly key: RecordKey<IdempotencyRecord>
  /** HMAC of the input, hex. */
  readonly fingerprint: string
}

/** `undefined` if the options hold no key. Throws `VALIDATION_ERROR` for a malformed key. */
export function idempotentCall(
  { fingerprintKey, comparable }: IdempotencyParts,
  { scope: { companyId, actor }, options: { idempotencyKey }, operation, ids = [], input }: Call,
): IdempotentCall | undefined {
  if (idempotencyKey === undefined) return undefined
  if (typeof idempotencyKey !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey))
    throw invalidInput('idempotencyKey', 'must be a string of 1 to 255 printable ASCII characters')
  const hash = (text: string): string => createHmac('sha256', fingerprintKey).update(text).digest('hex')
  // By way of JSON, so that a member that is `undefined` is the same as an absent one.
  const text = canonicalJson(JSON.parse(JSON.stringify(comparable(input))))
  return {
    // Ids and the key may contain the external id. A list is not the text of an input, which is an object.
    key: keys.idempotency(companyId, hash(canonicalJson([companyId, actor, operation, ids, idempotencyKey]))),
    fingerprint: hash(text),
  }
}

/** The key was used before: what the first call returned. */
interface Replay<T> {
  readonly result: T
}

/** The key was not used, or its record has expired: the check by which a commit makes sure that this is still so. */
interface FirstUse extends IdempotentCall {
  readonly check: Check
  /** The record that has expired. */
  readonly before: IdempotencyRecord | undefined
}

/** Looks an idempotency key up. Throws `IDEMPOTENCY_KEY_REUSED` if it was used with other input. */
export async function findUse<T>(
  { records, clock }: IdempotencyParts,
  { key, fingerprint }: IdempotentCall,
): Promise<Replay<T> | FirstUse> {
  const [entry] = await readAll(records, [key])
  const record = decodeRecord(entry)
  if (record === undefined || record.expires <= clock.now())
    return { key, fingerprint, check: { key, version: entry?.version ?? null }, before: record }
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the same operation returned it
  if (record.fingerprint === fingerprint) return { result: record.answer as T }
  throw new RegistryError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used with other input: use a new key for a new request',
  )
}

/**
 * If the decision throws, looks the idempotency key up again. The same call may have been sent twice at once, and the
 * other one may have succeeded in the meantime: then it is what this one failed on, for example an external id that
 * exists now.
 */
export async function decideOrReplay<T, D>(
  parts: IdempotencyParts,
  call: IdempotentCall,
  decide: () => Promise<D>,
): Promise<D | Replay<T>> {
  try {
    return await decide()
  } catch (error) {
    const use = await findUse<T>(parts, call)
    if ('result' in use) return use
    throw error
  }
}

/** The commit with the record that lets a repeated call return `answer`. */
export function withIdempotency(
  commit: Commit,
  { key, check, fingerprint, before }: FirstUse,
  { answer, now }: { readonly answer: Json; readonly now: number },
): Commit {
  const record: IdempotencyRecord = { fingerprint, answer, expires: now + LIFETIME_MS }
  return {
    ...commit,
    checks: [...(commit.checks ?? []), check],
    writes: [
      ...(commit.writes ?? []),
      putRecord(key, record),
      ...derivedWrites(before === undefined ? [] : idempotencyEntries(key, before), idempotencyEntries(key, record)),
    ],
  }
}

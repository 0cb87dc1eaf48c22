import { createHmac } from 'node:crypto'
import type { StagedFile } from '../api/files.ts'
import type { WriteOptions } from '../api/writes.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import type { Check, Commit, Key } from '../ports/index.ts'
import { derivedWrites, idempotencyEntries } from '../store/derived.ts'
import { keys } from '../store/keys.ts'
import { decodeRecord, putRecord } from '../store/record-codec.ts'
import type { IdempotencyRecord } from '../store/records.ts'
import type { Context } from './context.ts'
import { titleOf } from './file/stage.ts'
import type { AuthorizedScope } from './permissions.ts'
import { invalidInput } from '../schemas/validation.ts'

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

/** A call as it is compared with an earlier one that had the same key. */
interface Call {
  readonly operation: IdempotentOperation
  /** Ids that name what the call works on, in the order of the path. */
  readonly ids?: readonly string[]
  /** The validated input. Staged files can only be its members `image` and `files`. */
  readonly input: object
}

interface StagedFiles {
  readonly image?: StagedFile
  readonly files?: readonly StagedFile[]
}

/** A call with an idempotency key. */
export interface IdempotentCall {
  /** Of its idempotency record. */
  readonly key: Key
  /** HMAC of the input, hex. */
  readonly fingerprint: string
}

/**
 * The idempotent call of these options, `undefined` if they hold no key. Throws `VALIDATION_ERROR` for a malformed key.
 */
export function idempotentCall(
  { fingerprintKey }: Context,
  { companyId, actor }: AuthorizedScope,
  { idempotencyKey }: WriteOptions,
  { operation, ids = [], input }: Call,
): IdempotentCall | undefined {
  if (idempotencyKey === undefined) return undefined
  if (typeof idempotencyKey !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey))
    throw invalidInput('idempotencyKey', 'must be a string of 1 to 255 printable ASCII characters')
  const route = `${operation} ${canonicalJson([companyId, ...ids])}`
  return {
    key: keys.idempotency(companyId, actor, route, idempotencyKey),
    fingerprint: createHmac('sha256', fingerprintKey).update(fingerprintText(input)).digest('hex'),
  }
}

/**
 * Canonical JSON of the input. A staged file is replaced by its content, because a repeated call stages it again. By
 * way of JSON, so that a member that is `undefined` is the same as an absent one.
 */
function fingerprintText(input: object): string {
  const { image, files }: StagedFiles = input
  const contents = { image: image && contentOf(image), files: files?.map(contentOf) }
  return canonicalJson(JSON.parse(JSON.stringify({ ...input, ...contents })))
}

/** The hash of a file, and its title if the caller has given one. Its name may differ in a repeated call. */
const contentOf = ({ sha256, name, title }: StagedFile): Json => (title === titleOf(name) ? sha256 : [sha256, title])

/** The key was used before: what the first call returned. */
export interface Replay {
  readonly replay: Json
}

/** The key was not used, or its record has expired: the check by which a commit makes sure that this is still so. */
interface FirstUse {
  readonly check: Check
  readonly fingerprint: string
  /** The record that has expired. */
  readonly before: IdempotencyRecord | undefined
}

/** Looks an idempotency key up. Throws `IDEMPOTENCY_KEY_REUSED` if it was used with other input. */
export async function findUse({ records, clock }: Context, call: IdempotentCall): Promise<Replay | FirstUse> {
  const { key, fingerprint } = call
  const [entry] = await records.get([key])
  const record = decodeRecord<IdempotencyRecord>(entry)
  if (record === undefined || record.expires <= clock.now())
    return { check: { key, version: entry?.version ?? null }, fingerprint, before: record }
  if (record.fingerprint === fingerprint) return { replay: record.answer }
  throw new RegistryError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used with other input: use a new key for a new request',
  )
}

/** The commit with the record that lets a repeated call return `answer`. */
export function withIdempotency(
  commit: Commit,
  { check, fingerprint, before }: FirstUse,
  { answer, now }: { readonly answer: Json; readonly now: number },
): Commit {
  const { key } = check
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

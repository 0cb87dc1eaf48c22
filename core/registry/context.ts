import { createHmac } from 'node:crypto'
import type { IdSource } from '../ids.ts'
import { keys } from '../store/keys.ts'
import type { LogReader } from '../log/reader.ts'
import { RegistryError } from '../errors.ts'
import { actorOf } from './permissions.ts'
import type { BlobStore, Check, Clock, Commit, Entry, Key, Logger, Range, RecordStore, Write } from '../ports.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { encodeRecord } from '../store/record-codec.ts'
import type { Idempotency, Scope, WriteOptions } from '../api/registry.ts'
import { CompanyId } from './schemas.ts'
import { validate } from './validation.ts'
import { decodeRecord, type IdempotencyRecord } from '../store/records.ts'
import type { CategoryCache } from './category/category-cache.ts'
import type { KeyedLock } from '../store/keyed-lock.ts'

/** What every part of the registry works with. */
export interface Context {
  readonly records: RecordStore
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly logger: Logger
  readonly ids: IdSource
  readonly log: LogReader
  readonly lock: KeyedLock
  readonly categoryCache: CategoryCache
  readonly origin: string
  /** Fingerprints of requests are kept only under this key: a request may hold a guessable secret. */
  readonly fingerprintKey: Uint8Array
  /** The log has new entries. */
  notify(): void
  /** Throws `UNAVAILABLE` while the clock is too far behind the log. */
  assertClock(): void
}

/** How often a write is decided anew when others were faster. */
const MAX_ATTEMPTS = 100
const IDEMPOTENCY_MS = 24 * 60 * 60 * 1_000

/** What a write comes to: what is committed, and what is answered. `stored` is what a replay answers, where that differs. */
export interface Decision<T extends Json> {
  readonly commit: Commit
  readonly answer: T
  readonly stored?: Json
}

/** One try of a write. */
export interface Attempt {
  readonly now: number
  /** Nothing was in its way yet: it may decide from what was true before and leave it to its commit's checks to see that it still is. */
  readonly isFirst: boolean
}

/**
 * Runs a write: looks up its idempotency key, decides, commits, and decides anew where what it read had changed. A decision that
 * throws changes nothing.
 */
export async function write<T extends Json>(
  context: Context,
  scope: Scope,
  options: WriteOptions,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
): Promise<T> {
  await assertCompany(context, scope)
  return writeUnchecked(context, scope, options, decide)
}

/** A write that may also create the company. */
export async function writeUnchecked<T extends Json>(
  context: Context,
  scope: Scope,
  options: WriteOptions,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
): Promise<T> {
  let isFileGone = false
  let endTurn: (() => void) | undefined
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const seen = await lookUpIdempotency(context, scope, options.idempotency)
      if (seen !== undefined && 'replay' in seen) return seen.replay as T
      // No new decision brings a staged file back, so this is not tried again.
      if (isFileGone)
        throw new RegistryError('FILE_NOT_FOUND', 'A staged file was used or discarded before: stage it again')
      const now = context.clock.now()
      const decision = await decide({ now, isFirst: attempt === 0 }).catch(async (error: unknown) => {
        // The same request, sent twice at once, may have come through since it was looked for, and be what stands in its own way.
        const again = await lookUpIdempotency(context, scope, options.idempotency)
        if (again !== undefined && 'replay' in again) return again
        throw error
      })
      if ('replay' in decision) return decision.replay as T
      const { commit, answer, stored } = decision
      const result = await context.records.commit(
        seen === undefined ? commit : withIdempotency(context, commit, seen, { answer: stored ?? answer, now }),
      )
      if (!result.ok) {
        isFileGone = result.conflicts.some(isBlobIntent)
        endTurn ??= await context.lock.acquire(result.conflicts[0] as Key)
        continue
      }
      if (commit.append !== undefined) context.notify()
      return answer
    }
    throw new RegistryError('UNAVAILABLE', 'Too many others write to the same records; try again')
  } finally {
    endTurn?.()
  }
}

const isBlobIntent = (key: string): boolean => {
  const { gte, lt } = keys.blobIntents()
  return key >= gte && key < lt
}

/** A source system has a company; the operator may name one that does not exist. */
export async function assertCompany(context: Context, { companyId, principal }: Scope): Promise<void> {
  validate(CompanyId, companyId)
  if (principal.kind !== 'operator') return
  const [company] = await context.records.get([keys.company(companyId)])
  if (company === undefined)
    throw new RegistryError(
      'COMPANY_NOT_FOUND',
      `There is no company ${companyId}: the operator creates it with its first source system`,
    )
}

interface FirstUse {
  readonly key: string
  readonly version: Check['version']
  readonly fingerprint: string
}

async function lookUpIdempotency(
  context: Context,
  { companyId, principal }: Scope,
  idempotency: Idempotency | undefined,
): Promise<FirstUse | { readonly replay: Json } | undefined> {
  if (idempotency === undefined) return undefined
  if (!/^[\x20-\x7e]{1,255}$/.test(idempotency.key))
    throw new RegistryError('VALIDATION_ERROR', 'Idempotency-Key takes 1 to 255 printable ASCII characters')
  const fingerprint = createHmac('sha256', context.fingerprintKey).update(idempotency.fingerprint).digest('hex')
  const key = keys.idempotency(companyId, actorOf(principal), idempotency.route, idempotency.key)
  const [entry] = await context.records.get([key])
  const record = entry && decodeRecord<IdempotencyRecord>(entry.value)
  if (record === undefined || record.expires <= context.clock.now())
    return { key, version: entry?.version ?? null, fingerprint }
  if (record.fingerprint !== fingerprint)
    throw new RegistryError(
      'IDEMPOTENCY_KEY_REUSED',
      'This Idempotency-Key was used with other content; take a new one',
    )
  return { replay: record.answer }
}

function withIdempotency(
  context: Context,
  commit: Commit,
  { key, version, fingerprint }: FirstUse,
  { answer, now }: { readonly answer: Json; readonly now: number },
): Commit {
  const expires = now + IDEMPOTENCY_MS
  const record: IdempotencyRecord = { fingerprint, answer, expires }
  return {
    ...commit,
    checks: [...(commit.checks ?? []), { key, version }],
    writes: [
      ...(commit.writes ?? []),
      { key, value: encodeRecord(record) },
      { key: keys.idempotencyExpiry(expires, context.ids.next()), value: encodeRecord({ key }) },
    ],
  }
}

/** The decoded record of an entry with the check that it is still as read. */
export interface Read<T> {
  readonly record: T
  readonly check: Check
}

export const readOf = <T>(entry: Entry): Read<T> => ({
  record: decodeRecord<T>(entry.value),
  check: { key: entry.key, version: entry.version },
})

/** Reads one record. */
export async function read<T>(context: Context, key: string): Promise<Read<T> | undefined> {
  const [entry] = await context.records.get([key])
  return entry && readOf<T>(entry)
}

/** Reads one record that must belong to somebody; `missing` is thrown where it does not exist. */
export async function mustRead<T>(context: Context, key: string, missing: () => RegistryError): Promise<Read<T>> {
  const found = await read<T>(context, key)
  if (found === undefined) throw missing()
  return found
}

/** Every entry of a listing that is known to be small. */
export async function listAll(context: Context, range: Range): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of context.records.list(range)) entries.push(entry)
  return entries
}

/** The last part of a key, where it is an id. */
export const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

export const put = (key: string, record: object): Write => ({ key, value: encodeRecord(record) })

export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

import { type Json, canonicalJson } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import type { Check, Commit, Key } from '../ports/index.ts'
import { keys, isInRange, type RecordKey } from '../store/keys.ts'
import type { Context } from './context.ts'
import { createHmac } from 'node:crypto'
import type { StagedFile } from '../api/files.ts'
import type { WriteOptions } from '../api/scope.ts'
import { derivedWrites, idempotencyEntries } from '../store/derived.ts'
import { decodeRecord, putRecord, readAll } from '../store/read.ts'
import type { IdempotencyRecord } from '../store/records.ts'
import { titleOf } from './file/stage.ts'
import type { AuthorizedScope } from './permissions.ts'
import { invalidInput } from '../schemas/validation.ts'

/** How often a write is tried before it gives up because of conflicts with other writes. */
const MAX_ATTEMPTS = 100

/** The outcome of a decision: what to commit, and what to return. */
export interface Decision<T extends Json> {
  readonly commit: Commit
  readonly result: T
  /** What a repeated call with the same idempotency key returns, if it is not `result`. */
  readonly replayed?: T
}

export interface Attempt {
  /** ms since 1970. */
  readonly now: number
  /**
   * No conflict yet. A first attempt may rely on cached state and on names being free: if they are not, its commit
   * fails on a check, and the next attempt reads everything.
   */
  readonly isFirst: boolean
}

type Decide<T extends Json> = (attempt: Attempt) => Promise<Decision<T>>

/**
 * Runs a write: looks up the idempotency key, decides, commits. Decides again if records that it read have changed. A
 * decision that throws changes nothing.
 *
 * Throws what `decide` throws, `IDEMPOTENCY_KEY_REUSED`, `FILE_NOT_FOUND` if a staged file was used or discarded,
 * `UNAVAILABLE` after too many conflicts.
 */
export async function write<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: Decide<T>,
): Promise<T> {
  let failed: FailedAttempt | undefined
  let release: (() => void) | undefined
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const outcome = await tryWrite(context, call, decide, failed)
      if ('result' in outcome) return outcome.result
      failed = outcome
      release ??= await context.lock.acquire(failed.conflicts[0] ?? '')
    }
    throw new RegistryError('UNAVAILABLE', 'Too many other writes change the same records; try again')
  } finally {
    release?.()
  }
}

/** An attempt whose commit failed on its checks. */
interface FailedAttempt {
  readonly conflicts: readonly Key[]
  /** Another write has used, or discarded, a staged file of this one. */
  readonly isFileGone: boolean
}

/** One attempt. `failed`: the attempt before. */
async function tryWrite<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: Decide<T>,
  failed: FailedAttempt | undefined,
): Promise<{ readonly result: T } | FailedAttempt> {
  const use = call && (await findUse(context, call))
  if (isReplay(use)) return { result: use.replay as T }
  // A staged file that is gone does not come back, so there is no point in another attempt.
  if (failed?.isFileGone === true)
    throw new RegistryError('FILE_NOT_FOUND', 'A staged file was used or discarded before: stage it again')
  const now = context.clock.now()
  const decision = await decideOrReplay(context, call, () => decide({ now, isFirst: failed === undefined }))
  if (isReplay(decision)) return { result: decision.replay as T }
  const { commit, result, replayed = result } = decision
  const outcome = await context.records.commit(
    use === undefined ? commit : withIdempotency(commit, use, { answer: replayed, now }),
  )
  if (!outcome.ok) return failedAttempt(commit, outcome.conflicts)
  if (commit.append !== undefined) context.notify()
  return { result }
}

/**
 * If the decision throws, looks the idempotency key up again. The same call may have been sent twice at once, and the
 * other one may have succeeded in the meantime: then it is what this one failed on, for example an external id that
 * exists now.
 */
async function decideOrReplay<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: () => Promise<Decision<T>>,
): Promise<Decision<T> | Replay> {
  try {
    return await decide()
  } catch (error) {
    const use = call && (await findUse(context, call))
    if (isReplay(use)) return use
    throw error
  }
}

const isReplay = (use: object | undefined): use is Replay => use !== undefined && 'replay' in use

function failedAttempt({ checks = [] }: Commit, conflicts: readonly Key[]): FailedAttempt {
  const failed = checks.filter(({ key }) => conflicts.includes(key))
  return { conflicts, isFileGone: failed.some(isOfStagedFile) }
}

/** A commit that uses a staged file requires its upload intent, or that a small file has no record yet. */
const isOfStagedFile = ({ key, version }: Check): boolean =>
  isInRange(key, keys.blobIntents()) || (version === null && isInRange(key, keys.files()))

/**
 * One lock per key, granted in the order of the requests. Writes that conflict wait here before they try again. Without
 * it, each round of simultaneous retries would have one winner, and of 250 updates of one evidence the 101st would fail
 * after 100 rounds. The lock holds in this process only. Against other processes a write relies on its retries.
 */
export class KeyedLock {
  readonly #last = new Map<Key, Promise<void>>()

  /** Waits for the lock of a key. Returns the function that releases it. A caller may hold only one lock at a time. */
  async acquire(key: Key): Promise<() => void> {
    const previous = this.#last.get(key)
    let release = (): void => undefined
    const own = new Promise<void>((resolve) => {
      release = () => {
        if (this.#last.get(key) === own) this.#last.delete(key)
        resolve()
      }
    })
    this.#last.set(key, own)
    await previous
    return release
  }
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
  readonly key: RecordKey<IdempotencyRecord>
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
  const [entry] = await readAll(records, [key])
  const record = decodeRecord(entry)
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

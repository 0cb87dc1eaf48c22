import { createHmac } from 'node:crypto'
import type { WritesRefused } from '../api/registry.ts'
import type { WriteCondition, WriteOptions } from '../api/scope.ts'
import { type Json, canonicalJson } from '../commitment/canonical-json.ts'
import { CLOCK_TOLERANCE_MS, EARLIEST_TIME } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import type { Check, Clock, Commit, Key, RecordStore, Sealer } from '../ports/index.ts'
import { invalidInput } from '../schemas/validation.ts'
import { idempotencyEntries } from '../store/derived.ts'
import { keys, type RecordKey } from '../store/keys.ts'
import { decorateRecords } from '../store/decorate.ts'
import { decodeRecord, derivedWrites, putRecord, readAll } from '../store/read.ts'
import type { IdempotencyRecord } from '../store/records.ts'
import type { AuthorizedScope } from './permissions.ts'

/** How often a write is tried before it gives up because of conflicts with other writes. */
const MAX_ATTEMPTS = 100

/** A part of a commit. */
export type CommitPart = Required<Pick<Commit, 'checks' | 'writes' | 'adds'>>

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
   * The keys whose checks failed in the attempt before; none in the first one. A first attempt may rely on cached state
   * and on names being free: if they are not, its commit fails on a check, and the next attempt reads everything.
   */
  readonly conflicts: readonly Key[]
}

/**
 * Runs a write: looks up the idempotency key, decides, commits. Decides again if records that it read have changed. A
 * decision that throws changes nothing.
 *
 * @param call - `undefined` for an operation that accepts no idempotency key
 * @throws what `decide` throws, `IDEMPOTENCY_KEY_REUSED`, `VALIDATION_ERROR` for a malformed key, `UNAVAILABLE` after
 * too many conflicts, or if the clock is behind and the write records events
 */
export type RunWrite = <T extends Json>(
  call: Call | undefined,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
) => Promise<T>

interface WriterParts {
  readonly records: RecordStore
  readonly clock: Clock
  readonly gate: WriteGate
  /** Learns that the log has new entries. */
  readonly sealer: Pick<Sealer, 'notify'>
  /** Who waits for new entries of the log. */
  readonly listeners: ReadonlySet<() => void>
  /** Keys the HMAC of request fingerprints: a request can contain a secret that is easy to guess. */
  readonly fingerprintKey: Uint8Array
  /** The input without what may differ in a repeated call. */
  readonly comparable: (input: object) => object
}

/** Makes the function that runs all writes of a registry. */
export function writer(parts: WriterParts): RunWrite {
  const lock = new KeyedLock()
  return async (call, decide) => {
    const idempotent = call && idempotentCall(parts, call)
    let conflicts: readonly Key[] = []
    let release: (() => void) | undefined
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const outcome = await tryWrite(parts, idempotent, decide, conflicts)
        if ('result' in outcome) return outcome.result
        conflicts = outcome.conflicts
        const [key] = conflicts
        if (key !== undefined) release ??= await lock.acquire(key)
      }
      throw new RegistryError('UNAVAILABLE', 'Too many other writes change the same records; try again')
    } finally {
      release?.()
    }
  }
}

type Outcome<T> = { readonly result: T } | { readonly conflicts: readonly Key[] }

/** One attempt. `conflicts`: of the attempt before. */
async function tryWrite<T extends Json>(
  parts: WriterParts,
  call: IdempotentCall | undefined,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
  conflicts: readonly Key[],
): Promise<Outcome<T>> {
  const { records, clock, gate, sealer, listeners } = parts
  const use = call && (await findUse<T>(parts, call))
  if (use !== undefined && 'result' in use) return use
  const now = clock.now()
  const attempt = { now, conflicts }
  const decision = await (call === undefined ? decide(attempt) : decideOrReplay(parts, call, () => decide(attempt)))
  if (!('commit' in decision)) return decision
  const { commit, result, replayed = result } = decision
  const recordsEvents = commit.append !== undefined
  if (recordsEvents) gate.assertClock()
  const outcome = await records.commit(
    use === undefined ? commit : withIdempotency(commit, use, { answer: replayed, now }),
  )
  if (!outcome.ok) return outcome
  if (recordsEvents) {
    sealer.notify()
    for (const notify of listeners) notify()
  }
  return { result }
}

/**
 * If the decision throws, looks the idempotency key up again. The same call may have been sent twice at once, and the
 * other one may have succeeded in the meantime: then it is what this one failed on, for example an external id that
 * exists now.
 */
async function decideOrReplay<T extends Json>(
  parts: WriterParts,
  call: IdempotentCall,
  decide: () => Promise<Decision<T>>,
): Promise<Decision<T> | Replay<T>> {
  try {
    return await decide()
  } catch (error) {
    const use = await findUse<T>(parts, call)
    if ('result' in use) return use
    throw error
  }
}

/**
 * One lock per key, granted in the order of the requests. Writes that conflict wait here before they try again. Without
 * it, each round of simultaneous retries would have one winner, and of 250 updates of one evidence the 101st would fail
 * after 100 rounds. The lock holds in this process only. Against other processes a write relies on its retries.
 */
class KeyedLock {
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

/**
 * Throws `VERSION_CONFLICT` unless an evidence or a category has the version that the caller has seen. A decision calls
 * it with a record that its commit checks. So nothing can change between the comparison and the write.
 */
export function assertVersion(
  { ifVersion }: WriteCondition,
  version: number,
  owner: 'the evidence' | 'the category',
): void {
  if (ifVersion === undefined || ifVersion === version) return
  const message = `ifVersion is ${ifVersion}, but ${owner} has version ${version}: read it again`
  throw new RegistryError('VERSION_CONFLICT', message, { field: 'ifVersion' })
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
interface IdempotentCall {
  /** Of its idempotency record. */
  readonly key: RecordKey<IdempotencyRecord>
  /** HMAC of the input, hex. */
  readonly fingerprint: string
}

/** `undefined` if the options hold no key. Throws `VALIDATION_ERROR` for a malformed key. */
function idempotentCall(
  { fingerprintKey, comparable }: WriterParts,
  { scope: { companyId, actor }, options: { idempotencyKey }, operation, ids = [], input }: Call,
): IdempotentCall | undefined {
  if (idempotencyKey === undefined) return undefined
  if (typeof idempotencyKey !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey))
    throw invalidInput('idempotencyKey', 'must be a string of 1 to 255 printable ASCII characters')
  const route = `${operation} ${canonicalJson([companyId, ...ids])}`
  // By way of JSON, so that a member that is `undefined` is the same as an absent one.
  const text = canonicalJson(JSON.parse(JSON.stringify(comparable(input))))
  return {
    key: keys.idempotency(companyId, actor, route, idempotencyKey),
    fingerprint: createHmac('sha256', fingerprintKey).update(text).digest('hex'),
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
async function findUse<T>(
  { records, clock }: Pick<WriterParts, 'records' | 'clock'>,
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

/** The commit with the record that lets a repeated call return `answer`. */
function withIdempotency(
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

interface WriteGateOptions {
  readonly isReadOnly: boolean
  /** The operator has confirmed that the clock is right. */
  readonly acceptClock: boolean
  readonly clock: Clock
  readonly sealer: Pick<Sealer, 'lastBatchAt'>
}

/**
 * Decides whether a registry may write. A read-only one writes no record at all. A clock that is behind the log's last
 * batch, or was never set, refuses events, which would get a wrong time.
 */
export class WriteGate {
  readonly #options: WriteGateOptions

  constructor(options: WriteGateOptions) {
    this.#options = options
  }

  /** Why writes are refused, `null` if they are not. */
  get refused(): WritesRefused | null {
    if (this.#options.isReadOnly) return 'READ_ONLY'
    return this.#isClockBehind() ? 'CLOCK' : null
  }

  /** Throws `UNAVAILABLE` if the registry is read-only. */
  assertWritable(): void {
    if (this.#options.isReadOnly)
      throw new RegistryError(
        'UNAVAILABLE',
        'This registry is open read-only: it serves what is recorded, and accepts no writes. To write, restore the ' +
          'newest store and start without read-only, or start a new registry',
      )
  }

  /** Throws `UNAVAILABLE` if the clock is behind. */
  assertClock(): void {
    if (!this.#isClockBehind()) return
    const earliest = new Date(this.#earliest).toISOString()
    throw new RegistryError(
      'UNAVAILABLE',
      `The clock is behind ${earliest}, when the log's last batch was sealed or this program made: set the clock, ` +
        'or confirm it with acceptClock',
    )
  }

  /** The same store, whose `commit` throws `UNAVAILABLE` if the registry is read-only. */
  guard(records: RecordStore): RecordStore {
    if (!this.#options.isReadOnly) return records
    return decorateRecords(records, {
      commit: async (commit) => {
        this.assertWritable()
        return records.commit(commit)
      },
    })
  }

  /** ms since 1970. */
  get #earliest(): number {
    return Math.max(this.#options.sealer.lastBatchAt ?? 0, EARLIEST_TIME)
  }

  #isClockBehind(): boolean {
    const { acceptClock, clock } = this.#options
    return !acceptClock && clock.now() < this.#earliest - CLOCK_TOLERANCE_MS
  }
}

import { concatBytes, u64 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { Add, Commit, CommitResult, Key, LogAppend, Stored, Version } from '../ports/index.ts'
import { decodeCounter, encodeCounter } from './counter.ts'
import { LargeMap } from './large-map.ts'
import { LOG_ENTRY_BYTES, MAX_PAYLOAD_BYTES } from './log-rows.ts'

/**
 * Decides a group of waiting commits over one snapshot, one after the other: a later commit sees the changes of the
 * earlier ones. It is pure, so all record stores decide in the same way. A store only reads the snapshot and writes the
 * net result atomically.
 */

/**
 * Returns the version with this number. Numbers increase by one with each commit that changes something, across all
 * keys, and are never used again.
 */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where versions are made
export const versionOf = (number: number): Version => String(number) as Version

/** The version of every entry without a value. Stores keep nothing with it, so a check can only say that it exists. */
export const EMPTY_VERSION = versionOf(0)

/** The inverse of `versionOf`. */
export const versionNumber = (version: Version): number => Number(version)

const MAX_KEY_CHARS = 2048
const notPrintable = /[^\x20-\x7e]/

/** The data that a store must read before it plans a group. */
export interface GroupSnapshot {
  /** The current entries of all `keysToRead`. A key without an entry does not exist. */
  readonly entries: ReadonlyMap<Key, Stored>
  /** Number of entries in the log. */
  readonly logSize: number
  /** The number of the last assigned version (`versionOf`), 0 before the first. */
  readonly lastVersion: number
}

/**
 * The result of a group. If no commit changes anything, `lastVersion` equals that of the snapshot and there is nothing
 * to write.
 */
export interface GroupPlan {
  /**
   * One per commit, in order. An error concerns that commit only, which has changed nothing: reject the commit with it.
   */
  readonly outcomes: readonly (CommitResult | RegistryError)[]
  /** Has every key that the group changes. */
  readonly changed: Pick<ReadonlyMap<Key, unknown>, 'has' | 'size'>
  /** The net changes. Each key occurs at most once, in `puts` or in `deletes`. */
  readonly puts: readonly Stored[]
  readonly deletes: readonly Key[]
  /** All appended log entries with their payloads, in order. */
  readonly appended: readonly LogAppend[]
  readonly logSize: number
  readonly lastVersion: number
}

/** Returns the keys whose current entries decide this commit. Writes without a check need none. */
export function keysToRead(commit: Commit): Key[] {
  const keys: Key[] = []
  for (const check of commit.checks ?? []) keys.push(check.key)
  for (const add of commit.adds ?? []) keys.push(add.key)
  return keys
}

/** Whether the commit changes something if it is applied, and so gets a version. */
const changes = (commit: Commit): boolean =>
  (commit.writes?.length ?? 0) + (commit.adds?.length ?? 0) + (commit.append?.length ?? 0) > 0

/**
 * Throws a TypeError or RangeError for an invalid commit: a key that is not 1 to 2,048 characters of printable ASCII, a
 * key that occurs twice among writes and adds, a position of an entry that the commit does not append, a delta that is
 * not a safe integer, a log entry that is not 32 bytes, a payload that is not 1 to 16,384 bytes. These are errors in
 * the calling program, so they have no code of the registry.
 */
export function assertCommit({ checks = [], writes = [], adds = [], append = [] }: Commit): void {
  const changed = new LargeMap<Key, true>()
  for (const { key } of checks) assertKey(key)
  for (const { key, value, positionOf } of writes) {
    assertChangedOnce(key, changed)
    if (positionOf !== undefined && (value === null || append[positionOf] === undefined))
      throw new RangeError(`The write of ${key} needs a value, and an entry ${positionOf} of the same commit`)
  }
  for (const { key, delta } of adds) {
    assertChangedOnce(key, changed)
    if (!Number.isSafeInteger(delta)) throw new RangeError(`The delta of ${key} must be a safe integer, got ${delta}`)
  }
  for (const each of append) assertAppend(each)
}

function assertAppend({ entry, payload }: LogAppend): void {
  if (entry.length !== LOG_ENTRY_BYTES)
    throw new RangeError(`A log entry must have ${LOG_ENTRY_BYTES} bytes, got ${entry.length}`)
  if (payload.length === 0 || payload.length > MAX_PAYLOAD_BYTES)
    throw new RangeError(`The payload of a log entry must have 1 to ${MAX_PAYLOAD_BYTES} bytes, got ${payload.length}`)
}

function assertChangedOnce(key: Key, changed: LargeMap<Key, true>): void {
  assertKey(key)
  if (changed.has(key)) throw new TypeError(`A commit may change a key only once: ${key}`)
  changed.set(key, true)
}

/** Throws a TypeError for an invalid key. */
export function assertKey(key: Key): void {
  if (key.length === 0 || key.length > MAX_KEY_CHARS || notPrintable.test(key))
    throw new TypeError(`A key must be 1 to ${MAX_KEY_CHARS} characters of printable ASCII, got ${JSON.stringify(key)}`)
}

/** A counter in a group. Its value is encoded once, after all additions: a number as long as it is a safe integer. */
type Counter = Pick<Stored, 'key' | 'version'> & { readonly sum: number | bigint }
type Changed = Stored | Counter

/** Decides a group of commits. Requires that they passed `assertCommit`, and the entries of all their `keysToRead`. */
export function planGroup(commits: readonly Commit[], snapshot: GroupSnapshot): GroupPlan {
  // The changes of the group so far; `null` means deleted.
  const changed = new LargeMap<Key, Changed | null>()
  const appended: LogAppend[] = []
  const outcomes: (CommitResult | RegistryError)[] = []
  let { logSize, lastVersion } = snapshot

  const current = (key: Key): Changed | undefined => {
    const change = changed.get(key)
    return change === undefined ? snapshot.entries.get(key) : (change ?? undefined)
  }

  for (const commit of commits) {
    const conflicts = conflictsOf(commit, current)
    if (conflicts.length > 0) {
      outcomes.push({ ok: false, conflicts })
      continue
    }
    // Computed first: if a sum fails, its commit must change nothing.
    const sums = sumsOf(commit.adds ?? [], current)
    if (sums instanceof RegistryError) {
      outcomes.push(sums)
      continue
    }
    if (changes(commit)) lastVersion += 1
    const version = versionOf(lastVersion)
    outcomes.push({ ok: true, version, firstPosition: logSize })
    for (const { key, value: given, positionOf } of commit.writes ?? []) {
      const value = given && positionOf !== undefined ? withPosition(given, logSize + positionOf) : given
      changed.set(key, value === null ? null : { key, value, version: value.length > 0 ? version : EMPTY_VERSION })
    }
    for (const [key, sum] of sums) changed.set(key, { key, sum, version })
    for (const append of commit.append ?? []) appended.push(append)
    logSize += commit.append?.length ?? 0
  }

  const puts: Stored[] = []
  const deletes: Key[] = []
  changed.forEach((entry, key) => {
    if (entry === null) deletes.push(key)
    else puts.push('sum' in entry ? { key, version: entry.version, value: encodeCounter(BigInt(entry.sum)) } : entry)
  })
  return { outcomes, changed, puts, deletes, appended, logSize, lastVersion }
}

/** The value with a position in the log behind it. */
export const withPosition = (value: Uint8Array, position: number): Uint8Array => concatBytes(value, u64(position))

/** Returns the keys whose checks fail, each once, in the order of the checks. */
function conflictsOf(commit: Commit, current: (key: Key) => Changed | undefined): Key[] {
  const conflicts: Key[] = []
  for (const { key, version } of commit.checks ?? []) {
    if ((current(key)?.version ?? null) !== version && !conflicts.includes(key)) conflicts.push(key)
  }
  return conflicts
}

function sumsOf(
  adds: readonly Add[],
  current: (key: Key) => Changed | undefined,
): readonly [Key, number | bigint][] | RegistryError {
  try {
    return adds.map(({ key, delta }) => [key, sumOf(current(key), delta)])
  } catch (cause) {
    return new RegistryError(
      'CORRUPT',
      'A counter cannot be changed: its record is not a counter, or the sum exceeds 64 bits',
      { cause },
    )
  }
}

/** Throws a RangeError beyond 64 bits, or for what is not a counter. */
function sumOf(entry: Changed | undefined, delta: number): number | bigint {
  const before = entry === undefined ? 0 : 'sum' in entry ? entry.sum : decodeCounter(entry.value)
  const sum = Number(before) + delta
  if (Number.isSafeInteger(Number(before)) && Number.isSafeInteger(sum)) return sum
  return decodeCounter(encodeCounter(BigInt(before) + BigInt(delta)))
}

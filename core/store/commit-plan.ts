import { concatBytes } from '../bytes.ts'
import { decodeCounter, encodeCounter } from './counter.ts'
import { RegistryError } from '../errors.ts'
import type { Add, Commit, CommitResult, Entry, Key, Version } from '../ports.ts'

/**
 * Decides a group of waiting commits over one snapshot, one after the other: a later one sees what the earlier ones
 * did. It is pure, so that every record store decides alike, and the store only has to read the snapshot, and to write
 * the net result in one piece.
 */

/** Bytes of a log entry. */
export const LOG_ENTRY_BYTES = 32

const MAX_KEY_CHARS = 2048
const notPrintable = /[^\x20-\x7e]/

/** What a store must read before a group is planned. */
export interface GroupSnapshot {
  /** The current entries of all `keysToRead`; a key that is not here does not exist. */
  readonly entries: ReadonlyMap<Key, Entry>
  /** Entries in the log. */
  readonly logSize: number
  /** The number of the last version that was given (`versionOf`), 0 before the first. */
  readonly lastVersion: number
}

/** What a group comes to. Where no commit changes anything, `lastVersion` is that of the snapshot, and there is nothing to write. */
export interface GroupPlan {
  /** One per commit, in order. A fault is of that commit alone and has changed nothing: reject with it. */
  readonly outcomes: readonly (CommitResult | RegistryError)[]
  /** The net effect: each key at most once, in `puts` or in `deletes`. */
  readonly puts: readonly Entry[]
  readonly deletes: readonly Key[]
  /** All appended entries, packed. */
  readonly appended: Uint8Array
  readonly logSize: number
  readonly lastVersion: number
}

/** The version with this number. Numbers count up by one per commit that changes something, over all keys, and never go back. */
export const versionOf = (number: number): Version => String(number) as Version

/** The number of a version that `versionOf` made. */
export const versionNumber = (version: Version): number => Number(version)

/** The keys whose current entries decide this commit; blind writes need none. */
export function keysToRead(commit: Commit): Key[] {
  const keys: Key[] = []
  for (const check of commit.checks ?? []) keys.push(check.key)
  for (const add of commit.adds ?? []) keys.push(add.key)
  return keys
}

/** True where the commit, if it is applied, changes something and so takes a version. */
const changes = (commit: Commit): boolean =>
  (commit.writes?.length ?? 0) + (commit.adds?.length ?? 0) + (commit.append?.length ?? 0) > 0

/**
 * Throws a TypeError or RangeError for a commit that no store takes, whatever it holds: a key that is not printable
 * ASCII of 1 to 2,048 characters, a key twice among writes and adds, a delta that is no safe integer, an append that is
 * not n × 32 bytes. These are mistakes of the program, so they are no codes of the registry.
 */
export function assertCommit(commit: Commit): void {
  const changed = new Set<Key>()
  for (const { key } of commit.checks ?? []) assertKey(key)
  for (const { key } of commit.writes ?? []) assertChangedOnce(key, changed)
  for (const { key, delta } of commit.adds ?? []) {
    assertChangedOnce(key, changed)
    if (!Number.isSafeInteger(delta)) throw new RangeError(`the delta of ${key} is no safe integer: ${delta}`)
  }
  if ((commit.append?.length ?? 0) % LOG_ENTRY_BYTES !== 0)
    throw new RangeError(`append takes n × ${LOG_ENTRY_BYTES} bytes, not ${commit.append?.length}`)
}

function assertChangedOnce(key: Key, changed: Set<Key>): void {
  assertKey(key)
  if (changed.has(key)) throw new TypeError(`a commit changes a key at most once: ${key}`)
  changed.add(key)
}

/** Throws a TypeError for a key that no store takes. */
export function assertKey(key: Key): void {
  if (key.length === 0 || key.length > MAX_KEY_CHARS || notPrintable.test(key))
    throw new TypeError(`a key is 1 to ${MAX_KEY_CHARS} characters of printable ASCII, not ${JSON.stringify(key)}`)
}

/** Throws a RangeError unless both are safe integers >= 0: what `RecordStore.readLog` takes. */
export function assertLogRange(from: number, count: number): void {
  if (!Number.isSafeInteger(from) || from < 0 || !Number.isSafeInteger(count) || count < 0)
    throw new RangeError(`readLog takes a position and a count, not ${from} and ${count}`)
}

/** Requires commits that passed `assertCommit`, and the entries of all their `keysToRead`. */
export function planGroup(commits: readonly Commit[], snapshot: GroupSnapshot): GroupPlan {
  // What the group changed so far; `undefined`: deleted.
  const changed = new Map<Key, Entry | undefined>()
  const appended: Uint8Array[] = []
  const outcomes: (CommitResult | RegistryError)[] = []
  let { logSize, lastVersion } = snapshot

  const current = (key: Key): Entry | undefined => (changed.has(key) ? changed.get(key) : snapshot.entries.get(key))

  for (const commit of commits) {
    const conflicts = conflictsOf(commit, current)
    if (conflicts.length > 0) {
      outcomes.push({ ok: false, conflicts })
      continue
    }
    // Sums first: one that fails must leave nothing of its commit behind.
    const sums = sumsOf(commit.adds ?? [], current)
    if (sums instanceof RegistryError) {
      outcomes.push(sums)
      continue
    }
    if (changes(commit)) lastVersion += 1
    const version = versionOf(lastVersion)
    outcomes.push({ ok: true, version, firstPosition: logSize })
    for (const { key, value } of commit.writes ?? [])
      changed.set(key, value === null ? undefined : { key, value, version })
    for (const [key, value] of sums) changed.set(key, { key, value, version })
    if (commit.append !== undefined && commit.append.length > 0) {
      appended.push(commit.append)
      logSize += commit.append.length / LOG_ENTRY_BYTES
    }
  }

  const puts: Entry[] = []
  const deletes: Key[] = []
  for (const [key, entry] of changed) {
    if (entry === undefined) deletes.push(key)
    else puts.push(entry)
  }
  return { outcomes, puts, deletes, appended: concatBytes(...appended), logSize, lastVersion }
}

/** Each key once, in the order of the checks. */
function conflictsOf(commit: Commit, current: (key: Key) => Entry | undefined): Key[] {
  const conflicts: Key[] = []
  for (const { key, version } of commit.checks ?? []) {
    if ((current(key)?.version ?? null) !== version && !conflicts.includes(key)) conflicts.push(key)
  }
  return conflicts
}

function sumsOf(
  adds: readonly Add[],
  current: (key: Key) => Entry | undefined,
): readonly (readonly [Key, Uint8Array])[] | RegistryError {
  try {
    return adds.map(({ key, delta }) => {
      const entry = current(key)
      return [key, encodeCounter((entry === undefined ? 0n : decodeCounter(entry.value)) + BigInt(delta))] as const
    })
  } catch (cause) {
    return new RegistryError(
      'CORRUPT',
      'A counter cannot be added to: its key holds something else, or 64 bits are exceeded',
      { cause },
    )
  }
}

import { randomBytes } from 'node:crypto'
import type { AbstractChainedBatch } from 'abstract-level'
import {
  EMPTY_TAIL,
  keysToRead,
  sealValue,
  type Commit,
  type Entry,
  type GroupPlan,
  type Key,
  type LogAppend,
  type RowChanges,
  type Version,
} from '../kit/index.ts'
import type { DatabaseState } from './check.ts'
import * as layout from './layout.ts'
import type { Head, LevelDatabase } from './layout.ts'
import type { LevelReader } from './reader.ts'

/**
 * Up to this many keys of a group are read one by one on this thread: 1 µs each if they are cached. A getMany takes
 * 1.4 µs each and lets the group wait behind whatever else the event loop has to do (256 in flight: 10,500 against
 * 8,500 creates a second).
 */
const MAX_SYNC_KEYS = 1024

/** A log entry's key in the index of positions, and its position. */
type PositionRow = readonly [key: string, position: number]

/** Everything that a group of commits changes in the database. */
export interface GroupChanges {
  readonly plan: GroupPlan
  readonly head: Head
  readonly rows: RowChanges
  readonly positions: readonly PositionRow[]
}

type Batch = AbstractChainedBatch<LevelDatabase, string, Uint8Array>

/** Reads the current entries of all keys that decide these commits. */
export async function currentEntries(reader: LevelReader, commits: readonly Commit[]): Promise<Map<Key, Entry>> {
  const keys = [...new Set(commits.flatMap(keysToRead))]
  const entries = new Map<Key, Entry>()
  for (const entry of await reader.entries(keys, MAX_SYNC_KEYS)) if (entry !== undefined) entries.set(entry.key, entry)
  return entries
}

/**
 * Returns the index records for entries that are appended to a log of `logSize`, except for those that the log holds
 * already. Of equal entries only the first has one.
 */
export async function newPositions(
  reader: LevelReader,
  appended: readonly LogAppend[],
  logSize: number,
): Promise<readonly PositionRow[]> {
  const positions = new Map<string, number>()
  for (const [i, { entry }] of appended.entries()) {
    const key = layout.positionKey(entry)
    if (!positions.has(key)) positions.set(key, logSize + i)
  }
  const stored = await reader.positions([...positions.keys()], MAX_SYNC_KEYS)
  return [...positions].filter((_, index) => stored[index] === undefined)
}

/** Returns a batch with all changes of a group, which is not written yet. `putOptions` are those of the database. */
export async function groupBatch(
  db: LevelDatabase,
  { plan, head, rows, positions }: GroupChanges,
  putOptions: ReturnType<typeof layout.putOptions>,
): Promise<Batch> {
  const batch = db.batch()
  const putRow = (key: string, row: Uint8Array): Batch => batch.put(key, sealValue(key, row), putOptions)
  try {
    batch.put(layout.HEAD_KEY, layout.encodeHead(head), putOptions)
    putRecords(batch, plan.puts, putOptions)
    for (const key of plan.deletes) batch.del(key, putOptions)
    for (const { start, entries, payloads } of rows.puts) {
      putRow(layout.rowKey(layout.ENTRY_ROWS, start), entries)
      putRow(layout.rowKey(layout.PAYLOAD_ROWS, start), payloads)
    }
    for (const prefix of [layout.ENTRY_ROWS, layout.PAYLOAD_ROWS])
      for (const start of rows.deletes) batch.del(layout.rowKey(prefix, start), putOptions)
    for (const [key, position] of positions) batch.put(key, layout.encodePosition(key, position), putOptions)
    return batch
  } catch (error) {
    await batch.close()
    throw error
  }
}

/** The records that one commit writes follow each other and have the same version, which is encoded once for them. */
function putRecords(batch: Batch, puts: readonly Entry[], putOptions: ReturnType<typeof layout.putOptions>): void {
  let version: Version | undefined
  let versionBytes: Uint8Array = new Uint8Array()
  for (const entry of puts) {
    if (entry.version !== version) {
      version = entry.version
      versionBytes = layout.encodeVersion(version)
    }
    batch.put(entry.key, layout.encodeRecordValue(entry, versionBytes), putOptions)
  }
}

/** Writes the first head. Without a head, an empty store could not be distinguished from one that lost all its data. */
export async function initialize(db: LevelDatabase): Promise<DatabaseState> {
  const head = nextHead({ lastVersion: 0, logSize: 0 })
  await db.batch().put(layout.HEAD_KEY, layout.encodeHead(head), layout.putOptions(db)).write({ sync: true })
  return { head, tail: EMPTY_TAIL }
}

/** Returns the head of a group, with an id of its own. */
export const nextHead = ({ lastVersion, logSize }: Omit<Head, 'group'>): Head => ({
  lastVersion,
  logSize,
  group: randomBytes(16).toString('hex'),
})

import {
  assertFormat,
  EMPTY_TAIL,
  LOG_ENTRY_BYTES,
  packRows,
  RegistryError,
  ROW_ENTRIES,
  rowOf,
  type LogTail,
} from '../kit/index.ts'
import {
  BY_TEXT,
  decodeHead,
  decodePosition,
  encodeHead,
  formatOfHead,
  HEAD_KEY,
  nextHead,
  positionKey,
  putOptions,
  type Head,
  type LevelDatabase,
} from './layout.ts'
import { readPayloads, readRows } from './reader.ts'

/** The newest full blocks that every open checks: 65,536 entries, 2 MiB. */
const MIN_CHECKED_BLOCKS = 256

/**
 * The fewest bytes that an entry takes in a write-ahead log: 32 in a row of entries, 3 in a row of payloads (a length
 * and one byte), 63 for its position (tag, two lengths, 48 bytes of key, 12 of value). Only an entry that is appended
 * twice has no position of its own, and the registry appends none twice.
 */
const MIN_WAL_BYTES = 98

/** The head and the unfinished last block of an opened database. */
export interface DatabaseState {
  readonly head: Head
  readonly tail: LogTail
}

/**
 * Checks that the last group of commits is complete: the head record exists, the newest log entries end exactly at the
 * head's size and have no hole, and the entries of the last block have their positions. What LevelDB loses while it
 * opens was in its write-ahead logs, so all entries that fit into these are checked, and at least 65,536.
 *
 * It does not detect a record that is missing: LevelDB skips damaged parts of its log without an error. The registry's
 * own hash chain and tree detect that. A record that was altered is detected when it is read.
 *
 * @param walBytes bytes of the write-ahead logs before the open
 * @returns the state of the database, or `undefined` if it has no key at all
 * @throws RegistryError `CORRUPT` for a database that holds data but fails the check, `CONFIG_ERROR` for one with
 *   another format
 */
export async function checkDatabase(db: LevelDatabase, walBytes = 0): Promise<DatabaseState | undefined> {
  const [bytes] = await db.getMany<string, Uint8Array>([HEAD_KEY], BY_TEXT)
  if (bytes === undefined) {
    if ((await db.keys<string>({ limit: 1, keyEncoding: 'utf8' }).all()).length === 0) return undefined
    throw new RegistryError('CORRUPT', 'The record store holds data but has no head record: restore it from a backup')
  }
  const format = formatOfHead(bytes)
  if (format !== undefined) assertFormat(format, 'The record store')
  const head = decodeHead(bytes)
  return { head, tail: await checkLog(db, head.logSize, walBytes) }
}

async function checkLog(db: LevelDatabase, size: number, walBytes: number): Promise<LogTail> {
  const lastBlock = size - (size % ROW_ENTRIES || Math.min(size, ROW_ENTRIES))
  const blocks = Math.max(MIN_CHECKED_BLOCKS, Math.ceil(walBytes / MIN_WAL_BYTES / ROW_ENTRIES))
  const rows = await readRows(db, { from: Math.max(0, lastBlock - blocks * ROW_ENTRIES), end: Infinity })
  const last = rows.at(-1)
  const end = last === undefined ? 0 : last.start + last.entries.length / LOG_ENTRY_BYTES
  if (end !== size)
    throw new RegistryError(
      'CORRUPT',
      `The log ends at position ${end}, but the head record says ${size}: restore the record store from a backup`,
    )
  const lastRows = rows.filter((row) => row.start >= lastBlock)
  const entries = packRows(lastRows, lastBlock, ROW_ENTRIES)
  await checkPositions(db, lastBlock, entries)
  const payloads = await readPayloads(db, { from: lastBlock, end: lastBlock + ROW_ENTRIES })
  if (payloads.length !== size - lastBlock)
    throw new RegistryError(
      'CORRUPT',
      `The log has ${size - lastBlock} entries from position ${lastBlock}, but ${payloads.length} payloads: ` +
        'restore the record store from a backup',
    )
  if (size % ROW_ENTRIES === 0) return EMPTY_TAIL
  const packed = rowOf(
    lastBlock,
    payloads.map((payload, i) => ({
      entry: entries.subarray(i * LOG_ENTRY_BYTES, (i + 1) * LOG_ENTRY_BYTES),
      payload,
    })),
  )
  return { starts: lastRows.map((row) => row.start), entries, payloads: packed.payloads }
}

async function checkPositions(db: LevelDatabase, from: number, entries: Uint8Array): Promise<void> {
  const keys: string[] = []
  for (let at = 0; at < entries.length; at += LOG_ENTRY_BYTES)
    keys.push(positionKey(entries.subarray(at, at + LOG_ENTRY_BYTES)))
  const positions = await db.getMany<string, Uint8Array>(keys, BY_TEXT)
  for (const [index, key] of keys.entries()) {
    const position = positions[index]
    // If the same entry was appended again, the stored position is the later one.
    if (position === undefined || decodePosition(key, position) < from + index)
      throw new RegistryError(
        'CORRUPT',
        `The index of log positions has no record for entry ${from + index}: restore the record store from a backup`,
      )
  }
}

/** Writes the first head. Without a head, an empty store could not be distinguished from one that lost all its data. */
export async function initialize(db: LevelDatabase): Promise<DatabaseState> {
  const head = nextHead({ lastVersion: 0, logSize: 0 })
  await db.batch().put(HEAD_KEY, encodeHead(head), putOptions(db)).write({ sync: true })
  return { head, tail: EMPTY_TAIL }
}

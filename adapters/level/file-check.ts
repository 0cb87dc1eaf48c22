import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, ifExists } from '../files/errors.ts'
import { concatBytes, type CheckedPart } from '../kit/index.ts'
import { Cursor, maskedCrc, viewOf } from './encoding.ts'
import { checkTable } from './table-checksums.ts'

/** What `checkFiles` reads besides the manifest. */
export interface FileCheckOptions {
  /** Whether to check the write-ahead logs. They grow while the database is open. */
  readonly hasLogs: boolean
  /** The tables are checked if they have at most this many bytes together. */
  readonly maxTableBytes: number
}

/**
 * Checks the checksums in the files that belong to the database in a folder, in parts of a few milliseconds. No file is
 * open between two parts. LevelDB writes these checksums, but does not use them: it reads tables without, and skips
 * what is damaged in a log. So one flipped bit of a key would hide a record without an error, and end the process when
 * LevelDB merges keys that are out of order.
 */
export async function* checkFiles(database: string, options: FileCheckOptions): AsyncGenerator<CheckedPart> {
  const current = await ifExists(readFile(join(database, 'CURRENT'), 'latin1'))
  const name = current?.trim() || 'MANIFEST'
  const manifest = await readLog(database, name)
  // LevelDB does not open without it, or makes a new database.
  if (manifest === undefined) return
  yield* checkLogs([manifest])
  const { firstLog, tables } = liveFiles(manifest.bytes)
  if (options.hasLogs) yield* checkLogs(await logsFrom(database, firstLog))
  let total = 0
  for (const bytes of tables.values()) total += bytes
  for (const number of total <= options.maxTableBytes ? tables.keys() : []) {
    try {
      yield* checkTable(database, `${String(number).padStart(6, '0')}.ldb`)
    } catch (error) {
      // LevelDB removed it meanwhile.
      if (errnoOf(error) !== 'ENOENT') throw error
    }
  }
}

interface LogFile {
  readonly file: string
  readonly bytes: Uint8Array
}

const readLog = async (database: string, file: string): Promise<LogFile | undefined> => {
  const bytes = await ifExists(readFile(join(database, file)))
  return bytes && { file, bytes }
}

/** The write-ahead logs that LevelDB reads when it opens, the oldest first. */
async function logsFrom(database: string, firstLog: number): Promise<readonly LogFile[]> {
  const numbers = (await readdir(database)).flatMap((name) => /^(\d+)\.log$/.exec(name)?.[0] ?? [])
  const live = numbers.filter((name) => Number.parseInt(name, 10) >= firstLog)
  const byNumber = live.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  const logs: LogFile[] = []
  for (const name of byNumber) {
    const log = await readLog(database, name)
    if (log !== undefined) logs.push(log)
  }
  return logs
}

/** A log is blocks of 32 KiB. What is written at once is one record, or one in each block. */
const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7
const [WHOLE, FIRST, , LAST] = [1, 2, 3, 4]

interface LogRecord {
  readonly at: number
  readonly type: number
  /** `undefined` if the record is damaged. */
  readonly data: Uint8Array | undefined
}

function* recordsOf(bytes: Uint8Array): Generator<LogRecord> {
  const view = viewOf(bytes)
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const blockEnd = at - (at % BLOCK_BYTES) + BLOCK_BYTES
    if (at + HEADER_BYTES > blockEnd) {
      at = blockEnd
      continue
    }
    const type = view.getUint8(at + 6)
    const end = at + HEADER_BYTES + view.getUint16(at + 4, true)
    const fits = end <= Math.min(blockEnd, bytes.length)
    const isSound = fits && type > 0 && maskedCrc(view, at + 6, end) === view.getUint32(at, true)
    yield { at, type, data: isSound ? bytes.subarray(at + HEADER_BYTES, end) : undefined }
    at = fits ? end : blockEnd
  }
}

/**
 * Checks logs that follow each other. The end of the last one may be torn: a crash has interrupted a write that was not
 * acknowledged. Each write is synced before the next one begins, so what is damaged before the beginning of a later
 * write was acknowledged.
 */
function* checkLogs(logs: readonly LogFile[]): Generator<CheckedPart> {
  let damaged: { readonly file: string; readonly damagedAt: number } | undefined
  for (const { file, bytes } of logs) {
    for (const { at, type, data } of recordsOf(bytes)) {
      if (data === undefined) damaged ??= { file, damagedAt: at }
      else if (damaged !== undefined && (type === WHOLE || type === FIRST)) {
        yield { bytes: 0, ...damaged }
        damaged = undefined
      }
    }
    yield { file, bytes: bytes.length }
  }
}

/** The values of each field of a manifest: numbers, and texts that begin with their length. */
const FIELDS: Readonly<Record<number, string>> = {
  1: 't',
  2: 'n',
  3: 'n',
  4: 'n',
  5: 'nt',
  6: 'nn',
  7: 'nnntt',
  9: 'n',
}
const [FIRST_LOG, REMOVED_TABLE, ADDED_TABLE] = [2, 6, 7]

interface LiveFiles {
  firstLog: number
  /** The size of each table by its number. */
  readonly tables: Map<number, number>
}

/** Which files belong to the database: others may be what a crash has left unfinished. */
function liveFiles(manifest: Uint8Array): LiveFiles {
  const live: LiveFiles = { firstLog: 0, tables: new Map() }
  let parts: Uint8Array[] = []
  for (const { type, data } of recordsOf(manifest)) {
    // LevelDB does not open then.
    if (data === undefined) break
    if (type === WHOLE || type === FIRST) parts = []
    parts.push(data)
    if (type === WHOLE || type === LAST) applyEdit(live, new Cursor(concatBytes(...parts)))
  }
  return live
}

function applyEdit(live: LiveFiles, edit: Cursor): void {
  while (!edit.isAtEnd()) {
    const field = edit.varint()
    const [first = 0, second = 0, third = 0] = (FIELDS[field] ?? '').split('').map((kind) => {
      const number = edit.varint()
      if (kind === 't') edit.take(number)
      return number
    })
    if (field === FIRST_LOG) live.firstLog = first
    if (field === REMOVED_TABLE) live.tables.delete(second)
    if (field === ADDED_TABLE) live.tables.set(second, third)
  }
}

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, ifExists } from '../files/errors.ts'
import type { CheckedPart } from '../kit/index.ts'
import { FIRST, recordsOf, WHOLE } from './log-format.ts'
import { liveFiles, manifestName } from './manifest.ts'
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
  const manifest = await readLog(database, (await manifestName(database)) || 'MANIFEST')
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

import { closeSync, constants, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { realpath, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  encodeUtf8,
  isRegistryError,
  RegistryError,
  sha256,
  toHex,
  type CheckedPart,
  type Logger,
} from '../kit/index.ts'
import { makeDirectory, nodeFiles, syncDirectory } from '../files/durable.ts'
import { errnoOf, systemAdvice } from '../files/errors.ts'
import { classicLevel, isDamaged, isLocked, type DatabaseOptions } from './database.ts'
import type { Head, LevelDatabase } from './layout.ts'
import { checkFiles } from './file-check.ts'
import { dataFiles, linkFiles, recoverLinks, releaseLinks, restoreFiles, type StorePaths } from './links.ts'
import { lockDirectory, type LockOptions, type ReleaseDirectory } from './lock.ts'
import { forgetKeys } from './manifest.ts'
import { LevelRecords } from './records.ts'

/** Options of `openLevelRecords`. */
export interface OpenLevelOptions extends DatabaseOptions, LockOptions {
  /** Creates the database for a folder, without opening it. Default: classic-level. */
  readonly database?: (folder: string) => LevelDatabase
  /**
   * Gets an error line for a write that fails, and for each read that finds damaged data, and every few seconds a line
   * about a check of tables that takes long. Default: none.
   */
  readonly logger?: Pick<Logger, 'error' | 'info'>
  /** Opens a store with damaged files, to read what is left. A record may be missing without an error. Default: no. */
  readonly acceptDamage?: boolean
  /** If given, all tables are checked before LevelDB opens them. Called after each part. */
  readonly onCheckedPart?: (part: CheckedPart) => void
}

/** So much is checked at every open, in half a second. Larger stores only after an end that was not clean. */
const ALWAYS_CHECKED_BYTES = 256 * 1024 * 1024

const NOTICE_INTERVAL_MS = 5_000

/**
 * Opens the record store in a directory, or creates it. The directory then holds LevelDB's own files in `db`, and
 * beside them the lock of the process that has it open, the high-water mark, and during an open the hard links.
 *
 * LevelDB can lose data while it opens, without an error, so the open is guarded. It detects an open that fails, and a
 * database that comes up without its head, behind the high-water mark (which is exact after a crash of the process and
 * a lower bound after a power loss), or with holes in the newest log entries: those that fit into its write-ahead logs,
 * and at least 65,536. It then restores the files as they were and throws, so that the open can be tried again. It does
 * not detect older records that are missing or altered: the registry's own hash chain and tree do.
 *
 * Before, the checksums in the files are checked: those of the write-ahead logs, and those of the tables if they have
 * at most 256 MiB, or if the store was not closed. LevelDB checks neither, and a flipped bit could make it lose records
 * or end the process.
 *
 * @param directory path of the store; it is created if it does not exist (0700)
 * @param options see `OpenLevelOptions`
 * @returns the opened store; close it with `close()`
 * @throws RegistryError `STORE_LOCKED` if another store has the directory open, `UNAVAILABLE` if opening failed,
 *   `CORRUPT` if a file is damaged or the database opened with less than it held before, `CONFIG_ERROR` if it has
 *   another format
 * @example
 * ```ts
 * import { openLevelRecords } from 'evidence-registry/adapters/level'
 *
 * const records = await openLevelRecords('/var/lib/evidence/records')
 * const result = await records.commit({ writes: [{ key: 'a', value: new Uint8Array([1]) }] })
 * await records.close()
 * ```
 */
export async function openLevelRecords(directory: string, options: OpenLevelOptions = {}): Promise<LevelRecords> {
  let release: ReleaseDirectory | undefined
  try {
    await makeDirectory(nodeFiles, join(directory, 'db'))
    const root = await realpath(directory)
    release = await lockDirectory(root, options)
    return await openLocked({ directory: root, database: join(root, 'db') }, options, release)
  } catch (error) {
    await release?.()
    if (isRegistryError(error)) throw error
    const advice = systemAdvice(error)
    const reason = advice === undefined ? '' : `: ${advice}`
    throw new RegistryError('UNAVAILABLE', `The record store in ${directory} cannot be opened${reason}`, {
      cause: error,
    })
  }
}

async function openLocked(
  paths: StorePaths,
  options: OpenLevelOptions,
  release: ReleaseDirectory,
): Promise<LevelRecords> {
  const database = options.database ?? (await classicLevel(options))
  await recoverLinks(paths)
  // This file name is part of the format on disk.
  const markPath = join(paths.directory, 'witness')
  const minimum = readHighWaterMark(markPath)
  const { hasData, walBytes } = await dataSizes(paths.database)
  const mustExist = minimum !== undefined || hasData
  const openPath = join(paths.directory, 'open')
  await assertSound(paths, { isClosed: !existsSync(openPath), ...options })
  // The links make its name durable. It stays if the process ends before the store is closed.
  await writeFile(openPath, '')
  await linkFiles(paths)
  await forgetKeys(paths.database)
  const db = database(paths.database)
  // Set before the store is returned, so before the first group is written.
  let mark: HighWaterMark | undefined
  const afterGroup = (head: Head) => mark?.write(head)
  const afterClose = async () => {
    mark?.close()
    await rm(openPath, { force: true })
    await release()
  }
  let store: LevelRecords
  try {
    const { logger } = options
    const fileChecker = {
      checkFiles: () => checkFiles(paths.database, { hasLogs: false, maxTableBytes: Infinity }),
    }
    const opening = { mustExist, walBytes, fileChecker, afterGroup, afterClose, ...(logger && { logger }) }
    store = await LevelRecords.open(db, opening)
    assertNotBehind(store.head, minimum, markPath)
  } catch (error) {
    await db.close()
    throw await rollBackOpen(paths, error)
  }
  try {
    // LevelDB leaves the rename of its CURRENT file unsynced. Without it, a power loss would bring back a manifest that
    // was never synced, and with it none of the commits that follow.
    await syncDirectory(nodeFiles, paths.database)
    await releaseLinks(paths)
    mark = HighWaterMark.open(markPath, store.head)
    await syncDirectory(nodeFiles, paths.directory)
    return store
  } catch (error) {
    await db.close()
    throw error
  }
}

interface SoundnessOptions extends Pick<OpenLevelOptions, 'acceptDamage' | 'onCheckedPart' | 'logger'> {
  readonly isClosed: boolean
}

/** Throws `CORRUPT` at the first damage; if there is a handler, after it got all of them. */
async function assertSound(
  { database }: StorePaths,
  { isClosed, acceptDamage = false, onCheckedPart, logger }: SoundnessOptions,
): Promise<void> {
  const maxTableBytes = isClosed && onCheckedPart === undefined ? ALWAYS_CHECKED_BYTES : Infinity
  let damage: string | undefined
  let checkedBytes = 0
  let noticeAt = Date.now() + NOTICE_INTERVAL_MS
  for await (const part of checkFiles(database, { hasLogs: true, maxTableBytes })) {
    onCheckedPart?.(part)
    checkedBytes += part.bytes
    if (Date.now() >= noticeAt) {
      logger?.info({ checkedBytes }, 'the record store was not closed, so its files are checked before it opens')
      noticeAt = Date.now() + NOTICE_INTERVAL_MS
    }
    if (part.damagedAt !== undefined)
      damage ??= `The record store is damaged: ${join(database, part.file)} at byte ${part.damagedAt}`
    if (damage !== undefined && onCheckedPart === undefined) break
  }
  if (damage === undefined) return
  const advice = 'Restore a backup: see "Damaged data" in server/OPERATIONS.md'
  if (!acceptDamage) throw new RegistryError('CORRUPT', `${damage}. ${advice}`)
  logger?.error({ damage }, 'the record store is opened in spite of its damage: a record may be missing')
}

function assertNotBehind(head: Head, minimum: MinimumHead | 'unreadable' | undefined, markPath: string): void {
  if (minimum === undefined || minimum === 'unreadable') return
  if (head.lastVersion >= minimum.lastVersion && head.logSize >= minimum.logSize) return
  throw new RegistryError(
    'CORRUPT',
    `The record store opened at version ${head.lastVersion} with ${head.logSize} log entries, but had ` +
      'reached version ' +
      `${minimum.lastVersion} with ${minimum.logSize}. If you restored an older copy on purpose, remove ${markPath}`,
  )
}

const TRY_AGAIN = 'try again, and if that fails, restore a backup'

/**
 * Restores the files after a failed open, and returns the error to throw. If restoring fails, the links stay, and the
 * next open restores from them first.
 */
async function rollBackOpen(paths: StorePaths, error: unknown): Promise<RegistryError> {
  if (isLocked(error)) {
    await releaseLinks(paths)
    return new RegistryError('STORE_LOCKED', `Another process has the database in ${paths.database} open`, {
      cause: error,
    })
  }
  await restoreFiles(paths)
  // The store has another format.
  if (isRegistryError(error, 'CONFIG_ERROR'))
    return new RegistryError('CONFIG_ERROR', `${paths.directory}: ${error.message}`, { cause: error })
  const code = isRegistryError(error) || isDamaged(error) ? 'CORRUPT' : 'UNAVAILABLE'
  const reason = isRegistryError(error) ? error.message : `LevelDB could not open ${paths.database}`
  return new RegistryError(
    code,
    `${reason}. Its files were restored as they were before; ${systemAdvice(error) ?? TRY_AGAIN}`,
    { cause: error },
  )
}

/**
 * Whether the folder holds data, and the bytes of its write-ahead logs: one, or two if a full one was not a table yet.
 * The first open of a store that was killed leaves an empty log at most.
 */
async function dataSizes(database: string): Promise<{ readonly hasData: boolean; readonly walBytes: number }> {
  const sizes = { hasData: false, walBytes: 0 }
  for (const name of await dataFiles(database)) {
    if (!/\.(?:log|ldb|sst)$/.test(name)) continue
    const { size } = await stat(join(database, name))
    sizes.hasData ||= size > 0
    if (name.endsWith('.log')) sizes.walBytes += size
  }
  return sizes
}

/**
 * The version and log size that the store has reached at least: those of the last group that was known to be durable.
 */
type MinimumHead = Pick<Head, 'lastVersion' | 'logSize'>

/**
 * A small file beside the database with the numbers of the last durable group. It is overwritten in place after each
 * group and not synced. So it is exact after the process was killed, a lower bound after a power loss, and never ahead
 * of the database.
 */
class HighWaterMark {
  readonly #file: number

  private constructor(file: number) {
    this.#file = file
  }

  /** Opens or creates the file and writes `head` to it, durably. */
  static open(path: string, head: MinimumHead): HighWaterMark {
    const mark = new HighWaterMark(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600))
    mark.write(head)
    fsyncSync(mark.#file)
    return mark
  }

  /** Does not throw: after a failed write the file still holds an older, lower bound. */
  write({ lastVersion, logSize }: MinimumHead): void {
    try {
      writeSync(this.#file, formatLine(lastVersion, logSize), 0, 'latin1')
    } catch {
      // The next write may succeed.
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

/**
 * Reads the numbers in the file at `path`. Returns `unreadable` if the line is torn, `undefined` if the file does not
 * exist.
 */
export function readHighWaterMark(path: string): MinimumHead | 'unreadable' | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  const [lastVersion = '', logSize = ''] = text.split(' ')
  if (text !== formatLine(Number(lastVersion), Number(logSize))) return 'unreadable'
  return { lastVersion: Number(lastVersion), logSize: Number(logSize) }
}

/** All lines have the same length, so a write replaces the whole line. The checksum detects a torn one. */
function formatLine(lastVersion: number, logSize: number): string {
  const numbers = `${String(lastVersion).padStart(16, '0')} ${String(logSize).padStart(16, '0')}`
  return `${numbers} ${toHex(sha256(encodeUtf8(numbers))).slice(0, 16)}\n`
}

import { mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import type { Head, LevelDatabase } from './layout.ts'
import { dataFiles, linkFiles, releaseLinks, restoreFiles, settleLinks, syncFolder, type StorePaths } from './links.ts'
import { claimDirectory, type Release } from '../files/directory-ownership.ts'
import { LevelRecords } from './records.ts'
import { readHighWaterMark, HighWaterMark, type Witnessed } from './high-water-mark.ts'

export interface OpenLevelOptions {
  /** Makes the database in a folder, not opened yet. Default: classic-level. */
  readonly database?: (folder: string) => LevelDatabase
}

/**
 * Opens (or begins) the record store in `directory`: LevelDB's files in `db`, and beside them the owner, the witness,
 * and during an open the links.
 *
 * Opening is guarded, because LevelDB can lose data in it without an error. Detected here, and undone by putting the
 * files back as they were (then it throws, and can be tried again): an open that fails; a database that comes up
 * without its head, behind the last group that the witness saw (exact after a crash of the process, a lower bound
 * after a power loss), or with holes in the newest 65,536 log entries. Not detected here: records that are missing or
 * altered further down, which only the registry's own hash chain and tree show.
 *
 * Throws `STORE_LOCKED` where another store has it open, `UNAVAILABLE` where opening failed, `CORRUPT` where the
 * database opened with less than it held.
 */
export async function openLevelRecords(directory: string, options: OpenLevelOptions = {}): Promise<LevelRecords> {
  let release: Release | undefined
  try {
    await mkdir(join(directory, 'db'), { recursive: true, mode: 0o700 })
    const root = await realpath(directory)
    release = await claimDirectory(root)
    return await openOwned({ directory: root, database: join(root, 'db') }, options, release)
  } catch (error) {
    await release?.()
    if (isRegistryError(error)) throw error
    throw new RegistryError('UNAVAILABLE', `The record store in ${directory} cannot be opened`, { cause: error })
  }
}

async function openOwned(paths: StorePaths, options: OpenLevelOptions, release: Release): Promise<LevelRecords> {
  await settleLinks(paths)
  const witnessPath = join(paths.directory, 'witness')
  const witnessed = readHighWaterMark(witnessPath)
  const mustExist = witnessed !== undefined || (await holdsData(paths.database))
  await linkFiles(paths)
  const db = (options.database ?? classicLevel)(paths.database)
  // Set before the store is handed out, so before there is a group.
  let witness: HighWaterMark | undefined
  const afterGroup = (head: Head) => witness?.write(head)
  const afterClose = async () => {
    witness?.close()
    await release()
  }
  let store: LevelRecords
  try {
    store = await LevelRecords.open(db, { mustExist, afterGroup, afterClose })
    assertNotBehind(store.head, witnessed, witnessPath)
  } catch (error) {
    await db.close()
    throw await undo(paths, error)
  }
  try {
    await releaseLinks(paths)
    witness = HighWaterMark.open(witnessPath, store.head)
    await syncFolder(paths.directory)
    return store
  } catch (error) {
    await db.close()
    throw error
  }
}

function assertNotBehind(head: Head, witnessed: Witnessed | 'unreadable' | undefined, witnessPath: string): void {
  if (witnessed === undefined || witnessed === 'unreadable') return
  if (head.lastVersion >= witnessed.lastVersion && head.logSize >= witnessed.logSize) return
  throw new RegistryError(
    'CORRUPT',
    `The record store came up at version ${head.lastVersion} with ${head.logSize} log entries, but had reached ${witnessed.lastVersion} ` +
      `with ${witnessed.logSize}. If an older copy was put there on purpose, remove ${witnessPath}`,
  )
}

/** Puts the files back, and says so. Where that fails, the links stay, and the next open begins with it. */
async function undo(paths: StorePaths, error: unknown): Promise<RegistryError> {
  if (isLocked(error)) {
    await releaseLinks(paths)
    return new RegistryError('STORE_LOCKED', `Another process has the database in ${paths.database} open`, {
      cause: error,
    })
  }
  await restoreFiles(paths)
  const code = isRegistryError(error) || isDamaged(error) ? 'CORRUPT' : 'UNAVAILABLE'
  const why = isRegistryError(error) ? error.message : `LevelDB could not open ${paths.database}`
  return new RegistryError(
    code,
    `${why}. Its files were put back as they were before; try again, then restore a backup`,
    { cause: error },
  )
}

/** A first open that was killed leaves an empty log at most. */
async function holdsData(database: string): Promise<boolean> {
  for (const name of await dataFiles(database)) {
    if (/\.(?:log|ldb|sst)$/.test(name) && (await stat(join(database, name))).size > 0) return true
  }
  return false
}

const causeCode = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined

const isLocked = (error: unknown): boolean => causeCode(error) === 'LEVEL_LOCKED'
const isDamaged = (error: unknown): boolean => causeCode(error) === 'LEVEL_CORRUPTION'

/** Of blocks that were read, uncompressed; filled only as they are. At its default of 8 MiB most reads of 20,000 evidences unpack a block (a get: 119 against 110 µs). */
const BLOCK_CACHE_BYTES = 64 * 1024 * 1024

/**
 * What LevelDB gathers in memory before it writes a table: at its default of 4 MiB each batch of 65,536 fills it, and the next write waits
 * for the table (18 ms a batch; a million entries were sealed in 800 ms, with 16 MiB in 410). It costs that memory, twice at most, and
 * time at an open after a crash, which reads as much of the log again.
 */
const WRITE_BUFFER_BYTES = 16 * 1024 * 1024

const classicLevel = (folder: string): LevelDatabase =>
  new Level<string, Uint8Array>(folder, {
    keyEncoding: 'utf8',
    valueEncoding: 'view',
    writeBufferSize: WRITE_BUFFER_BYTES,
    cacheSize: BLOCK_CACHE_BYTES,
  })

/**
 * Copies the open store into `directory`, which must not hold one yet: one snapshot, durable when it answers; commits go
 * on meanwhile. `openLevelRecords` opens the copy.
 */
export async function backupLevelRecords(store: LevelRecords, directory: string): Promise<void> {
  await mkdir(join(directory, 'db'), { recursive: true, mode: 0o700 })
  const root = await realpath(directory)
  const release = await claimDirectory(root)
  const db = classicLevel(join(root, 'db'))
  try {
    await store.copyTo(db)
  } finally {
    await db.close()
    await release()
  }
  await syncFolder(root)
}

import { readdir, readFile, realpath, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeUtf8, isError, isRegistryError, messageOf, RegistryError } from '../kit/index.ts'
import { makeDirectory, nodeFiles, removeDurably, syncDirectory, writeAndClose } from '../files/durable.ts'
import { ifExists, systemAdvice } from '../files/errors.ts'
import { classicLevel, isLocked } from './database.ts'
import type { LevelDatabase } from './layout.ts'

/** Options of `lockDirectory`. */
export interface LockOptions {
  /**
   * Confirms that no process of another machine uses the directory. Whether its owner there has ended cannot be seen
   * from here, so without this the directory is refused. It changes nothing for an owner on this machine. Default:
   * false.
   */
  readonly takeOver?: boolean
  /** What to do if the owner was on another machine, for the error message. Default: what to do for a record store. */
  readonly advice?: string
}

/** Releases a directory. Never throws. */
export type ReleaseDirectory = () => Promise<void>

const STORE_ADVICE =
  'a second server of one registry forks its log. Make sure that the other one has ended and never starts again, ' +
  'then start once with --take-over (EVIDENCE_TAKE_OVER=true)'

/**
 * What this process has locked: LevelDB releases its lock if the same process tries to lock again, or if nothing refers
 * to the database any more.
 */
const locks = new Map<string, LevelDatabase | undefined>()

/**
 * Makes this process the owner of a directory, until it calls the returned function or ends, however it ends. The lock
 * is that of an empty LevelDB database in `lock`: a lock of the kernel, which also counts among containers, whose
 * process ids say nothing to each other. A kernel knows nothing of the processes of another machine, so the file
 * `lock/owner` says which machine has the directory, until it is released.
 *
 * Do not read or copy `lock/LOCK` in the process that has the directory: the kernel then releases the lock.
 *
 * @param directory path of an existing, writable directory, which then has the folder `lock`
 * @param options see `LockOptions`
 * @returns the function that releases the directory
 * @throws RegistryError `STORE_LOCKED` if the directory has an owner (the message names its pid and its host),
 *   `UNAVAILABLE` if it cannot be locked; `ENOENT` if it does not exist
 * @example
 * ```ts
 * const release = await lockDirectory('/var/lib/evidence')
 * // … this process is the only owner
 * await release()
 * ```
 */
export async function lockDirectory(
  directory: string,
  { takeOver = false, advice = STORE_ADVICE }: LockOptions = {},
): Promise<ReleaseDirectory> {
  const path = await realpath(directory)
  if (locks.has(path)) throw lockedError(path, 'this process has it open already')
  locks.set(path, undefined)
  const folder = join(path, 'lock')
  const ownerPath = join(folder, 'owner')
  const unlock = async (): Promise<void> => {
    await locks.get(path)?.close()
    locks.delete(path)
  }
  let lock: LevelDatabase | undefined
  try {
    await makeDirectory(nodeFiles, folder)
    lock = await openLock(folder)
    const owner = await readOwner(ownerPath)
    if (lock === undefined) throw lockedError(path, `${nameOf(owner)} has it open`)
    locks.set(path, lock)
    if (owner !== undefined && !takeOver && (await isElsewhere(owner)))
      throw new RegistryError(
        'STORE_LOCKED',
        `${path} was in use by ${nameOf(owner)}, and this is ${hostname()}: ${advice}, or remove ${ownerPath}`,
      )
    await writeOwner(folder, ownerPath)
  } catch (error) {
    await unlock()
    if (isRegistryError(error)) throw error
    const reason = systemAdvice(error) ?? `${rootMessageOf(error)}. Use a local disk`
    throw new RegistryError('UNAVAILABLE', `The directory ${path} cannot be locked: ${reason}`, { cause: error })
  }
  return async () => {
    // Called again, it must not release a later lock.
    if (locks.get(path) !== lock) return
    // If it stays, it names this machine, which a later owner here ignores.
    await removeDurably(ownerPath).catch(() => undefined)
    await unlock()
  }
}

/** A killed process has its locks until all of its threads have ended, which takes milliseconds. */
const LOCK_TRIES = 40
const LOCK_RETRY_MS = 50

/** Returns `undefined` if another process has the lock. */
async function openLock(folder: string): Promise<LevelDatabase | undefined> {
  for (let tries = 0; tries < LOCK_TRIES; tries += 1) {
    if (tries > 0) await delay(LOCK_RETRY_MS)
    const lock = await tryLock(folder)
    if (lock !== undefined) return lock
  }
  return undefined
}

async function tryLock(folder: string, isEmptied = false): Promise<LevelDatabase | undefined> {
  const lock = (await classicLevel())(folder)
  try {
    await lock.open()
    return lock
  } catch (error) {
    if (isHeld(error)) return undefined
    if (isEmptied) throw error
    await emptyDatabase(folder)
    return tryLock(folder, true)
  }
}

/** Whether another process has the lock. LevelDB has the same code for a file system without locks. */
const isHeld = (error: unknown): boolean =>
  isLocked(error) && /temporarily unavailable|already held/.test(rootMessageOf(error))

const rootMessageOf = (error: unknown): string =>
  isError(error) && error.cause !== undefined ? rootMessageOf(error.cause) : messageOf(error)

/**
 * Removes what a power loss may have damaged: the database holds nothing. Never its `LOCK`: that file is the lock, and
 * another process may just have got it.
 */
async function emptyDatabase(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name !== 'LOCK' && name !== 'owner') await rm(join(folder, name), { recursive: true, force: true })
}

interface Owner {
  readonly pid: string
  /** The id of the boot: containers of one machine have different host names. */
  readonly boot: string
  readonly host: string
}

/** Of a system that does not tell the id of its boot. */
const UNKNOWN_BOOT = '-'

/** Returns `undefined` if the directory was released, or if a power loss has torn the line. */
async function readOwner(path: string): Promise<Owner | undefined> {
  const [, pid, boot, host] = /^(\d+) (\S+) (.+)\n$/.exec((await ifExists(readFile(path, 'utf8'))) ?? '') ?? []
  return pid === undefined || boot === undefined || host === undefined ? undefined : { pid, boot, host }
}

/** Durable, name and bytes, before anything is written to the directory: after a power loss it must still be there. */
async function writeOwner(folder: string, path: string): Promise<void> {
  const line = `${process.pid} ${await bootId()} ${hostname()}\n`
  await writeAndClose(await nodeFiles.open(path, 'w', 0o600), [encodeUtf8(line)])
  await syncDirectory(nodeFiles, folder)
}

/** An owner of another machine has another host name and another boot. */
const isElsewhere = async ({ host, boot }: Owner): Promise<boolean> =>
  host !== hostname() && (boot === UNKNOWN_BOOT || boot !== (await bootId()))

const bootId = (): Promise<string> =>
  readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => UNKNOWN_BOOT,
  )

const nameOf = (owner: Owner | undefined): string =>
  owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`

const lockedError = (directory: string, reason: string): RegistryError =>
  new RegistryError('STORE_LOCKED', `The directory ${directory} is in use: ${reason}. Close it there first`)

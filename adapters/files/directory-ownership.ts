import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeUtf8, RegistryError } from '../kit/index.ts'
import { nodeFiles, writeNewFile } from './durable.ts'
import { errnoOf } from './errors.ts'

/**
 * Ownership of a directory: at most one owner at a time, among all stores of all processes of a machine.
 *
 * Owners are files `owner.1`, `owner.2`, … Each is created once and complete, by a hard link, which fails if the name
 * exists. The file with the highest number names the owner. Releasing a directory creates a file without an owner, so
 * numbers are never used again. To take over from a dead owner, a process creates the next number; of all that try, one
 * succeeds.
 */
const OWNER_FILE = /^owner\.(\d+)$/
const DRAFT_FILE = /^owner-[0-9a-f-]{36}\.draft$/
const DRAFT_LIFE_MS = 60_000
const ZOMBIE_POLL_MS = 5
/** Polls for 2 s in total. A killed process disappears within milliseconds. */
const MAX_ZOMBIE_POLLS = 400

interface Owner {
  /** `null` after the directory was released. */
  readonly pid: number | null
  /**
   * When the process started, in clock ticks since the boot: pids are used again. `null` if the system does not tell.
   */
  readonly started: string | null
  /** The id of the boot; `null` if the system does not tell. */
  readonly boot: string | null
  readonly host: string
  /** The inode of the directory: a copy of the directory has another one. Missing in files of earlier versions. */
  readonly inode?: string
}

/**
 * Releases the directory. Never throws: if the release cannot be written to the disk, another process can own the
 * directory only after this one has ended.
 */
export type ReleaseDirectory = () => Promise<void>

export interface ClaimOptions {
  /**
   * Confirms that no process of another machine uses the directory. Whether its owner there has ended cannot be seen
   * from here, so without this the directory is refused. It changes nothing for an owner on this machine. Default:
   * false.
   */
  readonly takeOver?: boolean
  /** What to do if the owner was on another machine, for the error message. Default: what to do for a record store. */
  readonly advice?: string
}

const STORE_ADVICE =
  'a second server of one registry forks its log. Make sure that the other one has ended and never starts again, ' +
  'then start once with --take-over (EVIDENCE_TAKE_OVER=true)'

/** Owner files that this process released but could not replace (EMFILE, a full disk): the pid in them is ignored. */
const releasedFiles = new Set<string>()

/**
 * Makes the caller the owner of a directory, until it calls the returned function or its process ends. Works among the
 * processes of one machine, on a local file system with hard links.
 *
 * @param directory path of an existing, writable directory
 * @param options see `ClaimOptions`
 * @returns the function that releases the directory
 * @throws RegistryError `STORE_LOCKED` if the directory has an owner (the message names its pid); errors of the file
 *   system are thrown unchanged
 * @example
 * ```ts
 * const release = await claimDirectory('/var/lib/evidence')
 * // … this process is the only owner
 * await release()
 * ```
 */
export async function claimDirectory(
  directory: string,
  { takeOver = false, advice = STORE_ADVICE }: ClaimOptions = {},
): Promise<ReleaseDirectory> {
  const self = { ...(await identify(process.pid)), inode: await inodeOf(directory) }
  for (;;) {
    const [highest = 0] = await ownerNumbers(directory)
    await assertFree(directory, highest, { inode: self.inode, takeOver, advice })
    const own = highest + 1
    if (!(await createOwnerFile(directory, own, self))) continue
    // The path may have been released before, when it named another directory.
    releasedFiles.delete(pathOf(directory, own))
    const release = () => releaseOwner(directory, own, self)
    try {
      // Since the first listing, others may have claimed, released and removed lower numbers, which made `own` free
      // again.
      const [newest = 0, ...older] = await ownerNumbers(directory)
      if (newest === own) {
        await removeOwnerFiles(directory, older)
        await removeOldDrafts(directory)
        return release
      }
      await removeOwnerFiles(directory, [own])
    } catch (error) {
      await release()
      throw error
    }
  }
}

/** A file that was copied here with the directory names the owner of the original, which does not use this copy. */
async function assertFree(
  directory: string,
  number: number,
  { inode, takeOver, advice }: Required<ClaimOptions> & { readonly inode: string },
): Promise<void> {
  if (number === 0 || releasedFiles.has(pathOf(directory, number))) return
  const owner = await readOwner(directory, number)
  if (owner === undefined) return
  // First, because inodes of two machines say nothing about each other.
  if (await isElsewhere(owner)) {
    if (takeOver) return
    throw elsewhereError(pathOf(directory, number), owner, { directory, advice })
  }
  if (owner.inode !== undefined && owner.inode !== inode) return
  if (await isAlive(owner)) throw lockedError(directory, owner, pathOf(directory, number))
}

/** An owner that was not released, of another machine: it has another name and another boot. */
const isElsewhere = async ({ pid, host, boot }: Owner): Promise<boolean> =>
  pid !== null && host !== hostname() && (boot === null || boot !== (await bootId()))

const elsewhereError = (
  path: string,
  { pid, host }: Owner,
  { directory, advice }: { readonly directory: string; readonly advice: string },
): RegistryError =>
  new RegistryError(
    'STORE_LOCKED',
    `${directory} was in use by process ${pid} on ${host}, and this is ${hostname()}: ${advice}, or remove ${path}`,
  )

async function releaseOwner(directory: string, own: number, self: Owner): Promise<void> {
  releasedFiles.add(pathOf(directory, own))
  try {
    await createOwnerFile(directory, own + 1, { ...self, pid: null })
    await removeOwnerFiles(directory, [own])
    releasedFiles.delete(pathOf(directory, own))
  } catch {
    // The path stays in `releasedFiles`.
  }
}

const inodeOf = async (directory: string): Promise<string> => String((await stat(directory, { bigint: true })).ino)

const pathOf = (directory: string, number: number): string => join(directory, `owner.${number}`)

/** The numbers of the owner files, highest first. */
async function ownerNumbers(directory: string): Promise<number[]> {
  const numbers: number[] = []
  for (const name of await readdir(directory)) {
    const match = OWNER_FILE.exec(name)
    if (match !== null) numbers.push(Number(match[1]))
  }
  return numbers.sort((a, b) => b - a)
}

async function readOwner(directory: string, number: number): Promise<Owner | undefined> {
  try {
    const owner: Owner = JSON.parse(await readFile(pathOf(directory, number), 'utf8'))
    return owner
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw new RegistryError(
      'STORE_LOCKED',
      `${pathOf(directory, number)} cannot be read: remove it if no process uses ${directory}`,
      { cause: error },
    )
  }
}

/**
 * Returns false if a file with that number exists. The bytes are synced before the file gets its name, because an empty
 * owner file after a power loss could not be distinguished from a damaged one.
 */
async function createOwnerFile(directory: string, number: number, owner: Owner): Promise<boolean> {
  const draft = join(directory, `owner-${randomUUID()}.draft`)
  try {
    await writeNewFile(nodeFiles, draft, [encodeUtf8(JSON.stringify(owner))])
    await link(draft, pathOf(directory, number))
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function removeOwnerFiles(directory: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await rm(pathOf(directory, number), { force: true })
}

/** Removes drafts of processes that were killed while they claimed the directory. */
async function removeOldDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!DRAFT_FILE.test(name)) continue
    const stats = await stat(join(directory, name)).catch(() => undefined)
    if (stats !== undefined && Date.now() - stats.mtimeMs > DRAFT_LIFE_MS)
      await rm(join(directory, name), { force: true })
  }
}

async function identify(pid: number): Promise<Owner> {
  return { pid, started: (await processStat(pid))?.started ?? null, boot: await bootId(), host: hostname() }
}

async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.pid === null) return false
  const boot = await bootId()
  if (owner.boot !== null && boot !== null && owner.boot !== boot) return false
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (errnoOf(error) !== 'EPERM') return false
  }
  return owner.started === null || isSameProcess(owner.pid, owner.started)
}

/** Whether the process with this pid is the one that started then, and still has files open. */
async function isSameProcess(pid: number, started: string): Promise<boolean> {
  for (let poll = 0; poll < MAX_ZOMBIE_POLLS; poll += 1) {
    const current = await processStat(pid)
    if (current === undefined) return true
    if (current.started !== started || current.state === 'X') return false
    if (current.state !== 'Z') return true
    // A zombie that its parent has not reaped. Its files stay open and locked until the last of its threads has ended.
    if (current.threads <= 1) return false
    await delay(ZOMBIE_POLL_MS)
  }
  return true
}

interface ProcessStat {
  readonly state: string
  readonly threads: number
  readonly started: string
}

/** Reads fields 3, 20 and 22 of proc_pid_stat(5). The name in field 2 may hold spaces and brackets. */
async function processStat(pid: number): Promise<ProcessStat | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, threads, started] = [fields[0], fields[17], fields[19]]
    return state === undefined || started === undefined ? undefined : { state, threads: Number(threads), started }
  } catch {
    return undefined
  }
}

async function bootId(): Promise<string | null> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
  } catch {
    return null
  }
}

/** If the system does not tell when processes started, the pid may be that of another program by now. */
function lockedError(directory: string, { pid, host, started }: Owner, path: string): RegistryError {
  const owner = pid === process.pid ? 'this process has it open already' : `process ${pid} on ${host} has it open`
  const wayOut = started === null && pid !== process.pid ? `. If that is another program, remove ${path}` : ''
  const message = `The directory ${directory} is in use: ${owner}. Close it there first${wayOut}`
  return new RegistryError('STORE_LOCKED', message)
}

import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RegistryError } from '../../core/errors.ts'

/**
 * Who owns a store's directory: at most one open store, of all in all processes of a machine. LevelDB's own lock is no
 * guard: a second open in the same process, or reading its `LOCK` file, releases it.
 *
 * Owners are files `owner.1`, `owner.2`, …, each made once and whole (a hard link fails where the name exists). The
 * highest one says who owns; a closed store leaves one that says nobody, so the numbers never start anew. A dead owner
 * is succeeded by making the next number: of all who try, one can.
 */
const NAME = /^owner\.(\d+)$/
const DRAFT = /^owner-[0-9a-f-]{36}\.draft$/
const DRAFT_LIFE_MS = 60_000
/** 2 s: a process that was killed is gone within milliseconds. */
const MAX_LOOKS_AT_DYING = 400

interface Owner {
  /** `null` once the store was closed. */
  readonly pid: number | null
  /** The process's start in clock ticks since the boot, and the boot's id: a pid alone is used again. `null` where the system does not tell. */
  readonly started: string | null
  readonly boot: string | null
  readonly host: string
}

/** Gives the directory back. Never throws: what cannot be written then holds at most until this process ends. */
export type Release = () => Promise<void>

/** Owner files that this process gave up but could not replace (EMFILE, a full disk): its pid in them means nothing. */
const givenUp = new Set<string>()

/** Makes this store the owner. Throws `STORE_LOCKED` while another is, with its pid. */
export async function claimDirectory(directory: string): Promise<Release> {
  const self = await identify(process.pid)
  for (;;) {
    const [highest = 0] = await generations(directory)
    await assertFree(directory, highest)
    const mine = highest + 1
    if (!(await make(directory, mine, self))) continue
    // The folder may be another one of the same name.
    givenUp.delete(pathOf(directory, mine))
    const release = () => giveUp(directory, mine, self)
    try {
      // While we looked, others may have come, gone, and removed the numbers below theirs, so that ours was free again.
      const [newest = 0, ...older] = await generations(directory)
      if (newest === mine) {
        await removeAll(directory, older)
        await removeOldDrafts(directory)
        return release
      }
      await removeAll(directory, [mine])
    } catch (error) {
      await release()
      throw error
    }
  }
}

async function assertFree(directory: string, generation: number): Promise<void> {
  if (generation === 0 || givenUp.has(pathOf(directory, generation))) return
  const owner = await readOwner(directory, generation)
  if (owner !== undefined && (await isAlive(owner))) throw lockedBy(directory, owner)
}

async function giveUp(directory: string, mine: number, self: Owner): Promise<void> {
  givenUp.add(pathOf(directory, mine))
  try {
    await make(directory, mine + 1, { ...self, pid: null })
    await removeAll(directory, [mine])
    givenUp.delete(pathOf(directory, mine))
  } catch {
    // It stays in `givenUp`.
  }
}

const pathOf = (directory: string, generation: number): string => join(directory, `owner.${generation}`)

/** Highest first. */
async function generations(directory: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir(directory)) {
    const match = NAME.exec(name)
    if (match !== null) found.push(Number(match[1]))
  }
  return found.sort((a, b) => b - a)
}

async function readOwner(directory: string, generation: number): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(pathOf(directory, generation), 'utf8')) as Owner
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw new RegistryError(
      'STORE_LOCKED',
      `${pathOf(directory, generation)} cannot be read: remove it if no process uses ${directory}`,
      { cause: error },
    )
  }
}

/** False where that number was made before. */
async function make(directory: string, generation: number, owner: Owner): Promise<boolean> {
  const draft = join(directory, `owner-${randomUUID()}.draft`)
  await writeFile(draft, JSON.stringify(owner), { mode: 0o600 })
  try {
    await link(draft, pathOf(directory, generation))
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function removeAll(directory: string, numbers: readonly number[]): Promise<void> {
  for (const generation of numbers) await rm(pathOf(directory, generation), { force: true })
}

/** What a process that was killed while it claimed left. */
async function removeOldDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!DRAFT.test(name)) continue
    const found = await stat(join(directory, name)).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > DRAFT_LIFE_MS)
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
    // EPERM: it runs, as another user.
    if (!isCode(error, 'EPERM')) return false
  }
  if (owner.started === null) return true
  for (let look = 0; look < MAX_LOOKS_AT_DYING; look += 1) {
    const now = await processStat(owner.pid)
    if (now === undefined) return true
    if (now.started !== owner.started || now.state === 'X') return false
    if (now.state !== 'Z') return true
    // A zombie whose parent has not noticed. Until the last of its threads is gone, its files are open and locked.
    if (now.threads <= 1) return false
    await sleep(5)
  }
  return true
}

interface ProcessStat {
  readonly state: string
  readonly threads: number
  readonly started: string
}

/** Fields 3, 20 and 22 of proc_pid_stat(5). The name in field 2 may hold spaces and brackets. */
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

function lockedBy(directory: string, { pid, host }: Owner): RegistryError {
  const who = pid === process.pid ? 'this process has it open already' : `process ${pid} on ${host} has it open`
  return new RegistryError('STORE_LOCKED', `The record store in ${directory} is in use: ${who}. Close that one first`)
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

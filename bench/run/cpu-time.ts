import { readdir, readFile } from 'node:fs/promises'

/** USER_HZ, the unit of the times in `/proc`. It is 100 on all usual Linux machines. */
const TICKS_PER_SECOND = 100

interface ProcessTimes {
  readonly parent: number
  /** User and system time of the process and of its children that have ended, in ticks. */
  readonly ticks: number
}

/**
 * Returns the CPU time of these processes and all their descendants, in ms, or `undefined` on systems without `/proc`.
 * A process that has ended counts if its parent waited for it. The resolution is 10 ms for each process.
 * Source: proc_pid_stat(5).
 */
export async function cpuMsOf(pids: readonly number[]): Promise<number | undefined> {
  const times = await readAllTimes()
  if (times.size === 0) return undefined
  const isIncluded = (pid: number): boolean => {
    const parent = times.get(pid)?.parent
    return pids.includes(pid) || (parent !== undefined && isIncluded(parent))
  }
  const ticks = [...times].filter(([pid]) => isIncluded(pid)).reduce((sum, [, own]) => sum + own.ticks, 0)
  return (ticks * 1_000) / TICKS_PER_SECOND
}

async function readAllTimes(): Promise<Map<number, ProcessTimes>> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined)))
  return new Map(pids.flatMap((pid, i) => (stats[i] === undefined ? [] : [[pid, parseTimes(stats[i])] as const])))
}

function parseTimes(stat: string): ProcessTimes {
  // Field 2 is the program's name in brackets and can contain spaces. Field 3 follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return { parent: field(4), ticks: field(14) + field(15) + field(16) + field(17) }
}

export interface Rate {
  readonly perSecond: number
  /**
   * CPU time for each operation, over all threads. Other programs on the machine change it much less than `perSecond`.
   * `NaN` if the system does not report it.
   */
  readonly cpuMicroseconds: number
}

export const perSecond = ({ perSecond: rate }: Rate): number => rate

export const cpu = ({ cpuMicroseconds }: Rate): number => cpuMicroseconds

/** What a load has done. */
export interface Work {
  readonly completed: number
  readonly seconds: number
}

/** Runs operations of these processes and all their descendants. */
export const measureRate = <T extends Work>(pids: readonly number[], run: () => Promise<T>): Promise<T & Rate> =>
  rateOf(run, async () => (await cpuMsOf(pids)) ?? Number.NaN)

/** Runs operations of this process alone, whose CPU time is known exactly. */
export const measureOwnRate = <T extends Work>(run: () => Promise<T>): Promise<T & Rate> =>
  rateOf(run, async () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  })

async function rateOf<T extends Work>(run: () => Promise<T>, cpuMs: () => Promise<number>): Promise<T & Rate> {
  const cpuBefore = await cpuMs()
  const result = await run()
  const { completed, seconds } = result
  const cpuMicroseconds = (((await cpuMs()) - cpuBefore) * 1_000) / completed
  return { ...result, perSecond: completed / seconds, cpuMicroseconds }
}

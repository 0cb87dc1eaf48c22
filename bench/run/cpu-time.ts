import { readdir, readFile } from 'node:fs/promises'

/** What Linux on all its usual machines counts in: USER_HZ, per second. */
const TICKS_PER_SECOND = 100

interface ProcessTimes {
  readonly parent: number
  /** Of itself and of its children that have ended, in user and system mode, ticks. */
  readonly ticks: number
}

/**
 * CPU time that these processes and all below them have used, ms; what has ended counts where its parent waited for it. By `/proc`
 * (proc_pid_stat(5)), in steps of 10 ms for each process; `undefined` where there is none, which is anywhere but on Linux.
 */
export async function cpuMsOf(pids: readonly number[]): Promise<number | undefined> {
  const times = await allTimes()
  if (times.size === 0) return undefined
  const isOurs = (pid: number): boolean => {
    const parent = times.get(pid)?.parent
    return pids.includes(pid) || (parent !== undefined && isOurs(parent))
  }
  const ticks = [...times].filter(([pid]) => isOurs(pid)).reduce((sum, [, own]) => sum + own.ticks, 0)
  return (ticks * 1_000) / TICKS_PER_SECOND
}

async function allTimes(): Promise<Map<number, ProcessTimes>> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined)))
  return new Map(pids.flatMap((pid, i) => (stats[i] === undefined ? [] : [[pid, timesIn(stats[i])] as const])))
}

function timesIn(stat: string): ProcessTimes {
  // The second field is the program's name in brackets, and may hold anything; the next is the third.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return { parent: field(4), ticks: field(14) + field(15) + field(16) + field(17) }
}

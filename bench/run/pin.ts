import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * Lets a process, all its threads and the children that it starts later run on these cores only. Returns whether it
 * does: that takes Linux with `taskset` (package util-linux).
 */
export const pin = (pid: number | undefined, cores: readonly number[]): Promise<boolean> =>
  promisify(execFile)('taskset', ['-a', '-c', '-p', cores.join(), String(pid)]).then(
    () => true,
    () => false,
  )

/** The cores that this process may use, none on systems without `/proc`. Source: proc_pid_status(5). */
export async function usableCores(): Promise<readonly number[]> {
  const status = await readFile('/proc/self/status', 'latin1').catch(() => '')
  const [, list = ''] = /^Cpus_allowed_list:\s*(.+)$/m.exec(status) ?? []
  return list
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    })
}

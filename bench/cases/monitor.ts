import type { ChildProcess } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp, listen } from '../../server/index.ts'
import { formatFinding, roundFigures, type BenchCase } from '../run/case.ts'
import { startChild } from '../run/child.ts'
import { cpuMsOf } from '../run/cpu-time.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { openBenchRegistry } from '../workload/registry.ts'
import { growthStep } from './growth.ts'

const [EVIDENCES, EVIDENCES_QUICK] = [1_000_000, 10_000]
const SAMPLE_MS = 100
const LISTEN = { host: '127.0.0.1', port: 0, uploadIdleMs: 30_000, shutdownMs: 1_000 }

/** Follows a log from its first entry to its last, with the command as a process of its own, over HTTP. */
export const monitor: BenchCase = {
  name: 'monitor',
  measures: 'how fast a monitor reads and verifies a whole log over HTTP, and its memory (--evidences 10000000)',
  columns: {
    entries: 'entries',
    entriesPerSecond: 'entries/s',
    entriesPerCpuSecond: 'entries/s of one core',
    peakMiB: 'peak memory, MiB',
  },
  async run({ quick, evidences = quick ? EVIDENCES_QUICK : EVIDENCES }) {
    const row = roundFigures(await inTemporaryFolder((directory) => followOnce(directory, evidences)))
    return { settings: { store: 'LevelDB, synced', rounds: 1 }, rows: [row], findings: row }
  },
  conclude: (result) =>
    `A monitor reads and verifies ${formatFinding(result, 'entriesPerCpuSecond')} entries per second on one core, ` +
    `in ${formatFinding(result, 'peakMiB')} MiB.`,
}

async function followOnce(directory: string, evidences: number) {
  await growthStep('fill', directory, evidences)
  const bench = await openBenchRegistry({ directory })
  const { registry } = bench
  const server = await listen(createApp({ registry, addressLimitPerMinute: 0 }), LISTEN)
  try {
    const [policy, state] = [join(directory, 'policy.json'), join(directory, 'monitor')]
    await writeFile(policy, JSON.stringify(await registry.log.policy()))
    const args = ['monitor', `http://127.0.0.1:${server.port}`, '--once', '--policy', policy, '--state', state]
    const { seconds, cpuSeconds, peakMiB } = await measureToEnd(startChild('../server/cli.ts', args))
    const entries = registry.status().sealedSize
    return { entries, entriesPerSecond: entries / seconds, entriesPerCpuSecond: entries / cpuSeconds, peakMiB }
  } finally {
    await server.close()
    await bench.close()
  }
}

/** Throws if the process fails. Its peak memory is the resident set, with mapped files, as the system counts it. */
async function measureToEnd(child: ChildProcess) {
  const [begin, pid = 0] = [performance.now(), child.pid]
  let [cpuMs, peakKiB] = [0, 0]
  while (child.exitCode === null && child.signalCode === null) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    peakKiB = Math.max(peakKiB, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0))
    cpuMs = Math.max(cpuMs, (await cpuMsOf([pid])) ?? Number.NaN)
    await delay(SAMPLE_MS)
  }
  if (child.exitCode !== 0) throw new Error(`the monitor ended with ${child.exitCode ?? child.signalCode}`)
  return { seconds: (performance.now() - begin) / 1_000, cpuSeconds: cpuMs / 1_000, peakMiB: peakKiB / 1_024 }
}

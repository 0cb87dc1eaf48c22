import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLevelRecords, type LevelRecords } from '../../adapters/level/index.ts'
import { shown, type Bench } from '../run/case.ts'

/**
 * Synced commits a second of the Level store, each as large as creating an evidence: two checks, eight records of 500
 * bytes, a counter, a log entry. Then appending and reading a million log entries.
 * The store lies below TMPDIR, which must be a real disk.
 */
const FAMILIES = ['ex', 'ev', 'vh', 'tx', 'el', 'ec', 'fi', 'fo']
const value = new Uint8Array(randomBytes(500))

async function commitOne(store: LevelRecords): Promise<void> {
  const id = randomUUID()
  const result = await store.commit({
    checks: ['ex', 'ev'].map((family) => ({ key: `${family}/${id}`, version: null })),
    writes: FAMILIES.map((family) => ({ key: `${family}/${id}`, value })),
    adds: [{ key: 'count', delta: 1 }],
    append: new Uint8Array(randomBytes(32)),
  })
  if (!result.ok) throw new Error('a new key was in conflict')
}

async function commitsPerSecond(store: LevelRecords, inFlight: number, seconds: number): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  let committed = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      await commitOne(store)
      committed += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  return committed / ((performance.now() - start) / 1000)
}

/** Rows of the result: what was done, and what it came to. */
export const store: Bench = {
  name: 'store',
  about: 'synced commits of the Level store, and its log, beside nothing else',
  async run({ quick, progress }) {
    const seconds = quick ? 1 : 4
    const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
    const rows: { what: string; value: number; unit: string }[] = []
    const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const start = performance.now()
      await work()
      rows.push({ what, value: shown(performance.now() - start), unit: 'ms' })
      progress(what)
    }
    try {
      const records = await openLevelRecords(directory)
      for (const inFlight of [1, 16, 256]) {
        rows.push({
          what: `${inFlight} in flight`,
          value: shown(await commitsPerSecond(records, inFlight, seconds)),
          unit: 'commits/s',
        })
        progress(`${inFlight} in flight`)
      }
      const pieces = quick ? 1 : 16
      await timed(`append ${pieces} × 65,536 entries`, async () => {
        for (let i = 0; i < pieces; i += 1) await records.commit({ append: new Uint8Array(randomBytes(65_536 * 32)) })
      })
      await timed(`read ${pieces} × 62,500 entries`, () => records.readLog(0, pieces * 62_500))
      await timed('close', () => records.close())
      await timed('open', async () => (await openLevelRecords(directory)).close())
    } finally {
      await rm(directory, { recursive: true })
    }
    return {
      settings: {
        checks: 2,
        puts: FAMILIES.length,
        putBytes: value.length,
        adds: 1,
        entries: 1,
        synced: true,
        seconds,
      },
      rows,
      findings: {},
    }
  },
}

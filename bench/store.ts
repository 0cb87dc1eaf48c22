import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLevelRecords, type LevelRecords } from '../adapters/level/index.ts'

/**
 * Synced commits a second of the Level store, each as large as creating an evidence: two checks, eight records of 500
 * bytes, a counter, a log entry. Then appending and reading a million log entries.
 * `node --import tsx bench/store.ts [seconds a step]`; the store lies below TMPDIR, which must be a real disk.
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

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  await work()
  console.log(`${name}: ${(performance.now() - start).toFixed(0)} ms`)
}

const seconds = Number(process.argv[2] ?? 4)
const directory = await mkdtemp(join(tmpdir(), 'er-bench-'))
try {
  const store = await openLevelRecords(directory)
  for (const inFlight of [1, 16, 256]) {
    const rate = await commitsPerSecond(store, inFlight, seconds)
    console.log(`${inFlight} in flight: ${rate.toFixed(0)} commits/s`)
  }
  await timed('append 1,048,576 entries in 16 commits', async () => {
    for (let i = 0; i < 16; i += 1) await store.commit({ append: new Uint8Array(randomBytes(65_536 * 32)) })
  })
  await timed('read 1,000,000 entries', () => store.readLog(0, 1_000_000))
  await timed('close', () => store.close())
  await timed('open', async () => (await openLevelRecords(directory)).close())
} finally {
  await rm(directory, { recursive: true })
}

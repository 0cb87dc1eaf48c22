import { mkdir, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Bench } from './run/case.ts'
import { blobs } from './cases/blobs.ts'
import { engine } from './cases/engine.ts'
import { growth } from './cases/growth.ts'
import { http } from './cases/http.ts'
import { ingest } from './cases/ingest.ts'
import { limit } from './cases/limit.ts'
import { machine } from './run/machine.ts'
import { postgres } from './cases/postgres.ts'
import { scaling } from './cases/scaling.ts'
import { sealing } from './cases/sealing.ts'
import { servers } from './cases/servers.ts'
import { store } from './cases/store.ts'

/** `npm run bench [-- --quick] [-- --only growth,…]`: runs, shows how far it is, and writes `bench/results/NAME.json`. */
const BENCHES: readonly Bench[] = [
  engine,
  limit,
  scaling,
  sealing,
  store,
  ingest,
  http,
  growth,
  blobs,
  postgres,
  servers,
]

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } } })
const names = values.only?.split(',') ?? BENCHES.map(({ name }) => name)
const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name))
if (unknown.length > 0) {
  console.error(`No such benchmark: ${unknown.join(', ')}. There are: ${BENCHES.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

for (const bench of BENCHES.filter(({ name }) => names.includes(name))) {
  console.log(`\n${bench.name}: ${bench.about}`)
  const [begun, where] = [performance.now(), machine()]
  const result = await bench.run({ quick: values.quick, progress: (text) => console.error(`  … ${text}`) })
  console.table(result.rows)
  console.log(result.findings)
  const seconds = Math.round((performance.now() - begun) / 1_000)
  console.log(`  took ${seconds} s`)
  if (values.quick) continue
  await mkdir('bench/results', { recursive: true })
  const record = { bench: bench.name, at: new Date().toISOString(), machine: where, seconds, ...result }
  await writeFile(`bench/results/${bench.name}.json`, `${JSON.stringify(record, null, 2)}\n`)
}

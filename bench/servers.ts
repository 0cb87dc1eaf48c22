import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { PostgresServer } from '../test/postgres-server.ts'
import { ServerProcess } from '../test/server/server-process.ts'
import { shown, type Bench } from './bench.ts'

const OPERATOR_KEY = 'operator-key-of-the-benchmark'
const CONNECTIONS = 63
const HEADERS = { 'x-api-key': OPERATOR_KEY, 'content-type': 'application/json' }

/** Creates and reads over HTTP, one server and three on one synced PostgreSQL, with as many connections in all. All on this machine. */
export const servers: Bench = {
  name: 'servers',
  about: 'creates and reads over HTTP: one server and three on one PostgreSQL',
  async run({ quick, progress }) {
    const seconds = quick ? 2 : 10
    const rows = []
    for (const count of [1, 3]) {
      const cluster = await startCluster(count)
      try {
        const ids: string[] = []
        const creates = await perSecond(cluster.urls, seconds, () => {
          const externalId = `item ${ids.length}`
          ids.push(externalId)
          const body = { externalId, name: externalId, categoryName: 'Vehicles', subcategoryName: 'Cars' }
          return { method: 'POST', path: '/api/v1/evidences/bench/evidence', body: JSON.stringify(body) }
        })
        progress(`${count} servers: ${shown(creates)} creates/s`)
        // Those that were cut at the end may not be there.
        const known = ids.slice(0, -CONNECTIONS)
        const reads = await perSecond(cluster.urls, seconds, () => {
          const id = known[Math.floor(Math.random() * known.length)] as string
          return { method: 'GET', path: `/api/v1/evidences/bench/evidence/${encodeURIComponent(id)}` }
        })
        progress(`${count} servers: ${shown(reads)} reads/s`)
        rows.push({ servers: count, createsPerSecond: shown(creates), readsPerSecond: shown(reads) })
      } finally {
        await cluster.close()
      }
    }
    const [one, three] = rows
    return {
      settings: { connections: CONNECTIONS, seconds, synced: true },
      rows,
      findings: {
        createsThreeToOne: shown((three?.createsPerSecond ?? 0) / (one?.createsPerSecond ?? 1)),
        readsThreeToOne: shown((three?.readsPerSecond ?? 0) / (one?.readsPerSecond ?? 1)),
      },
    }
  },
}

async function startCluster(count: number): Promise<{ readonly urls: readonly string[]; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-servers-'))
  const database = await PostgresServer.start({ synced: true })
  await writeFile(join(directory, 'secret'), randomBytes(32))
  const env = {
    EVIDENCE_RECORDS: 'postgres',
    EVIDENCE_POSTGRES_URL: database.url(),
    EVIDENCE_SECRET_FILE: join(directory, 'secret'),
    EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
    EVIDENCE_ANCHOR: 'none',
    EVIDENCE_TSA: 'none',
    EVIDENCE_SEAL_MAX_WAIT_MS: '5000',
    EVIDENCE_LOG_LEVEL: 'info',
  }
  const running = Array.from({ length: count }, (_, i) => new ServerProcess(join(directory, String(i)), env))
  const close = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()))
    await database.stop()
    await rm(directory, { recursive: true })
  }
  try {
    const urls = await Promise.all(running.map((server) => server.ready()))
    const response = await fetch(`${urls[0]}/api/v1/sourceSystem/bench`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ name: 'bench' }),
    })
    if (!response.ok) throw new Error(`the company was refused: ${response.status} ${await response.text()}`)
    return { urls, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function perSecond(
  urls: readonly string[],
  seconds: number,
  next: () => { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string },
): Promise<number> {
  const results = await Promise.all(
    urls.map((url) =>
      autocannon({
        url,
        duration: seconds,
        connections: CONNECTIONS / urls.length,
        headers: HEADERS,
        requests: [{ setupRequest: (request) => ({ ...request, ...next() }) }],
      }),
    ),
  )
  const refused = results.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0)
  if (refused > 0) throw new Error(`${refused} requests failed`)
  return results.reduce((sum, { requests, duration }) => sum + requests.total / duration, 0)
}

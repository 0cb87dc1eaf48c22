import { formatCell, formatFinding, median, quantile, ratiosOf, roundFigure } from '../run/case.ts'
import type { BenchCase, BenchContext } from '../run/case.ts'
import { startServer, stopChild, type ServerProcess } from '../run/child.ts'
import { cpu, measureRate, perSecond, type Rate } from '../run/cpu-time.ts'
import { barsOf } from '../run/picture.ts'
import type { Row } from '../run/row.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { API_KEY, CONNECTIONS, loadOf, Service, startRegistryServer } from '../workload/service.ts'

const EVIDENCES = 20_000
/** Short turns, because a machine that is shared with others can change its speed each second. */
const SECONDS = 0.7
const ROUNDS = 8
const WARM_UP_SECONDS = 3
const BARE = 'bare Koa route'
const GET = 'get, of 1,000 evidences'
const plainly = (request: string): string => `plain server: ${request}`

/**
 * The compiled server over HTTP with 64 connections, as a process of its own with its log, metrics, ledger and
 * timestamp authority.
 *
 * Compared with a bare Koa route that returns the same JSON, and with a plain server on the same packages that does
 * what any server must for a get and for a create. Fair because all are measured in turns with the same client, and
 * by the CPU time of their processes. The server keeps pages of histories, lists and proofs, so requests are measured
 * that are often the same, and that rarely are.
 */
export const http: BenchCase = {
  name: 'http',
  measures: `the server over HTTP with ${CONNECTIONS} connections, against a bare Koa route and a plain server`,
  columns: {
    request: 'request',
    requestsPerSecond: 'requests/s',
    p50Ms: 'median latency, ms',
    p99Ms: '99th percentile, ms',
    cpuMicroseconds: 'server, CPU µs per request',
    peer: 'compared with',
    rateOfPeer: 'rate to the rate of that',
    ofPeer: 'CPU time of that to ours',
  },
  picture: {
    title: 'HTTP requests with 64 connections',
    unit: 'requests per second (logarithmic)',
    isLogarithmic: true,
    bars: barsOf(({ request }) => String(request), { requestsPerSecond: 'requests' }),
  },
  run: (context) =>
    inTemporaryFolder(async (directory) => {
      const servers: ServerProcess[] = []
      const start = async (server: Promise<ServerProcess>) => servers[servers.push(await server) - 1] ?? server
      try {
        const ours = await start(startRegistryServer(directory))
        const service = new Service(ours.url)
        const evidences = context.quick ? 2_000 : EVIDENCES
        await service.fill(evidences, context.progress)
        const page = JSON.stringify(await service.requestJson(service.getFirst().path))
        const bare = await start(startServer({ directory, module: './peers/bare-koa.ts', args: [page] }))
        const args = [directory, String(evidences), page, API_KEY]
        const plain = await start(startServer({ directory, module: './peers/plain-server.ts', args }))
        const measured = await measure(loadsOf(service, { ours, bare, plain }), context)
        const settings = { ...measured.settings, ...SETTINGS, evidences, bodyBytesOfGet: page.length }
        return { ...measured, settings }
      } finally {
        for (const { child } of servers) await stopChild(child)
      }
    }),
  conclude: (result) =>
    `The server handles ${formatCell(result, { where: { request: GET }, get: 'requestsPerSecond' })} gets and ` +
    `${formatCell(result, { where: { request: 'create' }, get: 'requestsPerSecond' })} creates per second; by CPU ` +
    `time a get that is not kept makes ${formatFinding(result, 'getOfPlain')} of the requests of a plain server on ` +
    `the same packages, and a kept one ${formatFinding(result, 'keptGetOfBareKoa')} of those of a bare Koa route.`,
}

const SETTINGS = {
  connections: CONNECTIONS,
  store: 'LevelDB, each group one synced write',
  server:
    'compiled, with its log, metrics, local ledger and authority; pages of lists and histories, and ' +
    'attestations of proofs are cached',
}

interface Load {
  readonly name: string
  readonly pid: number
  readonly send: ReturnType<typeof loadOf>
  /** The load that it is compared with, and the name of the finding. */
  readonly peer?: readonly [load: string, finding: string]
}

type Servers = Readonly<Record<'ours' | 'bare' | 'plain', ServerProcess>>

function loadsOf(service: Service, servers: Servers): readonly Load[] {
  const load =
    (server: ServerProcess, base = '/api/v1') =>
    (name: string, request: Parameters<typeof loadOf>[1], peer?: Load['peer']): Load => ({
      name,
      pid: server.child.pid ?? 0,
      send: loadOf(server.url + base, request),
      ...(peer && { peer }),
    })
  const [ours, plain] = [load(servers.ours), load(servers.plain)]
  const get = 'get, each of another evidence'
  const withFile = 'create with a file of 1024 bytes'
  return [
    load(servers.bare)(BARE, service.getOne),
    load(servers.ours, '')('/livez, which reads no record', () => ({ method: 'GET', path: '/livez' }), [
      BARE,
      'livezOfBareKoa',
    ]),
    ours(GET, service.getOneOfFew, [BARE, 'keptGetOfBareKoa']),
    plain(plainly(get), service.getOne),
    ours(get, service.getOne, [plainly(get), 'getOfPlain']),
    ours('list, the same page of 100', service.listPage),
    ours('list, random pages of 100', service.listRandomPage),
    ours('verify, each of another evidence', service.verify),
    ours('verify, of 1,000 evidences', service.verifyOneOfFew),
    plain(plainly('create'), service.create),
    ours('create', service.create, [plainly('create'), 'createOfPlain']),
    plain(plainly(withFile), service.createWithFile),
    ours(withFile, service.createWithFile, [plainly(withFile), 'createWithFileOfPlain']),
  ]
}

/** Of one round. */
interface Figures extends Rate {
  readonly p50: number
  readonly p99: number
}

async function measure(loads: readonly Load[], { quick, progress }: BenchContext) {
  const [rounds, seconds] = quick ? [1, 0.5] : [ROUNDS, SECONDS]
  const measured = new Map(loads.map(({ name }): [string, Figures[]] => [name, []]))
  for (const { send } of loads) await send(quick ? 0.1 : WARM_UP_SECONDS)
  for (let round = 0; round < rounds; round++)
    // No load always follows the same one.
    for (const { name, pid, send } of round % 2 === 0 ? loads : loads.toReversed()) {
      const { latencies, ...rate } = await measureRate([pid], () => send(seconds))
      measured.get(name)?.push({ ...rate, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) })
      progress(`round ${round + 1} of ${rounds}: ${name}`)
    }
  const findings: Record<string, number> = {}
  const rows = loads.map(({ name, peer }): Row => {
    const figures = measured.get(name) ?? []
    const of = (figure: (of: Figures) => number): number => roundFigure(median(figures.map(figure)))
    const row = {
      request: name,
      requestsPerSecond: of(perSecond),
      p50Ms: of(({ p50 }) => p50),
      p99Ms: of(({ p99 }) => p99),
      cpuMicroseconds: of(cpu),
    }
    if (peer === undefined) return row
    const others = measured.get(peer[0]) ?? []
    const rateOfPeer = roundFigure(median(ratiosOf(figures.map(perSecond), others.map(perSecond))))
    const ofPeer = roundFigure(median(ratiosOf(others.map(cpu), figures.map(cpu))))
    findings[peer[1]] = ofPeer
    return { ...row, peer: peer[0], rateOfPeer, ofPeer }
  })
  return { rows, findings, settings: { rounds, seconds } }
}

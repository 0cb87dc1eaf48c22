import autocannon from 'autocannon'
import { formatCell, formatFinding, median, roundFigure, type BenchCase, type BenchContext } from '../run/case.ts'
import { startServer, stopChild } from '../run/child.ts'
import { barsOf } from '../run/picture.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { API_KEY, Service, startRegistryServer, type ServiceRequest } from '../workload/service.ts'

const CONNECTIONS = 64
const EVIDENCES = 20_000
const SECONDS = 5
const ROUNDS = 3
const BARE_KOA = 'bare Koa route'
const GET = 'get, of 1,000 evidences'
const LIVEZ = '/livez, which reads no record'

/**
 * The compiled server over HTTP with 64 connections, as a process of its own with its log, metrics, ledger and
 * timestamp authority.
 *
 * Compared with a bare Koa route that returns the same JSON, and with `/livez`, which has all that surrounds a route
 * but reads nothing. Fair because all are measured in turns with the same client (autocannon). The server keeps
 * pages of histories, lists and proofs, so requests are measured that are often the same, and that rarely are.
 */
export const http: BenchCase = {
  name: 'http',
  measures: `the server over HTTP with ${CONNECTIONS} connections, against a bare Koa route`,
  columns: {
    request: 'request',
    requestsPerSecond: 'requests/s',
    p50Ms: 'median latency, ms',
    p99Ms: '99th percentile, ms',
  },
  picture: {
    title: 'HTTP requests with 64 connections',
    unit: 'requests per second (logarithmic)',
    isLogarithmic: true,
    bars: barsOf(({ request }) => String(request), { requestsPerSecond: 'requests' }),
  },
  run: (context) =>
    inTemporaryFolder(async (directory) => {
      const { child, url } = await startRegistryServer(directory)
      try {
        return await measureWithBareKoa(directory, new Service(url), context)
      } finally {
        await stopChild(child)
      }
    }),
  conclude: (result) =>
    `The server handles ${formatCell(result, { where: { request: GET }, get: 'requestsPerSecond' })} gets and ` +
    `${formatCell(result, { where: { request: 'create' }, get: 'requestsPerSecond' })} creates per second, a get at ` +
    `${formatFinding(result, 'getOfBareKoa')} of the rate of a bare Koa route.`,
}

async function measureWithBareKoa(directory: string, service: Service, context: BenchContext) {
  const evidences = context.quick ? 2_000 : EVIDENCES
  await service.fill(evidences, context.progress)
  const json = JSON.stringify(await service.requestJson(service.getFirst().path))
  const { child, url } = await startServer({ directory, module: './peers/bare-koa.ts', args: [json] })
  try {
    const { rows, findings, seconds, rounds } = await measure(loadsOf(service, url), context)
    const settings = {
      connections: CONNECTIONS,
      seconds,
      rounds,
      evidences,
      bodyBytesOfGet: json.length,
      store: 'LevelDB, each group one synced write',
      server:
        'compiled, with its log, metrics, local ledger and authority; pages of lists and histories, and ' +
        'attestations of proofs are cached',
    }
    return { settings, rows, findings }
  } finally {
    await stopChild(child)
  }
}

interface Load {
  readonly name: string
  readonly base: string
  readonly request: (index: number) => ServiceRequest
}

/** The figures of all rounds. */
interface MeasuredLoad {
  readonly load: Load
  readonly requestsPerSecond: number[]
  readonly p50: number[]
  readonly p99: number[]
}

const loadsOf = (service: Service, bareUrl: string): readonly Load[] => [
  { name: BARE_KOA, base: bareUrl, request: service.getOne },
  { name: LIVEZ, base: new URL(service.base).origin, request: () => ({ method: 'GET', path: '/livez' }) },
  { name: 'get, each of another evidence', base: service.base, request: service.getOne },
  { name: GET, base: service.base, request: service.getOneOfFew },
  { name: 'list, the same page of 100', base: service.base, request: service.listPage },
  { name: 'list, random pages of 100', base: service.base, request: service.listRandomPage },
  { name: 'verify, each of another evidence', base: service.base, request: service.verify },
  { name: 'verify, of 1,000 evidences', base: service.base, request: service.verifyOneOfFew },
  { name: 'create', base: service.base, request: service.create },
  { name: 'create with a file of 1024 bytes', base: service.base, request: service.createWithFile },
]

async function measure(loads: readonly Load[], { quick, progress }: BenchContext) {
  const rounds = quick ? 1 : ROUNDS
  const seconds = quick ? 1 : SECONDS
  const measured = loads.map((load): MeasuredLoad => ({ load, requestsPerSecond: [], p50: [], p99: [] }))
  for (let round = 0; round < rounds; round++)
    for (const { load, requestsPerSecond, p50, p99 } of measured) {
      const { requests, latency } = await sendLoad(load, seconds)
      requestsPerSecond.push(requests.average)
      p50.push(latency.p50)
      p99.push(latency.p99)
      progress(`round ${round + 1} of ${rounds}: ${load.name}`)
    }
  const rows = measured.map(({ load, requestsPerSecond, p50, p99 }) => ({
    request: load.name,
    requestsPerSecond: roundFigure(median(requestsPerSecond)),
    p50Ms: median(p50),
    p99Ms: median(p99),
  }))
  const rateOf = (name: string): number => rows.find(({ request }) => request === name)?.requestsPerSecond ?? Number.NaN
  const findings = {
    getOfBareKoa: roundFigure(rateOf(GET) / rateOf(BARE_KOA)),
    livezOfBareKoa: roundFigure(rateOf(LIVEZ) / rateOf(BARE_KOA)),
  }
  return { rows, findings, seconds, rounds }
}

async function sendLoad({ name, base, request }: Load, duration: number) {
  let index = Math.floor(Math.random() * 1_000_000)
  const url = new URL(base)
  const result = await autocannon({
    url: url.origin,
    connections: CONNECTIONS,
    duration,
    headers: { 'x-api-key': API_KEY },
    requests: [
      {
        setupRequest: (defaults) => {
          const { method, path, contentType, body } = request(index++)
          const headers = { 'x-api-key': API_KEY, ...(contentType !== undefined && { 'content-type': contentType }) }
          return { ...defaults, method, headers, path: url.pathname.replace(/\/$/, '') + path, ...(body && { body }) }
        },
      },
    ],
  })
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${name}: ${result.errors} errors, ${result.non2xx} responses that are not 2xx`)
  return result
}

import { runChild, stopChild } from '../run/child.ts'
import { join } from 'node:path'
import { runHttpLoad } from '../workload/http-load.ts'
import { API_KEY, Service, startRegistryServer, type ServiceRequest } from '../workload/service.ts'

/** Rates per second, by scenario. */
export type Rates = Readonly<Record<string, number>>

export interface ScenarioOptions {
  readonly quick: boolean
  readonly progress: (text: string) => void
}

export interface BuildUnderTest extends ScenarioOptions {
  /** An empty folder. */
  readonly directory: string
  /** The folder with the build: `dist` of a checkout. */
  readonly dist: string
}

/** The scenarios of one build, ready to measure. */
export interface OpenedScenarios {
  readonly units: readonly { readonly name: string; readonly measure: () => Promise<Rates> }[]
  close(): Promise<void>
}

export type OpenScenarios = (build: BuildUnderTest) => Promise<OpenedScenarios>

const CONNECTIONS = 64
const EVIDENCES = 20_000
const QUICK_EVIDENCES = 2_000
const SECONDS = 3

/** Starts the build's server and drives it only by HTTP, so it does not depend on the library's API. */
const openHttp: OpenScenarios = async ({ directory, dist, quick, progress }) => {
  const { child, url } = await startRegistryServer(directory, join(dist, 'server/main.js'))
  const service = new Service(url)
  await service.fill(quick ? QUICK_EVIDENCES : EVIDENCES, progress)
  const requests: Readonly<Record<string, (index: number) => ServiceRequest>> = {
    get: service.getOne,
    'list of 100': service.listPage,
    verify: service.verify,
    create: service.create,
    'create with 1 KiB file': service.createWithFile,
  }
  const units = Object.entries(requests).map(([name, request]) => ({
    name: `http: ${name}`,
    measure: async () => ({ [name]: await measureRequest(service, request, quick ? 1 : SECONDS) }),
  }))
  return { units, close: () => stopChild(child) }
}

async function measureRequest(service: Service, request: (index: number) => ServiceRequest, seconds: number) {
  let index = Math.floor(Math.random() * 1_000_000)
  const { origin, pathname } = new URL(service.base)
  const { contentType = 'application/json' } = request(index)
  const load = await runHttpLoad({
    urls: [origin],
    connections: CONNECTIONS,
    seconds,
    headers: { 'x-api-key': API_KEY, 'content-type': contentType },
    next: () => {
      const { method, path, body } = request(index++)
      return { method, path: pathname + path, ...(body !== undefined && { body }) }
    },
  })
  return load.completed / load.seconds
}

/** Creates with the build's embedded library, in a new process for each round. */
const openIngest: OpenScenarios = async ({ dist, quick }) => ({
  units: [
    {
      name: 'ingest: embedded creates',
      measure: () => runChild<Rates>('./programs/embedded-creates.ts', [dist, quick ? '0.1' : '1']),
    },
  ],
  close: async () => undefined,
})

/** What `--against` can compare. */
export const SCENARIOS: Readonly<Record<string, OpenScenarios>> = { http: openHttp, ingest: openIngest }

export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS)

import { runChild, stopChild } from '../run/child.ts'
import { cpuMsOf } from '../run/cpu-time.ts'
import { join } from 'node:path'
import { runHttpLoad } from '../workload/http-load.ts'
import { API_KEY, Service, startRegistryServer, type ServiceRequest } from '../workload/service.ts'

export interface Rate {
  readonly perSecond: number
  /**
   * CPU time of the build for each request or create, over all its threads. Other programs on the machine change it
   * much less than `perSecond`. `undefined` if the system does not report it.
   */
  readonly cpuMicroseconds?: number
}

/** By scenario. */
export type Rates = Readonly<Record<string, Rate>>

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
    'list, same page of 100': service.listPage,
    'list, random pages of 100': service.listRandomPage,
    verify: service.verify,
    create: service.create,
    'create with 1 KiB file': service.createWithFile,
  }
  const units = Object.entries(requests).map(([name, request]) => ({
    name: `http: ${name}`,
    measure: async () => ({
      [name]: await measureRequest(service, { request, seconds: quick ? 1 : SECONDS, pid: child.pid ?? 0 }),
    }),
  }))
  return { units, close: () => stopChild(child) }
}

interface RequestLoad {
  readonly request: (index: number) => ServiceRequest
  readonly seconds: number
  /** Of the server. */
  readonly pid: number
}

async function measureRequest(service: Service, { request, seconds, pid }: RequestLoad): Promise<Rate> {
  let index = Math.floor(Math.random() * 1_000_000)
  const { origin, pathname } = new URL(service.base)
  const { contentType = 'application/json' } = request(index)
  const cpuBefore = await cpuMsOf([pid])
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
  const cpuAfter = await cpuMsOf([pid])
  const perSecond = load.completed / load.seconds
  if (cpuBefore === undefined || cpuAfter === undefined) return { perSecond }
  return { perSecond, cpuMicroseconds: ((cpuAfter - cpuBefore) * 1_000) / load.completed }
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

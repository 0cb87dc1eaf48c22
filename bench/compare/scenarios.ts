import { nextMessage, requestOf, startChild, stopChild } from '../run/child.ts'
import { measureRate, type Rate } from '../run/cpu-time.ts'
import { join } from 'node:path'
import { loadOf, Service, startRegistryServer, type ServiceRequest } from '../workload/service.ts'
import type { Writing } from '../workload/writing.ts'

/** By scenario. */
export type Rates = Readonly<Record<string, Rate>>

export interface ScenarioOptions {
  readonly quick: boolean
  /** In the registry before HTTP is measured. Ignored if `quick`. */
  readonly evidences: number
  readonly progress: (text: string) => void
}

export interface BuildUnderTest extends ScenarioOptions {
  /** An empty folder. */
  readonly directory: string
  /** The folder with the build: `dist` of a checkout. */
  readonly dist: string
}

/** What is measured without a break. */
export interface ScenarioUnit {
  readonly name: string
  /** How many times to measure it in a round, in turns with the other build. */
  readonly turns: number
  /** Called once, before the first turn. */
  warmUp?(): Promise<void>
  measure(): Promise<Rates>
}

/** The scenarios of one build, ready to measure. */
export interface OpenedScenarios {
  readonly units: readonly ScenarioUnit[]
  close(): Promise<void>
}

export type OpenScenarios = (build: BuildUnderTest) => Promise<OpenedScenarios>

const QUICK_EVIDENCES = 2_000
const WARM_UP_SECONDS = 3
/** Short, because a machine that is shared with others can change its speed each second. */
const TURN_SECONDS = 0.5
const TURNS = 8

/** Starts the build's server and drives it only by HTTP, so it does not depend on the library's API. */
const openHttp: OpenScenarios = async ({ directory, dist, quick, evidences, progress }) => {
  const { child, url } = await startRegistryServer(directory, join(dist, 'server/main.js'))
  const service = new Service(url)
  await service.fill(quick ? QUICK_EVIDENCES : evidences, progress)
  const requests: Readonly<Record<string, (index: number) => ServiceRequest>> = {
    'get, one of all evidences': service.getOne,
    'get, one of 1,000': service.getOneOfFew,
    'list, same page of 100': service.listPage,
    'list, random pages of 100': service.listRandomPage,
    'verify, one of all evidences': service.verify,
    'verify, one of 1,000': service.verifyOneOfFew,
    create: service.create,
    'create with 1 KiB file': service.createWithFile,
  }
  const turns = quick ? 1 : TURNS
  const units = Object.entries(requests).map(([name, request]): ScenarioUnit => {
    const load = loadOf(service.base, request)
    return {
      name: `http: ${name}`,
      turns,
      warmUp: async () => void (await load(WARM_UP_SECONDS)),
      measure: async () => ({ [name]: await measureRate([child.pid ?? 0], () => load(TURN_SECONDS)) }),
    }
  })
  return { units, close: () => stopChild(child) }
}

/** The widest ones first: they warm the code up that few at a time would not. */
const CREATES: Readonly<Record<string, Omit<Writing, 'seconds'>>> = {
  '256 in flight': { size: 1, width: 256 },
  '16 in flight': { size: 1, width: 16 },
  '1 in flight': { size: 1, width: 1 },
  'bulk creates of 1,000': { size: 1_000, width: 1 },
  'bulk creates of 1,000, 3 in flight': { size: 1_000, width: 3 },
}

/** Creates with the build's embedded library, in a process of its own that keeps its registry for the whole round. */
const openIngest: OpenScenarios = async ({ directory, dist, quick }) => {
  const child = startChild('./programs/embedded-creates.ts', [dist], { hasMessages: true, env: { TMPDIR: directory } })
  await nextMessage(child)
  const units = Object.entries(CREATES).map(([name, creates]): ScenarioUnit => {
    const measure = (seconds: number): Promise<Rate> =>
      requestOf<Rate>(child, { ...creates, seconds } satisfies Writing)
    return {
      name: `ingest: ${name}`,
      turns: quick ? 1 : TURNS,
      warmUp: async () => void (await measure(WARM_UP_SECONDS)),
      measure: async () => ({ [name]: await measure(TURN_SECONDS) }),
    }
  })
  return { units, close: () => stopChild(child) }
}

/** What `programs/compared-sealing` does next. */
export type SealingWork = 'tree' | 'proofs' | 'sealing'

const SEALING_WORK: Readonly<Record<string, SealingWork>> = {
  'tree, one thread': 'tree',
  'all proofs of the tree': 'proofs',
  'sealing 65,536 entries': 'sealing',
}
const TREE_LEAVES = 2 ** 20

/** The build's hashing, proofs and sealing, in a process of its own. */
const openSealing: OpenScenarios = async ({ directory, dist, quick }) => {
  const args = [dist, directory, String(quick ? 2 ** 14 : TREE_LEAVES)]
  const child = startChild('./programs/compared-sealing.ts', args, { hasMessages: true })
  await nextMessage(child)
  const units = Object.entries(SEALING_WORK).map(([name, work]): ScenarioUnit => {
    const measure = (): Promise<Rate> => requestOf<Rate>(child, work)
    return {
      name: `sealing: ${name}`,
      turns: quick ? 1 : TURNS,
      warmUp: async () => void (await measure()),
      measure: async () => ({ [name]: await measure() }),
    }
  })
  return { units, close: () => stopChild(child) }
}

/** What `--against` can compare. */
export const SCENARIOS: Readonly<Record<string, OpenScenarios>> = {
  http: openHttp,
  ingest: openIngest,
  sealing: openSealing,
}

export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS)

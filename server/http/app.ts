import type { RequestListener } from 'node:http'
import { RegistryError, type Logger, type Registry } from '../../core/index.ts'
import type { EndpointGroup } from '../contract/endpoint.ts'
import { ReplyCache } from '../contract/reply-cache.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { categories } from '../routes/categories.ts'
import { erasures } from '../routes/erasures.ts'
import { evidences } from '../routes/evidences.ts'
import { files } from '../routes/files.ts'
import { log } from '../routes/log.ts'
import { description, operations } from '../routes/operations.ts'
import { shares } from '../routes/shares.ts'
import { sourceSystems } from '../routes/source-systems.ts'
import { publicStatus } from '../routes/status.ts'
import { verification } from '../routes/verification.ts'
import { REQUEST_DEFAULTS } from '../settings/schema.ts'
import { requireBearer } from './bearer-token.ts'
import { LoadShedder } from './load-shedding.ts'
import type { EndpointServices } from './endpoint-services.ts'
import { Health, type HealthSources } from './health.ts'
import { LongPolls } from './long-polls.ts'
import { LongResults } from './long-results.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import type { Connections, ListeningApp } from './listen.ts'
import { MemoryBudget } from './memory-budget.ts'
import { createListener } from './listener.ts'
import { createMetrics, type MetricOptions } from './metrics.ts'
import { mount, type RouteGuard } from './mount.ts'
import { AdmissionQueue } from './admission-queue.ts'
import { QUEUE_NAMES, LOAD_LIMITS, type QueueName, type LoadLimits } from './load-limits.ts'
import { createRateLimiter, createRation, noRateLimit } from './rate-limit.ts'
import { Routes, type MethodAndPath } from './routes.ts'
import { BASE_PATH, isBelowBase, pathRulesOf } from './segments.ts'
import { addPages } from './static.ts'

/** Version of the interface that the OpenAPI document describes. */
const API_VERSION = '1.0.0'

/** What a service is made of. Limits have the defaults of the server's settings. */
export interface AppOptions extends HealthSources, MetricOptions {
  readonly registry: Registry
  /** Default: nothing is logged. A pino logger fits. */
  readonly logger?: Logger
  /** Those with which the registry was opened. Default: `/metrics` shows nothing of stores and sealer steps. */
  readonly instruments?: Instruments
  /**
   * Address at which clients reach the service, without the base path and without a slash at its end: with a path, if
   * the service is mounted below one. Links and codes of the dashboard contain it, too. Default: paths in responses
   * begin at the root, and the dashboard uses its own address.
   */
  readonly publicUrl?: string | undefined
  readonly maxFileBytes?: number
  readonly maxFilesPerRequest?: number
  /** How long a client may send no byte of a body that the server is reading. */
  readonly uploadIdleMs?: number
  /** Least rate of a body on average, once the server has waited a minute for it. 0: any rate. */
  readonly uploadMinBytesPerSecond?: number
  /** Requests of one company, by all of its keys. 0: no limit. */
  readonly rateLimitPerMinute?: number
  /**
   * Requests of one address without a valid key, except those for the policy, the checkpoint and the tiles of the log,
   * and for a public status, which has its own limits. 0: no limit.
   */
  readonly addressLimitPerMinute?: number
  /** For tests: less than a server can do. Default: `LOAD_LIMITS`. */
  readonly loadLimits?: Partial<LoadLimits>
  /** Opens `/metrics` as a bearer token. Default: only `handleOperations` serves it. */
  readonly metricsToken?: string | undefined
  /** Whether a proxy of ours sets X-Forwarded-For. */
  readonly trustProxy?: boolean
  /** Whether the line of a request in the log has the client's address. */
  readonly logsAddresses?: boolean
  /** Origins whose scripts may use the keyed endpoints, such as `https://app.example`. Default: none. */
  readonly corsOrigins?: readonly string[]
}

/** The service as a request listener, without types of Koa, so that programs which embed it need none. */
export interface App extends ListeningApp {
  /** The endpoints of the operator alone, for an address of their own. */
  readonly handleOperations: RequestListener
  /** Every route, in the order in which they are matched. */
  readonly routes: readonly MethodAndPath[]
  /** The OpenAPI 3.1 document. `json`: also the JSON bodies of endpoints that accept a form. */
  document(options?: { readonly json?: boolean }): object
}

const GROUPS = [categories, evidences, files, shares, erasures, publicStatus, sourceSystems, verification, log] as const

/**
 * Serves the REST contract for a registry. The caller closes the registry.
 *
 * @throws `CONFIG_ERROR`, which names the option that is missing or wrong
 * @example
 * const app = createApp({ registry })
 * createServer(app.handle).listen(8080)
 */
export function createApp(given: AppOptions): App {
  assertOptions(given)
  const { registry, logger = silent, instruments = createInstruments(), ...others } = given
  const options = { ...REQUEST_DEFAULTS, corsOrigins: [], ...others }
  const health = new Health(registry, options)
  const limits = { ...LOAD_LIMITS, ...options.loadLimits }
  const paths = pathRulesOf([...GROUPS, description(() => new Uint8Array())])
  const shedder = new LoadShedder({ isLimited: isBelowBase, logger, errorShapeOf: paths.errorShapeOf })
  const connections: Connections = { open: 0, dropped: 0 }
  const load = {
    queues: queuesOf(limits),
    bodies: new MemoryBudget(limits.bodyBytes),
    unread: new MemoryBudget(limits.unreadBytes, { ends: 'slowest' }),
  }
  const metrics = createMetrics({ registry, instruments, health, shedder, connections, ...load, ...options })
  const longPolls = new LongPolls(load.queues.get('held'))
  const services = { ...servicesOf(registry, limits, options), ...load, longPolls, health: () => health.ofCompany() }
  const operatorGroup = operations({ health, metrics })
  const { metricsToken } = options
  const rootGroups = [metricsToken === undefined ? withoutMetrics(operatorGroup) : operatorGroup]
  const groups: EndpointGroup[] = [...GROUPS, description((json) => (json ? wholeDocument() : documentOfForms()))]
  const document: App['document'] = ({ json = false } = {}) =>
    openApiDocument({
      publicUrl: options.publicUrl,
      basePath: BASE_PATH,
      version: API_VERSION,
      groups,
      rootGroups,
      hasJsonBodies: json,
    })
  const documentOfForms = once(() => Buffer.from(JSON.stringify(document())))
  const wholeDocument = once(() => Buffer.from(JSON.stringify(document({ json: true }))))
  // Without limits, and with bytes of its own, so that clients of the API which read nothing do not hide the metrics.
  const rootServices: EndpointServices = {
    ...services,
    queues: new Map(),
    unread: new MemoryBudget(limits.unreadBytes),
    rateLimit: noRateLimit,
  }
  const routes = new Routes(API_HINT)
  for (const group of rootGroups)
    mount(routes, group, { base: '', services: rootServices, guard: metricsGuard(metricsToken) })
  for (const group of groups) mount(routes, group, { base: BASE_PATH, services })
  addPages(routes, { ...options, specPath: `${BASE_PATH}/openapi.json?json=1`.slice(1) })
  const operatorRoutes = new Routes()
  mount(operatorRoutes, operatorGroup, { base: '', services: rootServices })
  const { requests } = metrics
  const around = { ...options, ...paths, logger, health, requests, onOverload: () => shedder.warn({}) }
  return {
    handle: createListener(routes, { ...around, shedder }),
    handleOperations: createListener(operatorRoutes, around),
    connections,
    errorShapeOf: paths.errorShapeOf,
    routes: routes.all,
    stop() {
      health.stop()
      longPolls.stop()
    },
    document,
  }
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

type Options = typeof REQUEST_DEFAULTS & Omit<AppOptions, 'registry' | 'logger' | 'instruments'>

/** Also programs in JavaScript call `createApp`. */
function assertOptions(options: AppOptions): void {
  const values = new Map<string, unknown>(Object.entries(options ?? {}))
  for (const [name, methods] of Object.entries(PARTS)) {
    const part = values.get(name)
    if (part === undefined && name !== 'registry') continue
    const missing = methods.find((method) => Reflect.get(Object(part), method) === undefined)
    if (missing !== undefined) throw new RegistryError('CONFIG_ERROR', `createApp: ${name} must have ${missing}`)
  }
  for (const [name, standard] of Object.entries({ ...REQUEST_DEFAULTS, publicUrl: '' })) {
    const value = values.get(name) ?? standard
    if (typeof value !== typeof standard || (typeof value === 'number' && !(value >= 0)))
      throw new RegistryError(
        'CONFIG_ERROR',
        `createApp: ${name} must be a ${typeof standard}, not ${JSON.stringify(value)}`,
      )
  }
}

/** What the parts of the options must have. */
const PARTS = {
  registry: ['evidences', 'categories', 'files', 'sourceSystems', 'proofs', 'log', 'status'],
  logger: ['debug', 'info', 'warn', 'error'],
  instruments: ['metrics'],
} as const

/** A queue for each kind of work. */
function queuesOf({ queues, maxWaitMs }: LoadLimits): ReadonlyMap<QueueName, AdmissionQueue> {
  // While one long list is made, the one before it is sent.
  return new Map(
    QUEUE_NAMES.map((name) => [name, new AdmissionQueue(queues[name], { maxWaitMs, pauses: name === 'lists' })]),
  )
}

const servicesOf = (
  registry: Registry,
  { stalledReaderMs }: LoadLimits,
  options: Options,
): Omit<EndpointServices, 'queues' | 'bodies' | 'unread' | 'health' | 'longPolls'> => ({
  registry,
  stalledReaderMs,
  uploads: {
    pace: { idleMs: options.uploadIdleMs, minBytesPerSecond: options.uploadMinBytesPerSecond },
    maxFileBytes: options.maxFileBytes,
    maxFilesPerRequest: options.maxFilesPerRequest,
  },
  publicPath: new URL(options.publicUrl ?? 'http://localhost').pathname.replace(/\/$/, ''),
  publicUrl: options.publicUrl,
  longResults: new LongResults(),
  replyCache: new ReplyCache(64 * 1024 * 1024),
  pageCache: new ReplyCache(8 * 1024 * 1024),
  // Requests without a valid key are never counted for a company, so that a flood from the address of a key's owner
  // does not block the key.
  rateLimit: createRateLimiter(({ hasKey }) => (hasKey ? options.rateLimitPerMinute : options.addressLimitPerMinute)),
  ration: createRation(),
})

/** A frequent mistake is a path without the base path. The operator's listener has no API, so it does not say this. */
const API_HINT = `: the API is below ${BASE_PATH}; see /docs`

/** Only who has the token may read the metrics. */
const metricsGuard =
  (token: string | undefined): RouteGuard =>
  ({ id }, handle) =>
    id === 'metrics' && token !== undefined ? requireBearer(token, handle) : handle

const withoutMetrics = (group: EndpointGroup): EndpointGroup => ({
  ...group,
  endpoints: group.endpoints.filter(({ id }) => id !== 'metrics'),
})

/** A function that computes its result at the first call. */
function once<T>(create: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => (result ??= { value: create() }).value
}

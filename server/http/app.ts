import type { RequestListener } from 'node:http'
import Koa from 'koa'
import type { Logger, Registry, ScrubStatus } from '../../core/index.ts'
import type { EndpointGroup } from '../contract/endpoint.ts'
import { evidenceListItem, evidencePage } from '../contract/evidence-responses.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { categories } from '../routes/categories.ts'
import { evidences } from '../routes/evidences.ts'
import { files } from '../routes/files.ts'
import { log } from '../routes/log.ts'
import { description, operations } from '../routes/operations.ts'
import { sourceSystems } from '../routes/source-systems.ts'
import { verification } from '../routes/verification.ts'
import { Admission, type WorkLimits } from './admission.ts'
import { admit, rejectExcess } from './admit.ts'
import { taggedText } from './conditional.ts'
import { Connections } from './connections.ts'
import { addDocs } from './docs.ts'
import type { ErrorShape } from './errors.ts'
import { rejectInvalidPaths, rejectUnrouted, respondWithErrors } from './error-middleware.ts'
import { addEndpoints, type RouteContext } from './handle.ts'
import { allowAnyOrigin, allowOrigins, setSecurityHeaders } from './headers.ts'
import { Health } from './health.ts'
import { HeavyWork } from './heavy-work.ts'
import { logIncompleteResponse } from './incomplete-response.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { inTurn } from './pipelining.ts'
import { ADDRESS_LIMIT_PER_MINUTE, createRateLimiter, warnAboutProxy } from './rate-limit.ts'
import type { RequestCounter } from './request-counter.ts'
import { requestLog } from './request-log.ts'
import type { Route } from './route.ts'
import { findRoute, runRoute, Sections } from './sections.ts'
import { STREAM_LIMITS, type StreamLimits } from './stream-limits.ts'
import { Streams } from './streams.ts'
import { addUi } from './ui.ts'
import { MAX_UNREAD_RESPONSE_BYTES, UnreadResponses } from './unread-responses.ts'

export const BASE_PATH = '/api/v1'
/** Version of the interface that the OpenAPI document describes. */
const API_VERSION = '1.0.0'

export interface AppOptions {
  readonly registry: Registry
  readonly logger: Logger
  /** Those with which the registry was opened. Default: `/metrics` shows nothing of stores and sealer steps. */
  readonly instruments?: Instruments
  /**
   * Address at which clients reach the service, without the base path and without a slash at its end. Called when it is
   * first needed, because a free port is known only after the server listens.
   */
  readonly publicUrl: () => string
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  /** How long a client may send no byte of a body that the server is reading. */
  readonly uploadIdleMs: number
  /** Least rate of a body while the server waits for it. Default 0: any rate. */
  readonly uploadMinBytesPerSecond?: number
  /** Requests of one key. 0: no limit. */
  readonly rateLimitPerMinute: number
  /**
   * Requests of one address without a valid key, except those for the policy, the checkpoint and the tiles of the log.
   * 0: no limit. Default 6,000.
   */
  readonly addressLimitPerMinute?: number
  /** Requests that run and wait, by class. Default: `WORK_LIMITS`. */
  readonly workLimits?: WorkLimits
  /** See `AdmissionOptions`. Default 100. */
  readonly maxBusyMs?: number
  /** Bytes of all request bodies in memory. Default 64 MiB. */
  readonly maxBodyMemoryBytes?: number
  /** Bytes of large responses that their clients have not yet read. Default 128 MiB. */
  readonly maxUnreadResponseBytes?: number
  /** `/metrics` is served only by `handleOperations`. Default false. */
  readonly hasMetricsAddress?: boolean
  /** Whether a proxy of ours sets X-Forwarded-For. */
  readonly trustProxy: boolean
  /** Origins whose scripts may use the keyed endpoints, such as `https://app.example`. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Counts requests for all servers of one registry. Default: each server counts its own. */
  readonly requestCounter?: RequestCounter
  /** Whether the record store rejects writes because an earlier one failed. Default: the next failed request tells. */
  readonly isStorePoisoned?: () => boolean
  /** Of the scrub of this process: for `/metrics` and `/readyz`. `undefined` before it starts. */
  readonly scrubStatus?: () => ScrubStatus | undefined
  /** Default: 2 at a time for each key, and 30 s without progress. */
  readonly streamLimits?: StreamLimits
}

/** A method and a path that have a route. Parameters of the path are written as `{NAME}`. */
export interface MethodAndPath {
  readonly method: string
  readonly path: string
}

/** The service as a request listener, without types of Koa, so that programs which embed it need none. */
export interface App {
  readonly handle: RequestListener
  /** The endpoints of the operator alone, for an address of their own. */
  readonly handleOperations: RequestListener
  /** Counts the connections of the servers that listen for this app. */
  readonly connections: Connections
  /** The body that errors have at the target of a request. */
  readonly errorShapeOf: (target: string) => ErrorShape
  /** Every route, in the order in which they are matched. */
  readonly routes: readonly MethodAndPath[]
  /** Begins the shutdown: `/readyz` returns 503, and clients are asked to close their connections. */
  stop(): void
  /** The OpenAPI 3.1 document. */
  document(): object
}

/** Serves the REST contract for a registry. The caller closes the registry. */
export function createApp({ registry, logger, instruments = createInstruments(), ...options }: AppOptions): App {
  const health = new Health(registry, options)
  const admission = new Admission({
    ...(options.maxBodyMemoryBytes !== undefined && { maxBodyBytes: options.maxBodyMemoryBytes }),
    ...(options.workLimits && { limits: options.workLimits }),
    ...(options.maxBusyMs !== undefined && { maxBusyMs: options.maxBusyMs }),
  })
  const connections = new Connections()
  const unreadOptions = {
    maxBytes: options.maxUnreadResponseBytes ?? MAX_UNREAD_RESPONSE_BYTES,
    streamLimits: options.streamLimits ?? STREAM_LIMITS,
  }
  const unreadResponses = new UnreadResponses(unreadOptions)
  const metrics = createMetrics(registry, {
    instruments,
    admission,
    connections,
    unreadResponses,
    ...(options.scrubStatus && { scrubStatus: options.scrubStatus }),
  })
  const operatorGroup = operations({ health, metrics })
  const rootGroups = [options.hasMetricsAddress === true ? withoutMetrics(operatorGroup) : operatorGroup]
  const groups: EndpointGroup[] = [
    categories,
    evidences,
    files,
    sourceSystems,
    verification,
    log,
    description(() => documentJson()),
  ]
  const document = once(() =>
    openApiDocument({ publicUrl: options.publicUrl(), basePath: BASE_PATH, version: API_VERSION, groups, rootGroups }),
  )
  const documentJson = once(() => Buffer.from(JSON.stringify(document())))
  const routeContext = { ...routeContextOf(registry, options), unreadResponses }
  // With bytes of its own, so that clients of the API which read nothing do not hide the metrics.
  const rootContext = { ...routeContext, rateLimit: noRateLimit, unreadResponses: new UnreadResponses(unreadOptions) }
  const root = { base: '', routeContext: rootContext }
  const sections = new Sections(BASE_PATH)
  for (const group of rootGroups) addEndpoints(sections, group, root)
  for (const group of groups) addEndpoints(sections, group, { base: BASE_PATH, routeContext })
  addDocs(sections, `${BASE_PATH}/openapi.json`.slice(1))
  addUi(sections)
  const operatorSections = new Sections(BASE_PATH)
  addEndpoints(operatorSections, operatorGroup, root)
  const services = { logger, health, metrics, options }
  return {
    handle: listenerOf(services, sections, { first: [admit({ admission, logger })], pathHint: API_HINT }),
    handleOperations: listenerOf(services, operatorSections, { first: [], pathHint: '' }),
    connections,
    errorShapeOf: (target) => sections.of(target).errorShape,
    routes: sections.all.flatMap(({ routes }) => routes.flatMap(methodsAndPathOf)),
    stop: () => health.stop(),
    document,
  }
}

type Options = Omit<AppOptions, 'registry' | 'logger' | 'instruments'>

interface Services {
  readonly logger: Logger
  readonly health: Health
  readonly metrics: Metrics
  readonly options: Options
}

function routeContextOf(registry: Registry, options: Options): Omit<RouteContext, 'unreadResponses'> {
  return {
    registry,
    limits: {
      maxFileBytes: options.maxFileBytes,
      maxFilesPerRequest: options.maxFilesPerRequest,
      idleMs: options.uploadIdleMs,
      minBytesPerSecond: options.uploadMinBytesPerSecond ?? 0,
    },
    publicPath: once(() => new URL(options.publicUrl()).pathname.replace(/\/$/, '')),
    listEvidences: registry.evidences.texts(evidenceListItem),
    getEvidence: registry.evidences.pages((page) => taggedText(evidencePage(page), `${page.evidence.version}-`)),
    heavyWork: new HeavyWork(),
    streams: new Streams(options.streamLimits ?? STREAM_LIMITS),
    rateLimit: createRateLimiter({
      perKey: options.rateLimitPerMinute,
      perAddress: options.addressLimitPerMinute ?? ADDRESS_LIMIT_PER_MINUTE,
      ...(options.requestCounter && { counter: options.requestCounter }),
    }),
  }
}

/** A frequent mistake is a path without the base path. The operator's listener has no API, so it does not say this. */
const API_HINT = `: the API is below ${BASE_PATH}; see /docs`

/** Everything around the routes. `first` comes before the log and the metrics, `pathHint` in the text of a 404. */
function listenerOf(
  { logger, health, metrics, options }: Services,
  sections: Sections,
  { first, pathHint }: { readonly first: readonly Koa.Middleware[]; readonly pathHint: string },
): RequestListener {
  // Only the last forwarded address was seen by our own proxy. The addresses before it are the client's claim.
  const koa = new Koa({ proxy: options.trustProxy, maxIpsCount: 1 })
  koa.use(findRoute(sections))
  for (const middleware of first) koa.use(middleware)
  koa.use(requestLog(logger))
  koa.use(metrics.middleware)
  koa.use(health.closeConnections)
  koa.use(setSecurityHeaders)
  koa.use(allowAnyOrigin)
  koa.use(allowOrigins(options.corsOrigins ?? []))
  koa.use(respondWithErrors({ logger, health }))
  koa.use(rejectExcess)
  koa.use(warnAboutProxy(logger, options.trustProxy))
  koa.use(rejectInvalidPaths)
  koa.use(runRoute)
  koa.use(rejectUnrouted(pathHint))
  koa.on('error', (error: unknown, ctx: Koa.Context) => logIncompleteResponse(error, ctx, logger))
  const handle = koa.callback()
  return inTurn((request, response) => void handle(request, response))
}

const withoutMetrics = (group: EndpointGroup): EndpointGroup => ({
  ...group,
  endpoints: group.endpoints.filter(({ id }) => id !== 'metrics'),
})

const noRateLimit = async (): Promise<void> => undefined

const methodsAndPathOf = ({ methods, path }: Route): readonly MethodAndPath[] =>
  methods.map((method) => ({ method, path }))

function once<T>(create: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => (result ??= { value: create() }).value
}

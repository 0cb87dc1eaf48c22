import Koa from 'koa'
import { isRegistryError, type Logger, type Registry } from '../../core/index.ts'
import type { EndpointGroup } from '../contract/endpoint.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { categories } from '../routes/categories.ts'
import { evidences } from '../routes/evidences.ts'
import { files } from '../routes/files.ts'
import { log } from '../routes/log.ts'
import { description, operations } from '../routes/operations.ts'
import { sourceSystems } from '../routes/source-systems.ts'
import { verification } from '../routes/verification.ts'
import { docsRouter } from './docs.ts'
import { rejectInvalidPaths, rejectUnrouted, respondWithErrors } from './error-middleware.ts'
import { createRouter } from './handle.ts'
import { allowAnyOrigin, setSecurityHeaders } from './headers.ts'
import { Health } from './health.ts'
import { createMetrics } from './metrics.ts'
import { pathRules } from './path-rules.ts'
import { createRateLimiter, type RequestCounter } from './rate-limit.ts'
import { requestLog } from './request-log.ts'

export const BASE_PATH = '/api/v1'
/** Version of the interface that the OpenAPI document describes. */
const API_VERSION = '1.0.0'

export interface AppOptions {
  readonly registry: Registry
  readonly logger: Logger
  /**
   * Address at which clients reach the service, without the base path and without a slash at its end. Called when it is
   * first needed, because a free port is known only after the server listens.
   */
  readonly publicUrl: () => string
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  /** How long a client may send no byte of a body that the server is reading. */
  readonly uploadIdleMs: number
  /** 0: no limit. */
  readonly rateLimitPerMinute: number
  /** Whether a proxy of ours sets X-Forwarded-For. */
  readonly trustProxy: boolean
  /** Counts requests for all servers of one registry. Default: each server counts its own. */
  readonly requestCounter?: RequestCounter
}

/** The service as a Koa app, and its health, which a shutdown changes. */
export interface App {
  readonly koa: Koa
  readonly health: Health
  /** The OpenAPI 3.1 document. */
  document(): object
}

/** Serves the REST contract for a registry. The caller closes the registry. */
export function createApp({ registry, logger, ...options }: AppOptions): App {
  const health = new Health(registry)
  const metrics = createMetrics(registry)
  const rootGroups = [operations({ health, metrics })]
  const groups: EndpointGroup[] = [
    categories,
    evidences,
    files,
    sourceSystems,
    verification,
    log,
    description(() => document()),
  ]
  const document = once(() =>
    openApiDocument({
      publicUrl: options.publicUrl(),
      basePath: BASE_PATH,
      version: API_VERSION,
      groups,
      rootGroups,
    }),
  )
  const rateLimit = createRateLimiter(options.rateLimitPerMinute, options.requestCounter)
  const limits = {
    maxFileBytes: options.maxFileBytes,
    maxFilesPerRequest: options.maxFilesPerRequest,
    idleMs: options.uploadIdleMs,
  }
  const rules = pathRules(groups, BASE_PATH)

  // Only the last forwarded address was seen by our own proxy. The addresses before it are the client's claim.
  const koa = new Koa({ proxy: options.trustProxy, maxIpsCount: 1 })
  koa.use(requestLog(logger))
  koa.use(metrics.middleware)
  koa.use(health.closeConnections)
  koa.use(setSecurityHeaders)
  koa.use(allowAnyOrigin(rules.isPublic))
  koa.use(respondWithErrors({ logger, health, shapeOf: rules.errorShapeOf }))
  koa.use(rejectInvalidPaths)
  for (const { endpoints } of rootGroups)
    koa.use(createRouter(endpoints, '', { registry, limits, rateLimit: async () => undefined }).routes())
  for (const { endpoints } of groups)
    koa.use(createRouter(endpoints, BASE_PATH, { registry, limits, rateLimit }).routes())
  koa.use(docsRouter(`${BASE_PATH}/openapi.json`.slice(1)).routes())
  koa.use(rejectUnrouted)
  koa.on('error', (error: unknown) => logIncompleteResponse(error, logger))
  return { koa, health, document }
}

/** Logs what failed after a response began: the client disconnected, or the stored bytes are not the recorded ones. */
function logIncompleteResponse(error: unknown, logger: Logger): void {
  if (isRegistryError(error)) logger.error({ err: error, code: error.code }, 'a response was cut off')
  else logger.debug({ err: error }, 'a client disconnected before its response was complete')
}

function once<T>(create: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => (result ??= { value: create() }).value
}

import Koa from 'koa'
import helmet from 'koa-helmet'
import { isRegistryError } from '../../core/errors.ts'
import type { Logger } from '../../core/ports.ts'
import type { Registry } from '../../core/api/registry.ts'
import { allowAnyOrigin } from './cors.ts'
import { docsRouter } from './docs.ts'
import type { EndpointGroup } from '../contract/endpoint.ts'
import { answerErrors, refuseBrokenPaths, refuseUnrouted } from './error-middleware.ts'
import { Health } from './health.ts'
import { createMetrics } from './metrics.ts'
import { mount, type RouteContext } from './mount.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { createRateLimiter, type RequestCounter } from './rate-limit.ts'
import { requestLog } from './request-log.ts'
import { categories } from '../routes/categories.ts'
import { evidences } from '../routes/evidences.ts'
import { files } from '../routes/files.ts'
import { log } from '../routes/log.ts'
import { description, operations } from '../routes/operations.ts'
import { sourceSystems } from '../routes/source-systems.ts'
import { verification } from '../routes/verification.ts'

export const BASE_PATH = '/api/v1'
/** Of the interface, which the document describes. */
const API_VERSION = '1.0.0'

/**
 * Answers are data: nothing in them may run or be framed. Whether the site is https for ever is for whoever ends TLS to say. What else is
 * off speaks to browsers that are gone, or of what a page does, which an answer is not.
 */
const HEADERS = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
} as const

export interface AppOptions {
  readonly registry: Registry
  readonly logger: Logger
  /** Address under which clients reach the service, without the base path and without a slash at its end. Asked when it is first needed: a free port is known late. */
  readonly publicUrl: () => string
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  readonly uploadIdleMs: number
  /** 0 is no limit. */
  readonly rateLimitPerMinute: number
  readonly trustProxy: boolean
  /** Counts requests for all servers of one registry. Default: each counts its own. */
  readonly requestCounter?: RequestCounter
}

/** The service as a Koa app, and its health, which a shutdown sets. */
export interface App {
  readonly koa: Koa
  readonly health: Health
  /** The OpenAPI 3.1 document. */
  document(): object
}

const isPublic = (path: string): boolean => /^\/api\/v1\/(?:merkle\/|log\/|openapi\.json$)/.test(path)

/** The REST contract over a registry. The registry stays the caller's to close. */
export async function createApp({ registry, logger, ...options }: AppOptions): Promise<App> {
  const health = new Health(registry)
  const metrics = createMetrics(registry)
  const root = [operations({ health, metrics })]
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
      rootGroups: root,
    }),
  )
  const limits = {
    maxFileBytes: options.maxFileBytes,
    maxFilesPerRequest: options.maxFilesPerRequest,
    idleMs: options.uploadIdleMs,
  }
  const surroundings: RouteContext = {
    registry,
    limits,
    rateLimit: await createRateLimiter(options.rateLimitPerMinute, options.requestCounter),
  }

  // The last forwarded address is the one that our own proxy saw; those before it are what the client says.
  const koa = new Koa({ proxy: options.trustProxy, maxIpsCount: 1 })
  koa.use(requestLog(logger))
  koa.use(metrics.middleware)
  koa.use(async (ctx, next) => {
    if (health.stopping) ctx.set('Connection', 'close')
    await next()
  })
  koa.use(helmet(HEADERS))
  koa.use(allowAnyOrigin(isPublic))
  koa.use(
    answerErrors({
      logger,
      health,
      shapeOf: (path) => (path.startsWith(`${BASE_PATH}/merkle/`) ? 'verification' : 'operation'),
    }),
  )
  koa.use(refuseBrokenPaths)
  for (const group of root)
    koa.use(mount(group.endpoints, '', { ...surroundings, rateLimit: async () => undefined }).routes())
  for (const group of groups) koa.use(mount(group.endpoints, BASE_PATH, surroundings).routes())
  koa.use(docsRouter(`${BASE_PATH}/openapi.json`.slice(1)).routes())
  koa.use(refuseUnrouted)
  koa.on('error', (err: unknown) => noteBrokenAnswer(err, logger))
  return { koa, health, document }
}

/** What breaks after an answer began: a client that left, or bytes that are not those recorded. */
function noteBrokenAnswer(err: unknown, logger: Logger): void {
  if (isRegistryError(err)) logger.error({ err, code: err.code }, 'an answer was cut short')
  else logger.debug({ err }, 'a client left before its answer was whole')
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

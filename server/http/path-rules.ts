import type { Context } from 'koa'
import type { Endpoint, EndpointGroup } from '../contract/endpoint.ts'
import type { WorkClass } from './admission.ts'
import { essence } from './body.ts'
import type { ErrorShape } from './errors.ts'

/** What is known about a path before, or without, a route. */
export interface PathRules {
  /** Whether the endpoints there are public. */
  readonly isPublic: (path: string) => boolean
  /** The body that an error has there. */
  readonly errorShapeOf: (path: string) => ErrorShape
  /** The limits under which a request runs. `undefined` outside the base path. */
  readonly workClassOf: (ctx: Context) => WorkClass | undefined
}

/**
 * Derives the rules from the endpoints, by the first segment of their paths below `base`. So they also hold for a path
 * below it that no endpoint has.
 */
export function pathRules(groups: readonly EndpointGroup[], base: string): PathRules {
  const publicSegments = new Set<string>()
  const verificationSegments = new Set<string>()
  for (const { endpoints, errorShape } of groups)
    for (const { path, access } of endpoints) {
      if (access === 'public') publicSegments.add(firstSegment(path))
      if (errorShape === 'verification') verificationSegments.add(firstSegment(path))
    }
  const segmentOf = (path: string): string => (path.startsWith(`${base}/`) ? firstSegment(path.slice(base.length)) : '')
  const isPublic = (path: string): boolean => publicSegments.has(segmentOf(path))
  const readClasses = groups.flatMap(({ endpoints }) => endpoints).flatMap((each) => readClassOf(each, base))
  return {
    isPublic,
    errorShapeOf: (path) => (verificationSegments.has(segmentOf(path)) ? 'verification' : 'operation'),
    workClassOf(ctx) {
      if (!ctx.path.startsWith(`${base}/`)) return undefined
      if (isPublic(ctx.path)) return 'public'
      const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
      const special = isRead ? readClasses.find(({ pattern }) => pattern.test(ctx.path))?.workClass : undefined
      // A download can have a token instead of a key.
      if (ctx.get('X-API-Key') === '') return special === 'downloads' ? special : 'public'
      if (isRead) return special ?? 'reads'
      return essence(ctx.get('Content-Type')) === 'multipart/form-data' ? 'uploads' : 'writes'
    },
  }
}

const firstSegment = (path: string): string => path.split('/', 2)[1] ?? ''

/** The paths of an endpoint that reads more than a record, with its class. */
function readClassOf({ method, path, workClass }: Endpoint, base: string) {
  if (method !== 'GET' || workClass === undefined) return []
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')
  return [{ pattern: new RegExp(`^${base}${pattern}$`), workClass }]
}

import type { EndpointGroup } from '../contract/endpoint.ts'
import type { ErrorShape } from './errors.ts'

/** What is known about a path before, or without, a route. */
export interface PathRules {
  /** Whether the endpoints there are public. */
  readonly isPublic: (path: string) => boolean
  /** The body that an error has there. */
  readonly errorShapeOf: (path: string) => ErrorShape
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
  return {
    isPublic: (path) => publicSegments.has(segmentOf(path)),
    errorShapeOf: (path) => (verificationSegments.has(segmentOf(path)) ? 'verification' : 'operation'),
  }
}

const firstSegment = (path: string): string => path.split('/', 2)[1] ?? ''

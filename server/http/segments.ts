import { isKeyless, type Endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import type { ErrorShape } from '../contract/errors.ts'

/** All endpoints of the contract are below it. Only another version of the contract would change it. */
export const BASE_PATH = '/api/v1'

const SEGMENT = new RegExp(`^(?:https?://[^/?#]*)?((?:${BASE_PATH}(?=/))?/[^/?#]*)`, 'i')

/**
 * A path, or the target of a request, up to its first segment or the first one below the base. The target may be a
 * whole URL (RFC 9112 § 3.2.2).
 */
export const segmentOf = (target: string): string => SEGMENT.exec(target)?.[1] ?? ''

/** Whether a target is below the base. */
export const isBelowBase = (target: string): boolean => segmentOf(target).startsWith(`${BASE_PATH}/`)

/** What holds for all paths with one first segment below the base, also for one that no endpoint has. */
export interface PathRules {
  /** Whether scripts of any origin may read the responses. */
  readonly isPublic: (target: string) => boolean
  /** Whether a secret of a share opens them. Then they are public, too. */
  readonly isShare: (target: string) => boolean
  /** The body that errors have. */
  readonly errorShapeOf: (target: string) => ErrorShape
}

export function pathRulesOf(groups: readonly EndpointGroup[]): PathRules {
  const segmentsOf = (holds: (endpoint: Endpoint, group: EndpointGroup) => boolean): ReadonlySet<string> =>
    new Set(
      groups.flatMap((group) =>
        group.endpoints.filter((each) => holds(each, group)).map(({ path }) => segmentOf(BASE_PATH + path)),
      ),
    )
  const shared = segmentsOf(({ access }) => access === 'share')
  const open = segmentsOf(({ access }) => isKeyless(access))
  const ofProofs = segmentsOf((_, { errorShape }) => errorShape === 'verification')
  return {
    isPublic: (target) => open.has(segmentOf(target)),
    isShare: (target) => shared.has(segmentOf(target)),
    errorShapeOf: (target) => (ofProofs.has(segmentOf(target)) ? 'verification' : 'operation'),
  }
}

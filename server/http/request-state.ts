import type { Turn } from './admission.ts'
import type { Route } from './route.ts'
import type { Section } from './sections.ts'

declare module 'koa' {
  /** What middleware notes about a request for the middleware after it (`ctx.state`). */
  interface DefaultState {
    /** Set by the first middleware. */
    section: Section
    /** Set by the first middleware. `undefined` if the request has no route. */
    route?: Route | undefined
    /** The target of the request has no path. */
    hasInvalidTarget?: boolean
    /** The class of the request is full, so it is rejected. */
    isExcess?: boolean
    /** Absent if the request has no limit. */
    turn?: Turn
    requestId?: string
    /** The code of the error with which it ended. */
    code?: string
    /** What `afterResponse` was given. */
    afterResponse?: (() => void)[]
  }
}

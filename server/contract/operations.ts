import Type from '#typebox'
import { closed, opt } from './values.ts'

/** What `/readyz` returns. A load balancer reads only its status. */
export const Readiness = closed({
  status: Type.Enum(['ok', 'unavailable']),
  /** Of the package that runs. */
  version: Type.String(),
  /** Why it is unavailable: an error code, `stopping`, or why it refuses writes. */
  reason: opt(Type.String()),
  /** `READ_ONLY`: it serves reads, and refuses every write. */
  writes: opt(Type.Literal('READ_ONLY')),
  /** How many damaged records and files the scrub found. Missing if it found none. */
  differences: opt(Type.Integer({ minimum: 1 })),
})
/** The document itself. Its own specification describes it, so it is open here. */
export const OpenApi = Type.Object({ openapi: Type.String() })

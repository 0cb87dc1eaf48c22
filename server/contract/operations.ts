import Type from 'typebox'
import { closed, opt } from './values.ts'

export const Readiness = closed({
  status: Type.Enum(['ok', 'unavailable']),
  /** Why it is unavailable: an error code, `stopping`, or why it refuses writes. */
  reason: opt(Type.String()),
  /** `READ_ONLY`: it serves reads, and refuses every write. */
  writes: opt(Type.Literal('READ_ONLY')),
})
export const OpenApi = Type.Object({ openapi: Type.String() })

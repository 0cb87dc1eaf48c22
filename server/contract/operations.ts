import Type from '#typebox'
import { closed, opt, TextBoolean } from './values.ts'

/** What `/readyz` returns. A load balancer reads only its status. */
export const Readiness = closed({
  status: Type.Enum(['ok', 'unavailable']),
  version: Type.String({ description: 'Of the software' }),
  reason: opt(
    Type.String({ description: 'Why it is unavailable: an error code, `stopping`, or why it refuses writes' }),
  ),
  writes: opt(Type.Literal('READ_ONLY')),
  differences: opt(Type.Integer({ minimum: 1 })),
  clock: opt(Type.String({ description: 'What is wrong with the clock of the machine. A warning: it is ready' })),
  unsafeSettings: opt(
    Type.Array(Type.String(), {
      description: 'Settings of the database that are off, so that lost power can lose or damage records',
    }),
  ),
  failures: opt(
    Type.Array(Type.String(), {
      description:
        'Codes of what failed at its last attempt: sealing, an authority, a chain, worker threads. STAMP_OVERDUE, ' +
        'ANCHOR_OVERDUE: entries have waited for three intervals, and nothing was made. WITNESS_OTHER_HISTORY, ' +
        'WITNESS_AHEAD: what a witness has cosigned is not in this log',
    }),
  ),
})
/** Which request bodies the document lists. */
export const OpenApiQuery = closed({ json: opt(TextBoolean) })
/** The document itself. Its own specification describes it, so it is open here. */
export const OpenApi = Type.Object({ openapi: Type.String() })

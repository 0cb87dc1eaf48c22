import { Readable } from 'node:stream'
import type { Context, Middleware, Next } from 'koa'
import type { Logger } from '../../core/index.ts'
import { WORK_CLASSES, type Admission, type Turn } from './admission.ts'
import { afterResponse } from './after-response.ts'
import { HttpError } from './errors.ts'
import { sectionOf } from './sections.ts'

/** Time between warnings about rejected requests. */
const WARNING_INTERVAL_MS = 10_000

export interface AdmitOptions {
  readonly admission: Admission
  readonly logger: Logger
}

/**
 * Admits each request to the limits of its class. Marks it if the class is full: then `rejectExcess` rejects it, and it
 * is neither logged nor measured one by one, because an overloaded server must reject at little cost.
 */
export function admit({ admission, logger }: AdmitOptions): Middleware {
  const warn = warnings(admission, logger)
  return (ctx, next) => {
    const workClass = sectionOf(ctx).workClassOf(ctx)
    if (workClass === undefined) return next()
    const turn = admission.enter(workClass)
    if (turn === undefined) {
      warn()
      ctx.state.isExcess = true
      return next()
    }
    ctx.state.turn = turn
    return runAdmitted(ctx, turn, next)
  }
}

async function runAdmitted(ctx: Context, turn: Turn, next: Next): Promise<void> {
  try {
    await next()
  } finally {
    // A streamed body is produced after this.
    if (ctx.body instanceof Readable) afterResponse(ctx, () => turn.leave())
    else turn.leave()
  }
}

/** Whether the class of a request is full. */
export const isExcess = (ctx: Context): boolean => ctx.state.isExcess === true

/** One for all requests: to capture a stack costs more than the rest of the response. */
const EXCESS = new HttpError('OVERLOADED', 'Too many requests of this class are in progress')

/** Throws `OVERLOADED` for a request that was not admitted. */
export const rejectExcess: Middleware = (ctx, next) => {
  if (isExcess(ctx)) throw EXCESS
  return next()
}

/** The turn of a request; `undefined` if it has no limit. */
export const turnOf = (ctx: Context): Turn | undefined => ctx.state.turn

/** A function that logs, from time to time, how many requests were rejected. */
function warnings(admission: Admission, logger: Logger): () => void {
  let nextAtMs = 0
  return () => {
    if (performance.now() < nextAtMs) return
    nextAtMs = performance.now() + WARNING_INTERVAL_MS
    const rejected = Object.fromEntries(WORK_CLASSES.map((name) => [name, admission.stateOf(name).rejected]))
    logger.warn(
      { rejected },
      'too many requests are in progress; some were rejected with 503 (numbers since the start)',
    )
  }
}

import type { Context } from 'koa'
import { RegistryError } from '../../core/errors.ts'
import type { Scope } from '../../core/api/registry.ts'

/** Counts a request against whoever sent it. Throws `RATE_LIMITED` beyond the limit, with Retry-After set. */
export type RateLimiter = (ctx: Context, scope: Scope | undefined) => Promise<void>

/** Counts for several servers together. */
export interface RequestCounter {
  /** One more request of a sender: how many there are in its window now, and in how many ms that ends. */
  countRequest(sender: string, windowMs: number): Promise<{ readonly requests: number; readonly resetsInMs: number }>
}

const MINUTE_MS = 60_000

/** Requests a minute of one source system, or of one address where no key was recognised; 0 is no limit. Counted in this process where no counter is given. */
export async function createRateLimiter(perMinute: number, counter?: RequestCounter): Promise<RateLimiter> {
  if (perMinute === 0) return async () => undefined
  const counts = counter ?? (await ownCounter())
  return async (ctx, scope) => {
    const { requests, resetsInMs } = await counts.countRequest(senderOf(ctx, scope), MINUTE_MS)
    if (requests <= perMinute) return
    ctx.set('Retry-After', String(Math.max(1, Math.ceil(resetsInMs / 1_000))))
    throw new RegistryError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again later`)
  }
}

async function ownCounter(): Promise<RequestCounter> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  // Its own limit is out of reach: what it counts is compared here.
  const counts = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: MINUTE_MS / 1_000 })
  return {
    async countRequest(sender) {
      const { consumedPoints, msBeforeNext } = await counts.consume(sender)
      return { requests: consumedPoints, resetsInMs: msBeforeNext }
    },
  }
}

function senderOf(ctx: Context, scope: Scope | undefined): string {
  if (scope === undefined || scope.companyId === '' || scope.principal.kind === 'operator') return `address ${ctx.ip}`
  return scope.principal.id === 'file-token' ? `address ${ctx.ip}` : `system ${scope.principal.id}`
}

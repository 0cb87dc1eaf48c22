import type { Context } from 'koa'
import { RegistryError } from '../core/errors.ts'
import type { Scope } from '../core/registry.ts'

/** Counts a request against whoever sent it. Throws `RATE_LIMITED` beyond the limit, with Retry-After set. */
export type RateLimiter = (ctx: Context, scope: Scope | undefined) => Promise<void>

/** Requests a minute of one source system, or of one address where no key was recognised; 0 is no limit. Counted in this process. */
export async function createRateLimiter(perMinute: number): Promise<RateLimiter> {
  if (perMinute === 0) return async () => undefined
  const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: perMinute, duration: 60 })
  return async (ctx, scope) => {
    try {
      await limiter.consume(senderOf(ctx, scope))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      ctx.set('Retry-After', String(Math.max(1, Math.ceil(refusal.msBeforeNext / 1_000))))
      throw new RegistryError('RATE_LIMITED', `More than ${perMinute} requests in a minute; try again later`, {
        cause: refusal,
      })
    }
  }
}

function senderOf(ctx: Context, scope: Scope | undefined): string {
  if (scope === undefined || scope.companyId === '' || scope.principal.kind === 'operator') return `address ${ctx.ip}`
  return scope.principal.id === 'file-token' ? `address ${ctx.ip}` : `system ${scope.principal.id}`
}

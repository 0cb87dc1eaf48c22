import type { Context } from 'koa'
import type { Scope } from '../../core/index.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { authorize, type AuthorizationServices } from './authorize.ts'
import { noRateLimit } from './rate-limit.ts'
import type { Sender } from './sender.ts'

/** How old a look-up of the key may be when something depends on it. */
const MAX_AGE_MS = 1_000

/**
 * Who sends a request, as long as it takes. Its key may end while the body arrives, the request waits, or the response
 * is read: then the request ends with it.
 */
export class Authorization {
  readonly sender: Sender
  readonly #lookUp: () => ReturnType<typeof authorize>
  #scope: Scope
  #lookedUpAtMs = performance.now()

  private constructor(first: Awaited<ReturnType<typeof authorize>>, lookUp: () => ReturnType<typeof authorize>) {
    this.sender = first.sender
    this.#scope = first.scope
    this.#lookUp = lookUp
  }

  /** Authorizes a request, and counts it. Throws as `authorize`. */
  static async of(
    endpoint: Endpoint,
    ctx: Context,
    companyId: string,
    services: AuthorizationServices,
  ): Promise<Authorization> {
    const again = { rateLimit: noRateLimit, ration: noRateLimit, hasBegun: true }
    return new Authorization(await authorize(endpoint, ctx, companyId, services), () =>
      authorize(endpoint, ctx, companyId, { ...services, ...again }),
    )
  }

  /** Of the newest look-up: the level of a key may change, too. */
  get scope(): Scope {
    return this.#scope
  }

  /**
   * Looks the key up again, unless that was less than `maxAgeMs` ago: then it returns no promise.
   *
   * @throws `UNAUTHORIZED`, `FORBIDDEN`, as a new request
   */
  renew(maxAgeMs = MAX_AGE_MS): Promise<void> | undefined {
    const nowMs = performance.now()
    return nowMs - this.#lookedUpAtMs < maxAgeMs ? undefined : this.#renewAt(nowMs)
  }

  async #renewAt(nowMs: number): Promise<void> {
    const { scope } = await this.#lookUp()
    this.#scope = scope
    this.#lookedUpAtMs = nowMs
  }
}

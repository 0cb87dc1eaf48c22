import { verificationError } from '../errors.ts'

/** Signature checks that one stamp may cost. An honest one with three authorities and their CRLs needs about 25. */
export const MAX_SIGNATURE_CHECKS = 40

/**
 * Counts signature checks, so that a bundle made by an attacker costs a bounded time. Remembers what was checked: all
 * tokens of an honest bundle share a few certificates and CRLs, and each of these counts once.
 */
export class SignatureBudget {
  readonly #limit: number
  #used = 0
  #isExceeded = false
  readonly #known = new Map<string, unknown>()

  constructor(limit = MAX_SIGNATURE_CHECKS) {
    this.#limit = limit
  }

  /** Signature checks so far. */
  get used(): number {
    return this.#used
  }

  /** Whether a check was left out. A result must then fail, because that check could have refuted it. */
  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /**
   * Returns what `compute` returned for this key before, or calls it. The key must name everything that `compute` uses,
   * and the type. An error is not remembered.
   */
  once<T>(key: string, compute: () => T): T {
    if (this.#known.has(key)) return this.#known.get(key) as T
    const result = compute()
    this.#known.set(key, result)
    return result
  }

  /** Call it before each check. Throws `VERIFICATION_FAILED` beyond the limit. */
  spend(): void {
    this.#isExceeded ||= this.#used >= this.#limit
    if (this.#isExceeded) throw verificationError(`Verifying this needs more than ${this.#limit} signature checks`)
    this.#used += 1
  }
}

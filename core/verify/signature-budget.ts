import { verificationError } from '../errors.ts'

/** Signature checks that one document may cost. An honest one with three authorities and their CRLs needs about 25. */
export const MAX_SIGNATURE_CHECKS = 40

/** Counts signature checks, so that a document made by an attacker costs a bounded time. */
export class SignatureBudget {
  readonly #limit: number
  #used = 0
  #isExceeded = false

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

  /** Call it before each check. Throws `VERIFICATION_FAILED` beyond the limit. */
  spend(): void {
    this.#isExceeded ||= this.#used >= this.#limit
    if (this.#isExceeded) throw verificationError(`Verifying this needs more than ${this.#limit} signature checks`)
    this.#used += 1
  }
}

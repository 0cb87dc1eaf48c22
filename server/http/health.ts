import { isRegistryError, type ErrorCode } from '../../core/errors.ts'
import type { Registry } from '../../core/api/registry.ts'

/** Failures that no retry mends: the process must be restarted, or a person must look. */
const FATAL: ReadonlySet<ErrorCode> = new Set([
  'STORE_POISONED',
  'CORRUPT',
  'LOG_BEHIND_SIGNED',
  'LOG_KEY_MISMATCH',
  'CLOSED',
])

/** Whether the process should be sent requests. */
export class Health {
  readonly #registry: Registry
  #stopping = false
  #fatal: ErrorCode | undefined

  constructor(registry: Registry) {
    this.#registry = registry
  }

  get stopping(): boolean {
    return this.#stopping
  }

  /** From now on requests are finished, and new ones should go elsewhere. */
  stop(): void {
    this.#stopping = true
  }

  /** Every failure passes here; a store that took its last write makes itself known by one. */
  note(error: unknown): void {
    if (isRegistryError(error) && (error.code === 'STORE_POISONED' || error.code === 'CLOSED')) this.#fatal = error.code
  }

  /** Why it is not ready, `undefined` where it is. */
  problem(): string | undefined {
    if (this.#stopping) return 'stopping'
    if (this.#fatal !== undefined) return this.#fatal
    const { failures } = this.#registry.status()
    return (
      [failures.seal, failures.stamp, failures.anchor]
        .map(({ lastCode }) => lastCode)
        .find((code) => code !== null && FATAL.has(code as ErrorCode)) ?? undefined
    )
  }
}

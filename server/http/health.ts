import { isRegistryError, type ErrorCode, type Registry, type WritesRefused } from '../../core/index.ts'
import type { ScrubStatus } from '../../core/ops/index.ts'

/** Failures that a retry does not repair: the process must be restarted, or the operator must act. */
const FATAL: ReadonlySet<string> = new Set<ErrorCode>([
  'STORE_POISONED',
  'CORRUPT',
  'LOG_BEHIND_SIGNED',
  'LOG_KEY_MISMATCH',
  'CLOSED',
])

/** What a client is told about a write that is refused. */
const REFUSED_TEXTS: Readonly<Record<WritesRefused, string>> = {
  READ_ONLY: 'This service is read-only: it serves what is recorded, and accepts no writes',
  CLOCK: 'This server accepts no writes, because its clock is wrong; try again later',
}

/** See `AppOptions`. */
interface HealthSources {
  readonly isStorePoisoned?: () => boolean
  readonly unsafeSettings?: readonly string[]
  readonly scrubStatus?: () => ScrubStatus | undefined
  readonly clockProblem?: () => string | undefined
}

/** The part of a registry that tells how it is. */
export interface StatusSource {
  status(): Pick<ReturnType<Registry['status']>, 'writesRefused' | 'currentFailures'>
}

/** Whether a load balancer should send requests to this process. */
export class Health {
  readonly #registry: StatusSource
  readonly #sources: HealthSources
  /** Set by `stop`. */
  isStopping = false
  #fatal: ErrorCode | undefined

  constructor(registry: StatusSource, sources: HealthSources = {}) {
    this.#registry = registry
    this.#sources = sources
  }

  /** Settings of the database with which lost power can lose or damage records. */
  get unsafeSettings(): readonly string[] {
    return this.#sources.unsafeSettings ?? []
  }

  /** What is wrong with the clock, although events are accepted. */
  clockProblem(): string | undefined {
    return this.#sources.clockProblem?.()
  }

  /** Begins the shutdown: running requests are finished, and new ones should go to another server. */
  stop(): void {
    this.isStopping = true
  }

  /** Notes the failure of a request. A store that accepts no more writes shows it by such a failure. */
  note(error: unknown): void {
    if (isRegistryError(error, 'CLOSED') || isRegistryError(error, 'STORE_POISONED')) this.#fatal = error.code
  }

  /** The registry was opened read-only, so that every write is refused. */
  isReadOnly(): boolean {
    return this.#registry.status().writesRefused === 'READ_ONLY'
  }

  /**
   * How many differences the scrub found. Damage is not a reason to stop requests: what is damaged is never returned,
   * and everything else is right.
   */
  damage(): number {
    return this.#sources.scrubStatus?.()?.differences ?? 0
  }

  /** Codes of what fails now, though requests are served: sealing, an authority, a chain, worker threads. */
  failures(): readonly string[] {
    return [...new Set(this.#registry.status().currentFailures)]
  }

  /** The text of a 503 while writes are refused, else `undefined`. */
  refusedText(): string | undefined {
    const reason = this.#registry.status().writesRefused
    return reason === null ? undefined : REFUSED_TEXTS[reason]
  }

  /** What a company may know: whether everything works. */
  overall(): 'ok' | 'degraded' {
    const { currentFailures, writesRefused } = this.#registry.status()
    const isWell = this.problem() === undefined && this.damage() === 0 && writesRefused === null
    return isWell && currentFailures.length === 0 ? 'ok' : 'degraded'
  }

  /** Why it is not ready, `undefined` if it is. */
  problem(): string | undefined {
    if (this.isStopping) return 'stopping'
    if (this.#fatal !== undefined) return this.#fatal
    if (this.#sources.isStorePoisoned?.() === true) return 'STORE_POISONED'
    const { currentFailures, writesRefused } = this.#registry.status()
    if (writesRefused === 'CLOCK') return writesRefused
    return currentFailures.find((code) => FATAL.has(code))
  }
}

import { isRegistryError, type ErrorCode, type Registry, type WritesRefused } from '../../core/index.ts'
import type { ScrubStatus } from '../../core/ops/index.ts'
import type { Static } from '#typebox'
import type { CompanyHealth } from '../contract/overview.ts'
import type { Readiness } from '../contract/operations.ts'
import { defined } from '../contract/values.ts'
import { VERSION } from '../version.ts'

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
  LOG_BEHIND_SIGNED: 'This service accepts no writes, because its record store was set back; try again later',
  CLOCK: 'This server accepts no writes, because its clock is behind the last batch; try again later',
}

/** What the program that opened the registry knows besides its status. */
export interface HealthSources {
  /** Whether the record store rejects writes because an earlier one failed. Default: the next failed request tells. */
  readonly isStorePoisoned?: () => boolean
  /** Whether the directory of the files is lost while the server runs. Default: requests that fail tell. */
  readonly areFilesLost?: () => boolean
  /** Settings of the database with which lost power can lose or damage records: for `/readyz`. Default: none. */
  readonly unsafeSettings?: readonly string[]
  /** Of the scrub of this process: for `/metrics` and `/readyz`. `undefined` before it starts. */
  readonly scrubStatus?: () => ScrubStatus | undefined
  /** What is wrong with the clock, for `/readyz`. */
  readonly clockProblem?: () => string | undefined
  /** For the overview of companies. Default: it says nothing of backup and disk. */
  readonly serverReadings?: () => Promise<Omit<CompanyHealth, 'health'>>
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

  /** Begins the shutdown: running requests are finished, and new ones should go to another server. */
  stop(): void {
    this.isStopping = true
  }

  /** Notes the failure of a request. A store that accepts no more writes shows it by such a failure. */
  note(error: unknown): void {
    if (isRegistryError(error, 'CLOSED') || isRegistryError(error, 'STORE_POISONED')) this.#fatal = error.code
  }

  /**
   * What `/readyz` says. Damage is not a reason to stop requests: what is damaged is never returned, and everything
   * else is right.
   */
  readiness(): Static<typeof Readiness> {
    const { scrubStatus, unsafeSettings = [], clockProblem } = this.#sources
    const { currentFailures, writesRefused } = this.#registry.status()
    const reason = this.problem()
    const differences = scrubStatus?.()?.differences ?? 0
    return {
      status: reason === undefined ? 'ok' : 'unavailable',
      ...defined({ reason }),
      version: VERSION,
      ...defined({ clock: clockProblem?.() }),
      ...(writesRefused === 'READ_ONLY' && { writes: writesRefused }),
      ...(differences > 0 && { differences }),
      ...(unsafeSettings.length > 0 && { unsafeSettings: [...unsafeSettings] }),
      ...(currentFailures.length > 0 && { failures: [...new Set(currentFailures)] }),
    }
  }

  /** The text of a 503 while writes are refused, else `undefined`. */
  refusedText(): string | undefined {
    const reason = this.#registry.status().writesRefused
    return reason === null ? undefined : REFUSED_TEXTS[reason]
  }

  /** What anyone with a key may know. */
  async ofCompany(): Promise<CompanyHealth> {
    const { status, writes, differences, failures } = this.readiness()
    const isWell = status === 'ok' && writes === undefined && differences === undefined && failures === undefined
    return { health: isWell ? 'ok' : 'degraded', ...(await this.#sources.serverReadings?.()) }
  }

  /** Why it is not ready, `undefined` if it is. */
  problem(): string | undefined {
    if (this.isStopping) return 'stopping'
    if (this.#fatal !== undefined) return this.#fatal
    if (this.#sources.isStorePoisoned?.() === true) return 'STORE_POISONED'
    const { currentFailures, writesRefused } = this.#registry.status()
    if (writesRefused !== null && writesRefused !== 'READ_ONLY') return writesRefused
    if (this.#sources.areFilesLost?.() === true) return 'FILES_LOST'
    return currentFailures.find((code) => FATAL.has(code))
  }
}

/** The time. Tests pass their own clock. */
export interface Clock {
  /** ms since 1970. */
  now(): number
  /** Waits. Rejects with the signal's reason if it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The part of pino's interface that the registry uses. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Failures of the workers of an engine. */
export interface EngineFailures {
  /** Since the start. */
  readonly count: number
  /** True until they finish a task again. */
  readonly isFailing: boolean
}

/**
 * Makes evidences of large bulk creates in another thread, while the calling thread makes or commits other ones. It
 * changes nothing in the stores. `EventPool` of `evidence-registry/sealer` is one.
 *
 * @throws `ENGINE_FAILED` for a failure after which the call can be repeated, `CLOSED` after `close`
 */
export interface EventEngine {
  /** For the status. An engine without workers has none. */
  readonly failures?: EngineFailures
  /**
   * Makes some of the evidences of one bulk create.
   *
   * @param request - a text that only the registry reads
   * @returns the packed evidences, in memory that belongs to the caller
   */
  makeEvidences(request: string): Promise<Uint8Array>
  /** Waits for the calls under way. */
  close(): Promise<void>
}

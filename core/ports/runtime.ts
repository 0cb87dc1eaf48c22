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

import type { Logger } from '../../core/index.ts'

/** Time for the registry to close, after the time for running requests. */
export const CLOSE_MS = 30_000

/** npm forwards a signal that the terminal has already sent to the process group: one Ctrl-C arrives twice. */
const SAME_SIGNAL_MS = 500

/** What is closed, and how long that may take. */
export interface ShutdownOptions {
  readonly logger: Logger
  /** Time limit for `close`. */
  readonly timeoutMs: number
  readonly close: () => Promise<void>
}

/**
 * Closes after SIGINT or SIGTERM, and after an error that was not caught. A second signal or error ends the process at
 * once, which loses nothing that was acknowledged.
 *
 * The signals of a crash (SIGSEGV and others) must have no listener: it would make the process repeat the failing
 * instruction forever.
 *
 * @returns closes without a signal, and ends the process with this exit code
 */
export function closeOnSignal({ logger, timeoutMs, close }: ShutdownOptions): (exitCode: number) => void {
  let startedAt: number | undefined
  const end = (exitCode: number): void => {
    if (startedAt !== undefined) return
    startedAt = performance.now()
    const fail = (fields: object, message: string): void => {
      logger.error(fields, message)
      process.exit(1)
    }
    setTimeout(() => fail({ timeoutMs }, 'closing took too long; the process ends now'), timeoutMs)
    void close()
      .then(() => logger.info({}, 'stopped'))
      .then(
        () => process.exit(exitCode),
        (err: unknown) => fail({ err }, 'the server could not be closed'),
      )
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    if (startedAt !== undefined && performance.now() - startedAt > SAME_SIGNAL_MS) process.exit(1)
    if (startedAt === undefined) logger.info({ signal }, 'stopping: running requests are finished first')
    end(0)
  }
  const onError = (err: unknown): void => {
    logger.error({ err }, 'unexpected error; the server stops')
    if (startedAt !== undefined) process.exit(1)
    end(1)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  process.on('uncaughtException', onError).on('unhandledRejection', onError)
  return end
}

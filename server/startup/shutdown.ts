import closeWithGrace from 'close-with-grace'
import type { Logger } from '../../core/index.ts'

/** npm forwards a signal that the terminal has already sent to the process group: one Ctrl-C arrives twice. */
const SAME_SIGNAL_MS = 500

/**
 * Signals by which the processor or the runtime ends a program that cannot continue. With a listener in JavaScript the
 * failing instruction is repeated forever, so the process would use a whole core and never end.
 */
const CRASH_SIGNALS = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

export interface ShutdownOptions {
  readonly logger: Logger
  /** Time limit for `close`. */
  readonly timeoutMs: number
  readonly close: () => Promise<void>
}

/**
 * Closes after SIGINT or SIGTERM, and after an error that was not caught. A second signal ends the process at once,
 * which loses nothing that was acknowledged.
 *
 * @returns closes without a signal, and ends the process with this exit code
 */
export function closeOnSignal({ logger, timeoutMs, close }: ShutdownOptions): (exitCode: number) => void {
  const onTimeout = (delayMs: number): void => logger.error({ delayMs }, 'closing took too long; the process ends now')
  let exitCode: number | undefined
  const grace = closeWithGrace(
    { delay: timeoutMs, logger: false, onTimeout, skip: ['SIGINT', 'SIGTERM', ...CRASH_SIGNALS] },
    async ({ err }) => {
      if (err !== undefined) logger.error({ err }, 'unexpected error; the server stops')
      await close()
      logger.info({}, 'stopped')
      if (exitCode !== undefined) process.exit(exitCode)
    },
  )
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      logger.info({ signal }, 'stopping: running requests are finished first')
      grace.close()
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(1)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return (code) => {
    exitCode = code
    grace.close()
  }
}

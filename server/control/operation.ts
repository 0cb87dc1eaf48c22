import type { Logger } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import type { OpenedRegistry } from '../startup/registry.ts'
import type { OperationProgress } from './protocol.ts'

/** What an operation works with. */
export interface ControlContext extends OpenedRegistry {
  readonly config: Config
  readonly logger: Logger
}

/** One run of an operation. */
export interface OperationRun {
  /** Tells the caller about the progress. Lines that it cannot read fast enough are dropped. */
  readonly report: (progress: OperationProgress) => void
  /** Aborted if the caller has gone, or the server stops. */
  readonly signal: AbortSignal
}

/**
 * An operation on an open registry. A running server runs it for a request on its control socket; for a stopped
 * registry the command opens the registry itself and runs the same code.
 *
 * `Args` and `Result` must be JSON, because they may cross the socket.
 */
export interface ControlOperation<Args, Result> {
  readonly name: string
  /** How the command opens a stopped registry. With `read-only` nothing is written, sealed or signed. */
  readonly opens: 'read-only' | 'writable'
  /** Checks arguments that came over the socket, perhaps from a command of another version. `VALIDATION_ERROR` */
  parse(args: unknown): Args
  run(context: ControlContext, args: Args, run: OperationRun): Promise<Result>
}

/** Checks the arguments of an operation that has none. */
export const parseNoArgs = (): Readonly<Record<string, never>> => ({})

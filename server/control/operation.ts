import type { Static, TSchema } from '#typebox'
import type { Logger } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import type { OpenedRegistry } from '../startup/registry.ts'

/** What an operation works with. */
export interface ControlContext extends OpenedRegistry {
  readonly config: Config
  readonly logger: Logger
}

/** What an operation tells while it runs. */
export interface OperationProgress {
  /** What is done at present, for people. */
  readonly stage: string
  /** How much of it is done, in the stage's own unit. */
  readonly done: number
}

/** One run of an operation. */
export interface OperationRun {
  /** Tells the caller about the progress. Lines that it cannot read fast enough are dropped. */
  readonly report: (progress: OperationProgress) => void
  /** Aborted if the caller has gone, or the server stops. */
  readonly signal: AbortSignal
}

/**
 * An operation on an open registry. A running server runs it for `POST /NAME` on its control socket. For a stopped
 * registry the command opens the registry itself and runs the same code.
 */
export interface ControlOperation<Args extends TSchema, Result> {
  readonly name: string
  /** How the command opens a stopped registry. With `read-only` nothing is written, sealed or signed. */
  readonly opens: 'read-only' | 'writable'
  /** The JSON that the request has as its body. A command of another version may send something else. */
  readonly args: Args
  /** The result must be JSON, because it may cross the socket. */
  run(context: ControlContext, args: Static<Args>, run: OperationRun): Promise<Result>
}

/**
 * A line of a response. Each has one member: any number of lines tell the progress, the last one has the result or the
 * error.
 */
export type ResponseLine =
  | { readonly progress: OperationProgress }
  | { readonly result: unknown }
  | { readonly error: string; readonly code: string }

import { DatabaseError } from 'pg'
import { isRegistryError, messageOf, RegistryError } from '../kit/index.ts'

/**
 * Classifies errors of `pg` by their SQLSTATE (PostgreSQL documentation, appendix A). An error without one comes from
 * the connection.
 */

/**
 * serialization_failure, deadlock_detected: the server rolled the transaction back and expects the client to repeat it.
 */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40001', '40P01'])

/**
 * The server stops, starts, is still a standby, has no free connection, or cancelled what took too long: it passes by
 * itself.
 */
const TRANSIENT = new Set(['57P01', '57P02', '57P03', '57P05', '25006', '25P03', '53300', '55P03', '57014'])

/** data_corrupted, index_corrupted. */
const DAMAGED: ReadonlySet<unknown> = new Set(['XX001', 'XX002'])

const sqlStateOf = (error: unknown): string | undefined => (error instanceof DatabaseError ? error.code : undefined)

/** True if the server says that this transaction has changed nothing. Also valid for an error of its COMMIT. */
export const isRolledBack = (error: unknown): boolean => ROLLED_BACK.has(sqlStateOf(error))

/** True if the same call may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  if (isRegistryError(error)) return false
  const state = sqlStateOf(error)
  if (state === undefined) return !(error instanceof TypeError || error instanceof RangeError)
  return ROLLED_BACK.has(state) || TRANSIENT.has(state) || state.startsWith('08')
}

/** Converts an error of a call that changed nothing into the coded error that the caller receives. */
export function toRegistryError(cause: unknown): RegistryError {
  if (isRegistryError(cause)) return cause
  if (DAMAGED.has(sqlStateOf(cause)))
    return new RegistryError('CORRUPT', 'The database detected damage in its files: restore them from a backup', {
      cause,
    })
  const reason = reasonOf(cause)
  const advice = ADVICE.filter(([pattern]) => pattern.test(reason)).map(([, text]) => `. ${text}`)
  const message = `The database call failed (${reason}); nothing was changed${advice.join('')}`
  return new RegistryError('UNAVAILABLE', message, { cause })
}

/** What to do about errors of a pooler, and of a database that accepts no writes. */
const ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /SQLSTATE (42P05|26000)/,
    'The pooler does not keep prepared statements: use PgBouncer 1.21 or newer with max_prepared_statements = 100, ' +
      'or pool_mode = session',
  ],
  [
    /unsupported startup parameter/,
    'PgBouncer needs ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
  ],
  [
    /SQLSTATE 25006/,
    'The database accepts no writes: connect to the primary, or serve it with EVIDENCE_READ_ONLY=true',
  ],
]

/** Returns the message of the server or the system. It contains neither a password nor a record. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const state = sqlStateOf(error)
  const message = messageOf(error)
  return state === undefined ? message : `${message}, SQLSTATE ${state}`
}

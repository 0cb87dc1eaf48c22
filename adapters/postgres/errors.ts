import { DatabaseError } from 'pg'
import { isRegistryError, RegistryError } from '../../core/errors.ts'

/**
 * What PostgreSQL's errors mean for the caller (SQLSTATE, PostgreSQL documentation, appendix A). An error that did not come from the
 * server is one of the connection.
 */

/** Asked for again by the protocol: serialization_failure, deadlock_detected. The transaction is rolled back. */
const ROLLED_BACK = new Set(['40001', '40P01'])

/** Passes by itself: the server stops, starts, is a standby still, is full of connections, or ended what took too long. */
const PASSING = new Set(['57P01', '57P02', '57P03', '57P05', '25006', '25P03', '53300', '55P03', '57014'])

const stateOf = (error: unknown): string | undefined => (error instanceof DatabaseError ? error.code : undefined)

/** True where the server says that this transaction, also at its COMMIT, has changed nothing. */
export const isRolledBack = (error: unknown): boolean => ROLLED_BACK.has(stateOf(error) ?? '')

/** True where the same may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  if (isRegistryError(error)) return false
  const state = stateOf(error)
  if (state === undefined) return !(error instanceof TypeError || error instanceof RangeError)
  return ROLLED_BACK.has(state) || PASSING.has(state) || state.startsWith('08')
}

/** What a caller sees of an error that changed nothing. */
export function toRegistryError(cause: unknown): RegistryError {
  if (isRegistryError(cause)) return cause
  // XX001 data_corrupted, XX002 index_corrupted.
  if (/^XX00[12]$/.test(stateOf(cause) ?? ''))
    return new RegistryError('CORRUPT', 'The database found damage in its files: restore them from a backup', { cause })
  return new RegistryError(
    'UNAVAILABLE',
    `The database did not do what was asked (${reasonOf(cause)}); nothing was changed`,
    { cause },
  )
}

/** A server's or the system's own words; neither holds a password or a record. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const state = stateOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return state === undefined ? message : `${message}, SQLSTATE ${state}`
}

import { systemAdvice } from '../files/errors.ts'
import { isError, isRegistryError, RegistryError } from '../kit/index.ts'

const codeOf = (error: unknown): unknown => (isError(error) && 'code' in error ? error.code : undefined)

/** True if abstract-level rejected the call because the database is closed, so that nothing reached the database. */
export const isNotOpen = (error: unknown): boolean =>
  /^LEVEL_(DATABASE|BATCH|ITERATOR)_NOT_OPEN$/.test(String(codeOf(error)))

/** Converts an error of a call that changed nothing into the coded error that the caller receives. */
export function toRegistryError(cause: unknown): RegistryError {
  if (isRegistryError(cause)) return cause
  if (isNotOpen(cause)) return new RegistryError('CLOSED', 'The record store is closed', { cause })
  if (codeOf(cause) === 'LEVEL_CORRUPTION')
    return new RegistryError('CORRUPT', 'The database detected damage in its files: restore them from a backup', {
      cause,
    })
  return new RegistryError('UNAVAILABLE', 'The database call failed; nothing was changed', { cause })
}

/** Why a store accepts no more writes after one that failed, and what to do. */
export function poisonedMessage(cause: unknown): string {
  const advice = systemAdvice(cause) ?? 'look at the cause, and check the disk'
  return `The record store accepts no more writes, because one failed: ${advice}. Then open it again, which checks it`
}

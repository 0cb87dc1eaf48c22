import { isRegistryError, RegistryError } from '../../core/errors.ts'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** Refused before it reached the database. */
export const isNotOpen = (error: unknown): boolean =>
  /^LEVEL_(DATABASE|BATCH|ITERATOR)_NOT_OPEN$/.test(String(codeOf(error)))

/** What a caller sees of an error that changed nothing. */
export function toRegistryError(error: unknown): RegistryError {
  if (isRegistryError(error)) return error
  if (isNotOpen(error)) return new RegistryError('CLOSED', 'The record store is closed', { cause: error })
  if (codeOf(error) === 'LEVEL_CORRUPTION')
    return new RegistryError('CORRUPT', 'The database found damage in its files: restore them from a backup', {
      cause: error,
    })
  return new RegistryError('UNAVAILABLE', 'The database did not answer; nothing was changed', { cause: error })
}

import { isRegistryError, RegistryError } from '../kit/index.ts'

/** The code of an error of the system, such as `ENOENT`. `undefined` for other errors. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** `ENOSPC` for an error of the system, else its text: what an error message names as the reason. */
export const reasonOf = (error: unknown): string => errnoOf(error) ?? String(error)

/**
 * Converts an error of the file system into `UNAVAILABLE`. A coded error is returned unchanged.
 * `failed` says what could not be done: `Blob 1 could not be written`.
 */
export function toRegistryError(cause: unknown, failed: string): RegistryError {
  if (isRegistryError(cause)) return cause
  return new RegistryError('UNAVAILABLE', `${failed} (${reasonOf(cause)}); check the disk and try again`, { cause })
}

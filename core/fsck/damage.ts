import { isRegistryError } from '../errors.ts'

/** Whether an error says that what is stored is damaged: it fails each time, while the rest can be read. */
export const isDamage = (error: unknown): boolean => isRegistryError(error, 'CORRUPT') || isReadError(error)

/** Whether an error says that a store cannot be reached, which says nothing about what it holds. */
export const isOutage = (error: unknown): boolean =>
  (isRegistryError(error, 'UNAVAILABLE') || isRegistryError(error, 'CLOSED')) && !isReadError(error)

/** A sector that the disk cannot read. LevelDB reports errors of the system only as texts: those of strerror(3). */
const isReadError = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === 'EIO') ||
    error.message.includes('Input/output error') ||
    isReadError(error.cause))

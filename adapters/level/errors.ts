import { isRegistryError, RegistryError } from '../kit/index.ts'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

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

/** What to do about an error of the system. LevelDB reports them only as texts: those of strerror(3). */
const SYSTEM_ADVICE: readonly (readonly [code: string, text: string, advice: string])[] = [
  ['ENOSPC', 'No space left on device', 'the disk is full; free some space'],
  ['EDQUOT', 'Disk quota exceeded', 'the disk quota is used up; free some space, or raise it'],
  ['EROFS', 'Read-only file system', 'the file system is read-only; look for disk errors, and mount it writable'],
  ['EACCES', 'Permission denied', 'this user has no access; correct the owner or the mode of the directory'],
  ['EPERM', 'Operation not permitted', 'this user has no access; correct the owner or the mode of the directory'],
  ['ENOENT', 'No such file or directory', 'the directory is missing; mount its volume, or restore it'],
  ['EMFILE', 'Too many open files', 'the process has too many open files; raise its limit (ulimit -n)'],
  ['EIO', 'Input/output error', 'the disk fails; replace it, and restore a backup if the data does not verify'],
]

/** What to do about a system error among an error and its causes. `undefined` if there is none that is known. */
export function systemAdvice(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const own = SYSTEM_ADVICE.find(([code, text]) => codeOf(error) === code || error.message.includes(text))
  return own === undefined ? systemAdvice(error.cause) : `${own[2]} (${own[0]})`
}

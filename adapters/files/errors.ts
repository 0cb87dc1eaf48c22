import { isError, isRegistryError, RegistryError, type ErrorCode } from '../kit/index.ts'

/** The code of an error of the system, such as `ENOENT`. `undefined` for other errors. */
export function errnoOf(error: unknown): string | undefined {
  return isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The system call that failed, such as `open`. `undefined` for other errors. */
export const syscallOf = (error: unknown): string | undefined =>
  isError(error) && 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : undefined

/** `ENOSPC` for an error of the system, else its text: what an error message names as the reason. */
export const reasonOf = (error: unknown): string => errnoOf(error) ?? String(error)

/** What a call of the file system resolves with; `undefined` if its path does not exist. */
export const ifExists = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  })

/** What to do about an error of the system. LevelDB reports them only as texts: those of strerror(3). */
const SYSTEM_ADVICE: readonly (readonly [code: string, text: string, advice: string])[] = [
  ['ENOSPC', 'No space left on device', 'the disk is full; free some space'],
  ['EDQUOT', 'Disk quota exceeded', 'the disk quota is used up; free some space, or raise it'],
  ['EROFS', 'Read-only file system', 'the file system is read-only; look for disk errors, and mount it writable'],
  ['EACCES', 'Permission denied', 'this user has no access; correct the owner or the mode of the directory'],
  ['EPERM', 'Operation not permitted', 'this user has no access; correct the owner or the mode of the directory'],
  ['ENOENT', 'No such file or directory', 'the directory is missing; mount its volume, or restore it'],
  ['ENOTDIR', 'Not a directory', 'a file has the name of a directory; move it away'],
  ['EEXIST', 'File exists', 'a file with this name exists; move it away, or choose another name'],
  ['EISDIR', 'Is a directory', 'a directory has the name of a file; name a file, or move the directory away'],
  ['EMFILE', 'Too many open files', 'the process has too many open files; raise its limit (ulimit -n)'],
  ['EIO', 'Input/output error', 'the disk fails; replace it, and restore a backup if the data does not verify'],
]

/** What to do about a system error among an error and its causes. `undefined` if there is none that is known. */
export function systemAdvice(error: unknown): string | undefined {
  if (!isError(error)) return undefined
  const own = SYSTEM_ADVICE.find(([code, text]) => errnoOf(error) === code || error.message.includes(text))
  return own === undefined ? systemAdvice(error.cause) : `${own[2]} (${own[0]})`
}

/** Completes a message about a failure of the file system with the cause and what to do about it. */
export const causeAndRemedy = (error: unknown): string =>
  systemAdvice(error) ?? `check the disk, and try again (${reasonOf(error)})`

/**
 * Gives an error of the file system a code. A coded error is returned unchanged.
 * `failed` says what could not be done: `Blob 1 could not be written`.
 */
export function toRegistryError(cause: unknown, failed: string, code: ErrorCode = 'UNAVAILABLE'): RegistryError {
  if (isRegistryError(cause)) return cause
  return new RegistryError(code, `${failed}: ${causeAndRemedy(cause)}`, { cause })
}

/** For `catch`: throws what `toRegistryError` returns. */
export const rethrowAs =
  (code: ErrorCode, failed: string) =>
  (cause: unknown): never => {
    throw toRegistryError(cause, failed, code)
  }

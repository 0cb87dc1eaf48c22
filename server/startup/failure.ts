import { resolve, sep } from 'node:path'
import { isRegistryError } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'

type Address = Pick<Config, 'host' | 'port'>

/** What to do about an address on which the server cannot listen, by the system's error code. */
const LISTEN_ADVICE: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ host, port }) =>
    `Port ${port} of ${host} is in use: stop the other program, or choose another port with --port (0 ` +
    'selects a free one)',
  EACCES: ({ port }) =>
    `This user must not listen on port ${port}: choose a port above 1023 with --port, and put a reverse ` +
    'proxy before it',
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine: correct --host`,
  ENOTFOUND: ({ host }) => `The host name ${host} is unknown: correct --host`,
}

/** What to do about a file or directory that cannot be used, by the system's error code. */
const FILE_ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'this user has no access: change its owner or mode',
  EPERM: 'this user has no access: change its owner or mode',
  EROFS: 'the file system is read-only: mount it writable',
  ENOSPC: 'the disk is full: free some space',
  ENOENT: 'it does not exist: mount its volume or restore it',
  ENOTDIR: 'a file has the name of a directory: move it away',
  EEXIST: 'a file has the name of a directory: move it away',
}

/**
 * Explains in one line why the server cannot start or a command failed, and what to do.
 *
 * @param dataDir - only what is in it can be elsewhere with another --data-dir: a backup is not. Default: everything is
 */
export function describeFailure(error: unknown, address: Address | undefined, dataDir?: string): string {
  const message = error instanceof Error ? error.message : String(error)
  const system = systemErrorIn(error)
  if (system === undefined) return withAdvice(message, error)
  const { code = '', syscall = '', path } = system
  // Of another host: that of a database, a bucket, an authority or a node.
  const isOwnName = 'hostname' in system && system.hostname === address?.host
  // `bind`: in a worker of node:cluster, whose primary process listens.
  const isListening = syscall === 'listen' || syscall === 'bind' || (syscall === 'getaddrinfo' && isOwnName)
  const listenAdvice = isListening ? LISTEN_ADVICE[code] : undefined
  if (listenAdvice !== undefined && address !== undefined) return `${listenAdvice(address)} (${code})`
  // An error of ours that names the code also says what to do, and about which directory.
  if (isRegistryError(error) && message.includes(`(${code})`)) return message
  // An error of ours already names the setting or folder that is missing.
  const isNamed = (code === 'ENOENT' && isRegistryError(error)) || syscall === 'connect'
  const fileAdvice = isNamed ? undefined : FILE_ADVICE[code]
  if (fileAdvice !== undefined) {
    const isElsewhere = path !== undefined && dataDir !== undefined && !isWithin(path, dataDir)
    return `${path ?? 'The data directory'}: ${fileAdvice}${isElsewhere ? '' : OTHER_DIRECTORY} (${code})`
  }
  return isRegistryError(error) && !message.includes(system.message) ? `${message}: ${system.message}` : message
}

const OTHER_DIRECTORY = ', or choose another directory with --data-dir'

const isWithin = (path: string, directory: string): boolean =>
  `${resolve(path)}${sep}`.startsWith(`${resolve(directory)}${sep}`)

/** LevelDB reports errors of the system only as texts: those of strerror(3). */
const SYSTEM_TEXTS: readonly (readonly [text: string, code: string])[] = [
  ['No space left on device', 'ENOSPC'],
  ['Read-only file system', 'EROFS'],
  ['Permission denied', 'EACCES'],
  ['No such file or directory', 'ENOENT'],
]

/** Adds what to do if a cause contains the text of a system error. */
function withAdvice(message: string, error: unknown): string {
  const texts = causesOf(error).map((cause) => cause.message)
  const code = SYSTEM_TEXTS.find(([text]) => texts.some((each) => each.includes(text)))?.[1]
  const advice = code === undefined ? undefined : FILE_ADVICE[code]
  // An error of ours that names the code also says what to do, and about which directory.
  if (advice === undefined || (isRegistryError(error) && message.includes(`(${code})`))) return message
  return `The data directory: ${advice}${OTHER_DIRECTORY} (${code}). ${message}`
}

const causesOf = (error: unknown): readonly Error[] => (error instanceof Error ? [error, ...causesOf(error.cause)] : [])

/** Finds the error of the operating system among an error and its causes. */
function systemErrorIn(error: unknown): NodeJS.ErrnoException | undefined {
  if (!(error instanceof Error)) return undefined
  return isSystemError(error) ? error : systemErrorIn(error.cause)
}

const isSystemError = (error: Error): error is NodeJS.ErrnoException => 'syscall' in error

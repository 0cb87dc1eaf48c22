import { join } from 'node:path'
import { configError } from '../settings/config-error.ts'

/** The name of the socket in the data directory of a running server. */
const SOCKET_NAME = 'control.sock'

/** The address of a Unix socket has 108 bytes on Linux and 104 on macOS, including the zero byte at its end. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/**
 * The path of the control socket of a data directory. A relative directory gives a relative path.
 *
 * @throws RegistryError `CONFIG_ERROR` if such a socket is not possible: the path is too long, or this is Windows
 */
export function controlPath(dataDir: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32')
    throw configError('Commands on a running server need Unix sockets, which Windows does not have')
  const path = join(dataDir, SOCKET_NAME)
  const bytes = Buffer.byteLength(path)
  if (bytes <= MAX_PATH_BYTES) return path
  throw configError(
    `The path of a Unix socket has at most ${MAX_PATH_BYTES} bytes, but ${path} has ${bytes}: name the data ` +
      'directory by a shorter path, such as a relative one or a symbolic link, for the server and for its commands',
  )
}

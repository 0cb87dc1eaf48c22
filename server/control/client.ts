import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { errnoOf } from '../../adapters/files/index.ts'
import { RegistryError } from '../../core/index.ts'
import {
  encodeLine,
  errorOfLine,
  PROTOCOL_VERSION,
  readLines,
  type OperationProgress,
  type OperationRequest,
  type ResponseLine,
} from './protocol.ts'

/** A socket file without a server: none was started, or it was killed. ENOTDIR: the data directory is a file. */
const NO_SERVER: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ECONNREFUSED'])

/**
 * Sends a request to the server that listens on a control socket, and waits for its result.
 *
 * @returns the result; `undefined` if no server listens there
 * @throws RegistryError with the code that the server returned; `UNAVAILABLE` if the socket cannot be used,
 *   `UNKNOWN_OUTCOME` if the server ended meanwhile
 */
export async function callServer(
  path: string,
  request: OperationRequest,
  onProgress: (progress: OperationProgress) => void,
): Promise<{ readonly result: unknown } | undefined> {
  const socket = await connectTo(path)
  if (socket === undefined) return undefined
  try {
    socket.write(encodeLine({ v: PROTOCOL_VERSION, ...request }))
    return await readResult(socket, onProgress)
  } finally {
    socket.destroy()
  }
}

async function connectTo(path: string): Promise<Socket | undefined> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return socket
  } catch (error) {
    const code = errnoOf(error)
    if (NO_SERVER.has(code)) return undefined
    const advice = code === 'EACCES' ? 'run the command as the user of the server' : 'restart the server'
    throw new RegistryError('UNAVAILABLE', `The socket ${path} cannot be used (${code ?? 'unknown'}): ${advice}`, {
      // Its text would be printed again.
      cause: String(error),
    })
  }
}

async function readResult(
  socket: Socket,
  onProgress: (progress: OperationProgress) => void,
): Promise<{ readonly result: unknown }> {
  let cause: unknown
  try {
    for await (const line of readLines(socket)) {
      const response: ResponseLine = JSON.parse(line)
      if ('progress' in response) onProgress(response.progress)
      else if ('error' in response) throw errorOfLine(response.error)
      else return response
    }
  } catch (error) {
    if (error instanceof RegistryError) throw error
    cause = error
  }
  throw new RegistryError(
    'UNKNOWN_OUTCOME',
    'The server ended before the command was done. See its log, then run the command again',
    { cause },
  )
}

import { request, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { Static, TSchema } from '#typebox'
import { errnoOf } from '../../adapters/files/index.ts'
import { ERROR_CODES, isRegistryError, RegistryError } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import { assertHasRecords } from '../startup/markers.ts'
import { stderrLogger } from '../startup/logger.ts'
import { openConfiguredRegistry } from '../startup/registry.ts'
import { controlPath } from './address.ts'
import type { ControlOperation, OperationProgress, ResponseLine } from './operation.ts'

/** With which settings an operation runs, and who is told of its progress. */
export interface RunOptions {
  readonly config: Config
  readonly onProgress?: (progress: OperationProgress) => void
}

/**
 * Runs an operation on the registry of the settings: on the running server of the data directory, through its control
 * socket. If there is none, opens the registry, runs the operation in this process and closes the registry.
 *
 * @throws RegistryError what the operation throws; `STORE_LOCKED` if another process has the registry open and does not
 *   listen on the socket, `CONFIG_ERROR` if there is no registry
 */
export async function runOperation<Args extends TSchema, Result>(
  operation: ControlOperation<Args, Result>,
  args: Static<Args>,
  { config, onProgress = () => undefined }: RunOptions,
): Promise<Result> {
  const socket = socketOf(config)
  if ('path' in socket) {
    const response = await callServer(socket.path, { name: operation.name, args }, onProgress)
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the server ran the same operation
    if (response !== undefined) return response.result as Result
  }
  try {
    return await runDirectly(operation, args, { config, onProgress })
  } catch (error) {
    if (!isRegistryError(error, 'STORE_LOCKED')) throw error
    const why = 'path' in socket ? `It does not accept commands on ${socket.path} (yet)` : socket.problem
    throw new RegistryError('STORE_LOCKED', `${error.message}. ${why}`, { cause: error })
  }
}

/** The socket of the data directory, or why there can be none. */
function socketOf({ dataDir }: Config): { readonly path: string } | { readonly problem: string } {
  try {
    return { path: controlPath(dataDir) }
  } catch (error) {
    if (!isRegistryError(error, 'CONFIG_ERROR')) throw error
    return { problem: error.message }
  }
}

/** Opens the registry, runs the operation and closes it. A new registry is never created. */
async function runDirectly<Args extends TSchema, Result>(
  operation: ControlOperation<Args, Result>,
  args: Static<Args>,
  { config, onProgress }: Required<RunOptions>,
): Promise<Result> {
  if (config.records === 'level') assertHasRecords(config.dataDir)
  const settings = operation.opens === 'read-only' ? { ...config, readOnly: true } : config
  const opened = await openConfiguredRegistry(settings, stderrLogger, { mustExist: true })
  try {
    const context = { ...opened, config: settings, logger: stderrLogger }
    return await operation.run(context, args, { report: onProgress, signal: new AbortController().signal })
  } finally {
    await opened.registry.close()
  }
}

/** A socket file without a server: none was started, or it was killed. ENOTDIR: the data directory is a file. */
const NO_SERVER: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ECONNREFUSED'])

/**
 * Sends the arguments of an operation to the server that listens on a control socket, and waits for the result.
 *
 * @returns `undefined` if no server listens there
 * @throws RegistryError with the code that the server returned; `UNAVAILABLE` if the socket cannot be used,
 *   `UNKNOWN_OUTCOME` if the server ended meanwhile
 */
export async function callServer(
  socketPath: string,
  { name, args }: { readonly name: string; readonly args: unknown },
  onProgress: (progress: OperationProgress) => void,
): Promise<{ readonly result: unknown } | undefined> {
  const call = request({ socketPath, method: 'POST', path: `/${name}`, agent: false }).end(JSON.stringify(args))
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.once('response', resolve).once('error', reject)
    })
    for await (const text of createInterface({ input: response, crlfDelay: Infinity })) {
      const line: ResponseLine = JSON.parse(text)
      if ('result' in line) return line
      if ('progress' in line) onProgress(line.progress)
      else throw new RegistryError(ERROR_CODES.find((code) => code === line.code) ?? 'INTERNAL', line.error)
    }
    throw ended()
  } catch (error) {
    if (isRegistryError(error)) throw error
    const code = errnoOf(error)
    if (NO_SERVER.has(code)) return undefined
    if (!(error instanceof Error && 'syscall' in error && error.syscall === 'connect')) throw ended(error)
    const advice = code === 'EACCES' ? 'run the command as the user of the server' : 'restart the server'
    // Without the cause: its text would be printed again.
    throw new RegistryError('UNAVAILABLE', `The socket ${socketPath} cannot be used (${code ?? 'unknown'}): ${advice}`)
  } finally {
    call.destroy()
  }
}

const ended = (cause?: unknown): RegistryError =>
  new RegistryError(
    'UNKNOWN_OUTCOME',
    'The server ended before the command was done. See its log, then run the command again',
    { cause },
  )

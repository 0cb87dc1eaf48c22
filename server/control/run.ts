import { isRegistryError, RegistryError } from '../../core/index.ts'
import { assertHasRecords } from '../startup/existing.ts'
import type { Config } from '../settings/load.ts'
import { stderrLogger } from '../startup/logger.ts'
import { openConfiguredRegistry } from '../startup/registry.ts'
import { controlPath } from './address.ts'
import { callServer } from './client.ts'
import type { ControlOperation } from './operation.ts'
import type { OperationProgress } from './protocol.ts'

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
export async function runOperation<Args, Result>(
  operation: ControlOperation<Args, Result>,
  args: Args,
  { config, onProgress = () => undefined }: RunOptions,
): Promise<Result> {
  const socket = socketOf(config)
  if ('path' in socket) {
    const response = await callServer(socket.path, { operation: operation.name, args }, onProgress)
    // The server ran the same operation.
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

function socketOf({ dataDir }: Config): { readonly path: string } | { readonly problem: string } {
  try {
    return { path: controlPath(dataDir) }
  } catch (error) {
    if (!isRegistryError(error, 'CONFIG_ERROR')) throw error
    return { problem: error.message }
  }
}

async function runDirectly<Args, Result>(
  operation: ControlOperation<Args, Result>,
  args: Args,
  { config, onProgress }: Required<RunOptions>,
): Promise<Result> {
  if (config.records === 'level') await assertHasRecords(config.dataDir)
  const settings = operation.opens === 'read-only' ? { ...config, readOnly: true } : config
  const opened = await openConfiguredRegistry(settings, stderrLogger, { mustExist: true })
  try {
    const context = { ...opened, config: settings, logger: stderrLogger }
    return await operation.run(context, args, { report: onProgress, signal: new AbortController().signal })
  } finally {
    await opened.registry.close()
  }
}

import { loadConfig } from '../../server/settings/load.ts'
import { openConfiguredRegistry, type OpenedRegistry } from '../../server/startup/registry.ts'
import type { Environment } from './server-process.ts'
import { silentLogger } from './silent-logger.ts'

/** Opens the registry of a data directory in this process, as a start of the server does. */
export const openDirectory = (directory: string, env: Environment = {}): Promise<OpenedRegistry> =>
  openConfiguredRegistry(
    loadConfig({ args: ['--data-dir', directory], env: { EVIDENCE_SEAL_MAX_WAIT_MS: '50', ...env } }),
    silentLogger,
  )

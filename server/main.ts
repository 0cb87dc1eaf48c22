import { isRegistryError } from '../core/index.ts'
import type { Scrub } from '../core/ops/index.ts'
import { OPERATIONS } from './control/operations.ts'
import { openControlSocket } from './control/server.ts'
import { helpText } from './settings/help.ts'
import { loadConfig, type Config } from './settings/load.ts'
import { describeFailure } from './startup/failure.ts'
import { EXIT_START_AGAIN, hasRecovered } from './startup/failed-store.ts'
import { FilesWatch } from './startup/files-watch.ts'
import { introduceOperator } from './startup/first-start.ts'
import { createLogger } from './startup/logger.ts'
import { openConfiguredRegistry } from './startup/registry.ts'
import { recordsFolderOf } from './startup/records.ts'
import { startConfiguredScrub } from './startup/scrub.ts'
import { orClose } from './startup/open-parts.ts'
import { serve } from './startup/serve.ts'
import { CLOSE_MS, closeOnSignal } from './startup/shutdown.ts'
import { VERSION } from './version.ts'

/**
 * The program that runs the server. Exit codes: 0 after a signal, 1 for a failure, 2 for a wrong setting, and 75 if it
 * must start again (see `hasRecovered`).
 */
const [EXIT_FAILURE, EXIT_CONFIG] = [1, 2]

/** Hosts that stand for all addresses of the machine: a browser needs one of them. */
const WILDCARD_HOST = /\/\/(?:0\.0\.0\.0|\[::\])/

type Log = ReturnType<typeof createLogger>

async function start(config: Config, logger: Log): Promise<void> {
  const opened = await openConfiguredRegistry(config, logger)
  const { registry, stores } = opened
  const closing = new AbortController()
  let scrub: Scrub | undefined
  const files = new FilesWatch({ blobs: stores.blobs, logger })
  const watched = { scrubStatus: () => scrub?.status(), areFilesLost: () => files.isLost }
  const server = await orClose(registry, () => serve({ config, logger, opened, ...watched }))
  const { url, publicUrl } = server
  const control = await openControlSocket({ context: { ...opened, config, logger }, operations: OPERATIONS })
  opened.clockWatch.start(closing.signal)
  void files.start(closing.signal)
  scrub = await startConfiguredScrub({ config, logger, opened })
  const close = async (): Promise<void> => {
    closing.abort()
    await control.close()
    await server.close()
    await scrub?.close()
    await registry.close()
  }
  const shownUrl = publicUrl.replace(WILDCARD_HOST, '//localhost')
  await orClose({ close }, () => introduceOperator({ registry, logger, dataDir: config.dataDir, url: shownUrl }))
  const end = closeOnSignal({ logger, timeoutMs: config.shutdownMs + CLOSE_MS, close })
  const store = { records: stores.records, directory: recordsFolderOf(config.dataDir) }
  void hasRecovered({ ...store, logger, signal: closing.signal }).then((isBack) => isBack && end(EXIT_START_AGAIN))
  const { origin, verifierKey } = registry.log
  const pages = { docs: `${shownUrl}/docs`, dashboard: `${shownUrl}/ui/` }
  logger.info({ version: VERSION, ...pages, url, publicUrl, origin, verifierKey, pid: process.pid }, 'ready')
}

function print(text: string): void {
  process.stdout.write(text)
  process.channel?.unref()
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return print(helpText())
  if (args.includes('--version')) return print(`${VERSION}\n`)
  let config: Config | undefined
  try {
    // eslint-disable-next-line node/no-process-env -- only programs read the environment, and pass it on
    config = loadConfig({ args, env: process.env })
    await start(config, createLogger(config.logLevel))
  } catch (error) {
    const exitCode = isRegistryError(error, 'CONFIG_ERROR') ? EXIT_CONFIG : EXIT_FAILURE
    // The channel of a process manager, and a part that could not be closed, would keep the process alive.
    process.stderr.write(`evidence-registry: ${describeFailure(error, config, config?.dataDir)}\n`, () =>
      process.exit(exitCode),
    )
  }
}

await main(process.argv.slice(2))

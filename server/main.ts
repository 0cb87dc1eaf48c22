import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import closeWithGrace from 'close-with-grace'
import { pino, type Logger } from 'pino'
import { FileSignedHead, readOrCreateSecret, readSecret, writePrivateFile } from '../adapters/files/index.ts'
import { isRegistryError, openRegistry, systemClock, type Registry } from '../core/index.ts'
import { createSealer } from '../sealer/index.ts'
import { anchorOptions } from './startup/anchor.ts'
import { BASE_PATH, createApp } from './http/app.ts'
import { openBlobs } from './startup/blobs.ts'
import { loadConfig, type Config, type Start } from './settings/config.ts'
import { newOperatorKey, welcome } from './startup/first-start.ts'
import { assertSharable, openRecords } from './startup/records.ts'
import type { RequestCounter } from './http/rate-limit.ts'
import { listen, type RunningServer } from './http/listen.ts'
import { openTimestampAuthorities } from './startup/timestamp-authorities.ts'

/**
 * The bundled server: the one place that knows every part. Its data directory holds
 *
 *     records/           LevelDB, unless the records are in PostgreSQL
 *     blobs/             files, unless they are in a bucket
 *     tsa/               the local timestamp authority, where that is used; ca.pem is its CA
 *     ledger/            the local ledger, where that is the anchor
 *     secret             the root secret, unless EVIDENCE_SECRET_FILE names another
 *     signed-head.json   the size and root last signed
 *     operator.key       the operator key, where the first start had no terminal to show it on
 *
 * It ends with 0 after a signal, with 2 where a setting cannot be used, with 1 where anything else is wrong.
 */
const EXIT_FAILURE = 1
const EXIT_CONFIG = 2
/** The registry gets so long to close beyond the requests' deadline. */
const CLOSE_MS = 30_000

interface Parts {
  readonly registry: Registry
  readonly requestCounter?: RequestCounter
}

async function openParts(config: Config, logger: Logger): Promise<Parts> {
  assertSharable(config)
  const directory = resolve(config.dataDir)
  // First, because it is what keeps a second process out of the directory.
  const { records, isShared, requestCounter } = await openRecords(config, logger)
  const opened: { close(): Promise<void> }[] = [records]
  const keep = async <T extends { close(): Promise<void> }>(part: Promise<T>): Promise<T> => {
    const value = await part
    opened.push(value)
    return value
  }
  try {
    const secret = await (config.secretFile === undefined
      ? readOrCreateSecret(join(directory, 'secret'))
      : readSecret(config.secretFile))
    const blobs = await keep(openBlobs(config, directory))
    const { timestampAuthorities, quorum } = await openTimestampAuthorities(config, directory, logger)
    opened.push(...timestampAuthorities)
    const anchoring = await anchorOptions(config, join(directory, 'ledger'), systemClock)
    if (anchoring.anchor !== undefined) opened.push(anchoring.anchor)
    const sealer = createSealer({
      timestampAuthorities,
      quorum,
      ...anchoring,
      maxWaitMs: config.sealMaxWaitMs,
      maxLeaves: config.sealMaxLeaves,
      tsaIntervalMs: config.tsaIntervalMs,
    })
    const registry = await openRegistry({
      records,
      blobs,
      sealer,
      signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
      secret,
      logName: config.logName,
      acceptClock: config.acceptClock,
      logger,
      sharedRecords: isShared,
      ...(config.operatorKey !== undefined && { operatorKey: config.operatorKey }),
    })
    return { registry, ...(requestCounter && { requestCounter }) }
  } catch (error) {
    await Promise.allSettled(opened.reverse().map((part) => part.close()))
    throw error
  }
}

async function start(config: Config, logger: Logger): Promise<void> {
  const { registry, requestCounter } = await openParts(config, logger)
  let server: RunningServer | undefined
  let url = ''
  try {
    const app = createApp({
      ...config,
      registry,
      logger,
      publicUrl: () => config.publicUrl ?? url,
      ...(requestCounter && { requestCounter }),
    })
    server = await listen(app, config)
  } catch (error) {
    await registry.close()
    throw error
  }
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  url = `http://${host}:${server.port}`
  closeOnSignal(config, logger, server, registry)
  // Only now, when the address is ours: a key that was set and never shown would be lost.
  if (!registry.sourceSystems.hasOperatorKey())
    await introduce(config, logger, registry, `${config.publicUrl ?? url}${BASE_PATH}`)
  logger.info(
    {
      url,
      publicUrl: config.publicUrl ?? url,
      origin: registry.origin,
      verifierKey: registry.verifierKey,
      pid: process.pid,
    },
    'ready',
  )
}

async function introduce(config: Config, logger: Logger, registry: Registry, baseUrl: string): Promise<void> {
  const operatorKey = newOperatorKey()
  if (process.stderr.isTTY) {
    if (await registry.sourceSystems.setOperatorKey(operatorKey, { ifNone: true }))
      process.stderr.write(welcome({ baseUrl, operatorKey }))
    return
  }
  const path = join(resolve(config.dataDir), 'operator.key')
  await writePrivateFile(path, `${operatorKey}\n`)
  if (!(await registry.sourceSystems.setOperatorKey(operatorKey, { ifNone: true }))) {
    // Another server on the same records was first.
    await rm(path)
    return
  }
  logger.info({ path }, 'first start: the operator key is in this file; keep it elsewhere and delete it')
}

/** npm hands on what the terminal sent to the whole group as well: one Ctrl-C arrives twice. */
const SAME_SIGNAL_MS = 500

/** A first signal finishes what was begun; a second one ends the process at once, which loses nothing acknowledged either. */
function closeOnSignal(config: Config, logger: Logger, server: RunningServer, registry: Registry): void {
  const onTimeout = (delayMs: number): void => logger.error({ delayMs }, 'closing took too long; ending at once')
  const grace = closeWithGrace(
    { delay: config.shutdownMs + CLOSE_MS, logger: false, onTimeout, skip: ['SIGINT', 'SIGTERM'] },
    async ({ err }) => {
      if (err !== undefined) logger.error({ err }, 'an error that nobody expected; stopping')
      await server.close()
      await registry.close()
      logger.info({}, 'stopped')
    },
  )
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      logger.info({ signal }, 'stopping: requests under way are finished')
      grace.close()
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(EXIT_FAILURE)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
}

function configure(): Start {
  // eslint-disable-next-line node/no-process-env -- the one place that hands the environment to the configuration
  return loadConfig({ args: process.argv.slice(2), env: process.env })
}

function fail(error: unknown): void {
  process.stderr.write(`evidence-registry: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = isRegistryError(error, 'CONFIG_ERROR') ? EXIT_CONFIG : EXIT_FAILURE
}

try {
  const asked = configure()
  if ('text' in asked) process.stdout.write(asked.text)
  else {
    const logger = pino({ level: asked.run.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime })
    await start(asked.run, logger)
  }
} catch (error) {
  fail(error)
}

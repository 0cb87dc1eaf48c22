import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { discardUnfinishedFiles, FileSignedHead, readOrCreateSecret, readSecret } from '../../adapters/files/index.ts'
import { LocalLedger } from '../../adapters/local-ledger/index.ts'
import {
  openRegistry,
  RegistryError,
  systemClock,
  type BlobStore,
  type Logger,
  type RecordStore,
  type Registry,
} from '../../core/index.ts'
import { storedOrigin } from '../../core/ops/index.ts'
import { createSealer } from '../../sealer/index.ts'
import type { Anchor } from '../../adapters/kit/index.ts'
import { createInstruments, type Instruments } from '../http/instruments.ts'
import type { Config } from '../settings/load.ts'
import { openKeyring } from './checkpoint-keys.ts'
import { anchorOptions, LOCAL_INTERVAL_MS } from './anchor.ts'
import { openBlobs } from './blobs.ts'
import { ClockWatch } from './clock-watch.ts'
import { withErasureList } from './erasure-list.ts'
import { assertBelongsTo, assertHasRecords, checkBlobStore, readMarkers, writeMarkers } from './markers.ts'
import { orClose, OpenParts } from './open-parts.ts'
import { OperatorReadings } from './readings.ts'
import { assertSharable, openErased, openRecords, type OpenedRecords } from './records.ts'
import { assertLedgerComplete, knownHeads } from './signed-heads.ts'
import { openTimestampAuthorities } from './timestamp-authorities.ts'
import { assertRestored } from './unfinished-restore.ts'
import { openWitnesses } from './witnesses.ts'
import { configError } from '../settings/config-error.ts'

/** A registry with what was opened for it. */
export interface OpenedRegistry {
  readonly registry: Registry
  readonly instruments: Instruments
  /** The stores of the registry, for reading what no operation of the registry returns. The registry closes them. */
  readonly stores: { readonly records: RecordStore; readonly blobs: BlobStore }
  readonly anchor: Anchor | undefined
  readonly clockWatch: ClockWatch
  readonly readings: OperatorReadings
  /** See `AppOptions.unsafeSettings`. */
  readonly unsafeSettings?: readonly string[]
}

/**
 * Opens the registry that the settings describe. Its data directory contains
 *
 *     records/           LevelDB, unless the records are in PostgreSQL
 *     blobs/             files, unless they are in a bucket
 *     tsa/               the embedded timestamp authority; ca.pem is its CA
 *     ledger/            the local ledger, if that is the anchor
 *     secret             the root secret, unless EVIDENCE_SECRET_FILE names another file
 *     checkpoint-keys.json  the keys that sign checkpoints, unless EVIDENCE_CHECKPOINT_KEYS names another file
 *     submission-key.json   the key by which witnesses know the log, beside the checkpoint keys
 *     signed-head.json   the size and root of the last signed checkpoint
 *     erasures.jsonl     what was erased, for restores of earlier backups
 *     registry.json      the log's origin, and the folders that must be there; each of these folders has one, too
 *     operator.key       the operator key, if the first start was not on a terminal
 *     control.sock       commands for the running server
 *
 * @param options `mustExist`: throws `CONFIG_ERROR` instead of creating a new registry. `smallFileBytes`: as of
 *   `openRegistry`
 */
export async function openConfiguredRegistry(
  config: Config,
  logger: Logger,
  { mustExist = false, ...options }: Partial<Omit<OpenOptions, 'logger'>> = {},
): Promise<OpenedRegistry> {
  if (config.records === 'postgres') assertSharable(config)
  const parts = new OpenParts()
  try {
    return await openParts(config, { ...options, logger, mustExist }, parts)
  } catch (error) {
    await parts.close().catch(() => undefined)
    throw error
  }
}

interface OpenOptions {
  readonly logger: Logger
  readonly mustExist: boolean
  readonly smallFileBytes?: number
}

/** Opens one part after the other. The order matters: each check needs what was opened before it. */
async function openParts(
  config: Config,
  { logger, mustExist, smallFileBytes }: OpenOptions,
  parts: OpenParts,
): Promise<OpenedRegistry> {
  const directory = resolve(config.dataDir)
  await assertRestored(directory)
  const markers = await readMarkers(config)
  // Opening creates records, and then everything else.
  if (config.readOnly && config.records === 'level') assertHasRecords(directory)
  // First, because it keeps a second process out of the data directory.
  const { records, unsafeSettings = [] } = await parts.add(
    openServerRecords(config, logger),
    (opened) => opened.records,
  )
  if (records.isShared) assertSharable(config)
  if (!config.readOnly) await discardUnfinishedFiles(directory)
  const origin = await storedOrigin(records)
  if ((mustExist || config.readOnly) && origin === undefined)
    throw configError('There is no registry in these records: start the server first')
  assertBelongsTo(markers, origin)
  const secret = await openSecret(config, directory, origin)
  const checkpointSigner = await openKeyring({ config, records, logger })
  const blobs = await parts.add(openBlobs(config, directory, logger))
  const claimFiles = await checkBlobStore({ config, records, blobs })
  const instruments = createInstruments()
  const { sealer, heads, ...watched } = await openSealer(config, { directory, logger, parts, instruments, records })
  const { anchor } = watched
  if (anchor instanceof LocalLedger && !config.readOnly) await assertLedgerComplete(records, anchor)
  const kept = { records, signedHead: new FileSignedHead(join(directory, 'signed-head.json')) }
  const listed = config.readOnly ? kept : await withErasureList(kept, directory, logger)
  const registry = await openRegistry({
    records: instruments.observeRecords(listed.records),
    blobs: instruments.observeBlobs(blobs),
    sealer,
    signedHead: listed.signedHead,
    knownHeads: heads,
    ...settingsOf(config),
    ...(smallFileBytes !== undefined && { smallFileBytes }),
    secret,
    checkpointSigner,
    logger,
  })
  await orClose(registry, async ({ log }) => {
    if (config.readOnly) return
    await writeMarkers(markers, log.origin)
    await claimFiles(log.origin)
  })
  return {
    registry,
    instruments,
    ...watched,
    stores: { records, blobs },
    unsafeSettings,
  }
}

/** Finishes erasures first, if the keys of what was erased can only be removed by opening the store. */
function openServerRecords(config: Config, logger: Logger): Promise<OpenedRecords> {
  if (config.readOnly || config.records !== 'level') return openRecords(config, { logger })
  const what = 'what was erased is removed from the files of the record store'
  return openErased(config, {
    logger,
    onStep: (erasures) => logger.info({ erasures }, `the start takes longer, because ${what}`),
    onFailure: (err) => logger.warn({ err }, `it failed that ${what}; it is tried again`),
  })
}

/** The settings that the registry takes as they are. */
const settingsOf = ({ readOnly, logName, acceptClock, operatorKey }: Config) => ({
  readOnly,
  logName,
  acceptClock,
  ...(operatorKey !== undefined && { operatorKey }),
})

interface SealerContext {
  readonly directory: string
  readonly logger: Logger
  readonly parts: OpenParts
  readonly instruments: Instruments
  readonly records: RecordStore
}

/** A public authority would not accept a request every few seconds for long. */
const OUTSIDE_INTERVAL_MS = 600_000

/** Makes the sealer, with the authorities and the chain that it uses. */
async function openSealer(config: Config, { directory, logger, parts, instruments, records }: SealerContext) {
  const clockWatch = new ClockWatch({ logger })
  const timestampAuthorities = await openTimestampAuthorities(config, directory, { logger, clockWatch })
  for (const authority of timestampAuthorities) parts.keep(authority)
  const anchoring = await anchorOptions(config, join(directory, 'ledger'), { clock: systemClock, logger })
  if (anchoring.anchor !== undefined) parts.keep(anchoring.anchor)
  const readings = new OperatorReadings(directory, anchoring.anchor)
  const sealer = createSealer({
    onDuration: instruments.observeStep,
    timestampAuthorities: timestampAuthorities.map((authority) => readings.watch(authority)),
    quorum: config.tsaQuorum,
    ...anchoring,
    witnesses: await openWitnesses(config, records),
    maxWaitMs: config.sealMaxWaitMs,
    maxLeaves: config.sealMaxLeaves,
    tsaIntervalMs: config.tsaIntervalMs ?? (config.tsa === 'local' ? LOCAL_INTERVAL_MS : OUTSIDE_INTERVAL_MS),
  })
  const { anchor } = anchoring
  return { sealer, heads: knownHeads(anchor, timestampAuthorities), anchor, clockWatch, readings }
}

/** Reads the root secret. Creates one only for a new registry: `origin` is that of an existing one. */
async function openSecret({ secretFile }: Config, directory: string, origin: string | undefined): Promise<Uint8Array> {
  const path = join(directory, 'secret')
  if (secretFile !== undefined) return readSecret(secretFile)
  if (origin === undefined) return readOrCreateSecret(path)
  if (existsSync(path)) return readSecret(path)
  throw new RegistryError(
    'LOG_KEY_MISMATCH',
    `${path} is missing, but the registry ${origin} exists and depends on it: restore it from a backup, or name the ` +
      'file with EVIDENCE_SECRET_FILE. No other secret was created',
  )
}

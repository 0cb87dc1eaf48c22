import { join, resolve } from 'node:path'
import { FileSignedHead, readOrCreateSecret, readSecret } from '../../adapters/files/index.ts'
import { openRegistry, systemClock, type Logger, type Registry } from '../../core/index.ts'
import { createSealer } from '../../sealer/index.ts'
import { createInstruments, type Instruments } from '../http/instruments.ts'
import type { RequestCounter } from '../http/request-counter.ts'
import type { Config } from '../settings/load.ts'
import { anchorOptions } from './anchor.ts'
import { openBlobs } from './blobs.ts'
import { OpenParts } from './open-parts.ts'
import { assertSharable, openRecords } from './records.ts'
import { knownHeads, readAdoptedHead } from './signed-heads.ts'
import { openTimestampAuthorities } from './timestamp-authorities.ts'

export interface OpenedRegistry {
  readonly registry: Registry
  readonly instruments: Instruments
  /** Set if several servers share the records. */
  readonly requestCounter?: RequestCounter
}

/**
 * Opens the registry that the settings describe. Its data directory contains
 *
 *     records/           LevelDB, unless the records are in PostgreSQL
 *     blobs/             files, unless they are in a bucket
 *     tsa/               the embedded timestamp authority; ca.pem is its CA
 *     ledger/            the local ledger, if that is the anchor
 *     secret             the root secret, unless EVIDENCE_SECRET_FILE names another file
 *     signed-head.json   the size and root of the last signed checkpoint
 *     operator.key       the operator key, if the first start was not on a terminal
 */
export async function openConfiguredRegistry(config: Config, logger: Logger): Promise<OpenedRegistry> {
  assertSharable(config)
  const parts = new OpenParts()
  try {
    return await openParts(config, logger, parts)
  } catch (error) {
    await parts.close().catch(() => undefined)
    throw error
  }
}

async function openParts(config: Config, logger: Logger, parts: OpenParts): Promise<OpenedRegistry> {
  const directory = resolve(config.dataDir)
  // First, because it keeps a second process out of the data directory.
  const { records, isShared, requestCounter } = await parts.add(openRecords(config, logger), (opened) => opened.records)
  const secret = await (config.secretFile === undefined && !config.readOnly
    ? readOrCreateSecret(join(directory, 'secret'))
    : readSecret(config.secretFile ?? join(directory, 'secret')))
  const blobs = await parts.add(openBlobs(config, directory))
  const { timestampAuthorities, quorum } = await openTimestampAuthorities(config, directory, logger)
  for (const authority of timestampAuthorities) parts.keep(authority)
  const anchoring = await anchorOptions(config, join(directory, 'ledger'), systemClock)
  if (anchoring.anchor !== undefined) parts.keep(anchoring.anchor)
  const adoptHead = await readAdoptedHead(config.adoptHead)
  const instruments = createInstruments()
  const sealer = createSealer({
    onDuration: instruments.observeStep,
    timestampAuthorities,
    quorum,
    ...anchoring,
    maxWaitMs: config.sealMaxWaitMs,
    maxLeaves: config.sealMaxLeaves,
    tsaIntervalMs: config.tsaIntervalMs,
  })
  const registry = await openRegistry({
    records: instruments.observeRecords(records),
    blobs: instruments.observeBlobs(blobs),
    sealer,
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    knownHeads: knownHeads(anchoring.anchor),
    readOnly: config.readOnly,
    secret,
    logName: config.logName,
    acceptClock: config.acceptClock,
    logger,
    sharedRecords: isShared,
    ...(adoptHead && { adoptHead }),
    ...(config.operatorKey !== undefined && { operatorKey: config.operatorKey }),
  })
  return { registry, instruments, ...(requestCounter && { requestCounter }) }
}

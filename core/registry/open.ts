import { systemClock } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import { createIdSource } from '../ids.ts'
import { openLogIdentity } from '../log/identity.ts'
import { LogReader } from '../log/reader.ts'
import type { BlobStore, Clock, Logger, RecordStore, Sealer, SignedHeadKeeper } from '../ports.ts'
import type { Registry } from '../api/registry.ts'
import { sweep } from '../store/blob-lifecycle.ts'
import { RegistryCategories } from './category/categories.ts'
import type { Context } from './context.ts'
import { RegistryEvidences } from './evidence/evidences.ts'
import { CategoryCache } from './category/category-cache.ts'
import { RegistryFiles } from './file/files.ts'
import { RegistryProofs } from './proof/proofs.ts'
import { RegistrySourceSystems } from './company/source-systems.ts'
import { KeyedLock } from '../store/keyed-lock.ts'
import { deriveSecret } from '../secrets.ts'

export interface RegistryOptions {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** Seals the log: `createSealer` of the `./sealer` entry. */
  readonly sealer: Sealer
  /** Keeps the size last signed, outside the record store. */
  readonly signedHead: SignedHeadKeeper
  /** At least 32 bytes of any content, kept outside the record store. Keys, file tokens and checkpoints derive from it. */
  readonly secret: Uint8Array
  /** The operator's key; without one, the key of an earlier start still holds. */
  readonly operatorKey?: string
  /** Names the log at its first start. Default `evidence-registry`. */
  readonly logName?: string
  readonly clock?: Clock
  readonly logger?: Logger
  /** The operator confirms that the clock is right although it is behind the log. */
  readonly acceptClock?: boolean
  /** Other processes write to the same records: one of them seals at a time, and their uploads under way are left alone for a day. Default false. */
  readonly sharedRecords?: boolean
}

const CLOCK_TOLERANCE_MS = 60_000
const SWEEP_INTERVAL_MS = 10 * 60_000
const ABANDONED_MS = 24 * 60 * 60_000

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Opens a registry over its stores; at the first start makes its log. Takes over what it is given: `close` closes the
 * sealer and both stores, and so does an open that fails.
 *
 * Throws `LOG_BEHIND_SIGNED` where the store was set back behind what was signed, `LOG_KEY_MISMATCH` where the secret is
 * not the log's, `CONFIG_ERROR` for settings that cannot be used.
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  try {
    return await open(options)
  } catch (error) {
    await Promise.allSettled([options.sealer.close(), options.blobs.close()])
    await options.records.close().catch(() => undefined)
    throw error
  }
}

async function open(options: RegistryOptions): Promise<Registry> {
  const { records, blobs, sealer, signedHead, secret, clock = systemClock, logger = silent } = options
  const { logName, operatorKey, acceptClock = false, sharedRecords = false } = options
  const [apiKeySecret, fileTokenSecret] = [deriveSecret(secret, 'api-key'), deriveSecret(secret, 'file-token')]
  const log = new LogReader(records)
  const identity = await openLogIdentity({ records, secret, clock, ...(logName !== undefined && { logName }) })

  const context: Context = {
    records,
    blobs,
    clock,
    logger,
    log,
    ids: createIdSource(clock),
    lock: new KeyedLock(),
    categoryCache: new CategoryCache(),
    origin: identity.origin,
    fingerprintKey: deriveSecret(secret, 'idempotency'),
    notify: () => sealer.notify(),
    assertClock() {
      const last = sealer.status().lastBatchAt
      if (acceptClock || last === null || clock.now() >= last - CLOCK_TOLERANCE_MS) return
      throw new RegistryError(
        'UNAVAILABLE',
        `The clock is behind the log's last batch (${new Date(last).toISOString()}): set it right, or start with the clock confirmed`,
      )
    },
  }
  // First, because it checks that the store still holds what was signed: nothing is written to a store that was set back.
  await sealer.start({ records, signedHead, identity, clock, logger, sharedRecords })
  const sourceSystems = new RegistrySourceSystems(context, apiKeySecret)
  await sourceSystems.load()
  if (operatorKey !== undefined) await sourceSystems.setOperatorKey(operatorKey)
  const sweeping = startSweeping(context, sharedRecords ? ABANDONED_MS : undefined)

  return {
    sourceSystems,
    categories: new RegistryCategories(context),
    evidences: new RegistryEvidences(context),
    files: new RegistryFiles(context, fileTokenSecret),
    proofs: new RegistryProofs(context),
    log,
    origin: identity.origin,
    get verifierKey() {
      return identity.verifierKey
    },
    status: () => sealer.status(),
    sealNow: (signal) => sealer.sealNow(signal),
    async close() {
      await sweeping.stop()
      await sealer.close()
      await Promise.all([records.close(), blobs.close()])
    },
  }
}

/**
 * Sweeps at the start and then every ten minutes. Where this process is the only one, whatever was under way before the
 * start is abandoned; later, and where others write too, only what is a day old.
 */
function startSweeping(context: Context, firstAgeMs: number | undefined): { stop(): Promise<void> } {
  const { clock, logger } = context
  const aborter = new AbortController()
  const startedAt = clock.now()
  const done = (async () => {
    for (let first = true; !aborter.signal.aborted; first = false) {
      const before = first && firstAgeMs === undefined ? startedAt : clock.now() - ABANDONED_MS
      await sweep(context, before, aborter.signal).catch((err: unknown) =>
        logger.warn({ err }, 'the sweep failed; it is tried again'),
      )
      await clock.sleep(SWEEP_INTERVAL_MS, aborter.signal).catch(() => undefined)
    }
  })()
  return {
    async stop() {
      aborter.abort()
      await done
    },
  }
}

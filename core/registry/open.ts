import { randomUUID } from 'node:crypto'
import type { Registry, RegistryStatus } from '../api/registry.ts'
import { systemClock } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import { createIdSource } from '../ids.ts'
import { openLogIdentity, type LogIdentity } from '../log/identity.ts'
import { LogReader } from '../log/reader.ts'
import type { Logger, RecordStore, SealerStatus, SealerTrust } from '../ports/index.ts'
import { deriveSecret } from '../secrets.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import { KeyedLock } from '../store/keyed-lock.ts'
import { SMALL_FILE_BYTES } from '../store/small-files.ts'
import { categoryOperations } from './category/categories.ts'
import { CategoryCache } from './category/category-cache.ts'
import { checkpointKeyOperations } from './checkpoint-keys.ts'
import { ApiKeys } from './company/api-keys.ts'
import { AuditLog } from './company/audit-log.ts'
import { ClockGuard } from './clock-guard.ts'
import { companyOperations } from './company/companies.ts'
import { LastUses } from './company/last-uses.ts'
import { sourceSystemOperations } from './company/source-systems.ts'
import type { Context } from './context.ts'
import { Erasures, isRecordEraser } from './erasures.ts'
import { BulkCreates } from './evidence/bulk-creates.ts'
import { evidenceOperations } from './evidence/evidences.ts'
import { fileOperations } from './file/files.ts'
import { FileTokens } from './file/token.ts'
import { assertOptions, type RegistryOptions } from './options.ts'
import { BatchAttestations } from './proof/batch-attestations.ts'
import { proofOperations } from './proof/proofs.ts'
import { publishedLog } from './published-log.ts'
import { ServerPresence } from './server-presence.ts'
import { openSignedHead } from './signed-head.ts'
import { startSweeping } from './sweeping.ts'
import { ObservedLog, waitForHead } from './wait-for-head.ts'
import { WriteAccess } from './write-access.ts'

/** About 250 bytes each: 12 MB. The 25,000 that were used last are kept in any case. */
const MAX_CACHED_IDS = 50_000

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Opens a registry over its stores. The first start creates the log.
 *
 * The registry owns the sealer, the event engine and both stores from this call on: `close` closes them, and so does a
 * call that throws.
 *
 * @returns the registry, ready for use
 * @throws `CONFIG_ERROR` if an option is missing or wrong, `LOG_BEHIND_SIGNED` if the store has lost signed entries or
 * the signed head is missing,
 * `LOG_KEY_MISMATCH` if the secret is not the one of this log, `CORRUPT`, `UNAVAILABLE`
 * @example
 * import { randomBytes } from 'node:crypto'
 * import { openRegistry, OPERATOR } from 'evidence-registry'
 * import { MemoryBlobs, MemoryRecords, MemorySignedHead } from 'evidence-registry/adapters/memory'
 * import { createSealer } from 'evidence-registry/sealer'
 *
 * const registry = await openRegistry({
 *   records: new MemoryRecords(),
 *   blobs: new MemoryBlobs(),
 *   signedHead: new MemorySignedHead(),
 *   sealer: createSealer({}),
 *   secret: randomBytes(32),
 * })
 * const scope = { companyId: 'acme', principal: OPERATOR }
 * await registry.sourceSystems.create(scope, { name: 'ERP' })
 * await registry.evidences.create(scope, {
 *   externalId: 'VIN-1',
 *   name: 'Golf',
 *   category: { name: 'Vehicles' },
 *   subcategory: { name: 'Cars' },
 * })
 * await registry.sealNow()
 * const proof = await registry.proofs.evidence({ evidenceId: 'VIN-1' })
 * if (proof.status === 'ok') console.log(proof.merkle.merkleRoot)
 * await registry.close()
 */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  try {
    assertOptions(options)
    return await open(options)
  } catch (error) {
    await closeAll(options).catch(() => undefined)
    throw error
  }
}

async function open(options: RegistryOptions): Promise<Registry> {
  const { sealer, signedHead, secret, clock = systemClock, logger = silent } = options
  const { operatorKey, acceptClock = false, sharedRecords = false } = options
  const access = await openAccess(options)
  const records = access.guard(options.records)
  const log = new LogReader(records)
  const { identity, presence } = await openKeys(options, records)
  const observed = new ObservedLog(records, log)
  const status = (): SealerStatus => ({ ...sealer.status(), ...(access.refused !== null && observed.sizes) })
  const clockGuard = new ClockGuard(clock, { acceptClock, lastBatchAt: () => sealer.status().lastBatchAt })

  const context = createContext(options, {
    records,
    log,
    clock,
    logger,
    origin: identity.origin,
    canWrite: () => access.refused === null,
    assertClock: () => clockGuard.assert(),
  })
  const apiKeys = new ApiKeys(records, deriveSecret(secret, 'api-key'), context)
  let sweeping: { stop(): Promise<void> } | undefined
  let isStarted = false
  const begin = async (): Promise<void> => {
    // First, because it checks that the store still holds what was signed: nothing is written before.
    if (!isStarted) await sealer.start({ records: options.records, signedHead, identity, clock, logger, sharedRecords })
    isStarted = true
    access.allow()
    await apiKeys.load()
    if (operatorKey !== undefined) await apiKeys.setOperatorKey(operatorKey, false)
    presence?.start()
    sweeping = startSweeping(context, { sharedRecords })
    context.erasures.start()
  }
  let waiting: { stop(): Promise<void> } | undefined
  if (access.refused === null) await begin()
  else {
    await observed.refresh()
    await apiKeys.load()
    if (access.refused === 'NO_SIGNED_HEAD') waiting = waitForHead({ context, signedHead, observed, begin })
  }

  return {
    ...operationsOf(context, { apiKeys, identity, trust: sealer.trust, secret }),
    log: publishedLog(context, { identity, trust: sealer.trust }, status),
    checkpointKeys: checkpointKeyOperations({ identity, presence, access, logger, notify: () => context.notify() }),
    status: () => registryStatus(status(), { access, clockGuard, context }),
    sealNow: async (signal) => {
      access.assertWritable()
      await sealer.sealNow(signal)
    },
    close: async () => {
      const { bulkCreates, erasures, lastUses, auditLog } = context
      // First, because it may still start the others.
      await waiting?.stop()
      await stopAll([bulkCreates, sweeping, erasures, lastUses, auditLog, presence])
      await closeAll(options)
    },
  }
}

/** Opens the log's keys. With shared records, also what this process knows of the other servers. */
async function openKeys(options: RegistryOptions, records: RecordStore) {
  const { secret, clock = systemClock, logger = silent, logName, checkpointSigner: signer, readOnly = false } = options
  const identity = await openLogIdentity({
    records,
    secret,
    clock,
    isReadOnly: readOnly,
    signer,
    ...(logName !== undefined && { logName }),
  })
  const { sharedRecords = false, serverName: name = 'unnamed' } = options
  return {
    identity,
    presence: sharedRecords ? new ServerPresence({ records, identity, clock, logger, name }) : undefined,
  }
}

interface StatusParts {
  readonly access: WriteAccess
  readonly clockGuard: ClockGuard
  readonly context: Context
}

const registryStatus = (current: SealerStatus, { access, clockGuard, context }: StatusParts): RegistryStatus => ({
  ...current,
  writesRefused: access.refused ?? (clockGuard.isBehind() ? 'CLOCK' : null),
  damagedReads: context.damage.reads,
})

interface OpenedParts extends Pick<Context, 'records' | 'log' | 'clock' | 'logger' | 'origin' | 'assertClock'> {
  /** Whether records can be written now. */
  readonly canWrite: () => boolean
}

function createContext(options: RegistryOptions, { canWrite, ...opened }: OpenedParts): Context {
  const { records, blobs, sealer, secret, eraser = isRecordEraser(records) ? records : undefined } = options
  const ids = createIdSource(opened.clock)
  const activityStores = { records: opened.records, clock: opened.clock, logger: opened.logger, canWrite }
  return {
    ...opened,
    blobs,
    ids,
    attestations: new BatchAttestations(opened.log),
    lock: new KeyedLock(),
    categoryCache: new CategoryCache(),
    evidenceIds: new BoundedMap(MAX_CACHED_IDS),
    lastUses: new LastUses(activityStores),
    auditLog: new AuditLog(activityStores, ids),
    bulkCreates: new BulkCreates(options.eventEngine, opened.logger),
    erasures: new Erasures({ ...activityStores, eraser }),
    smallFileBytes: options.smallFileBytes ?? SMALL_FILE_BYTES,
    fingerprintKey: deriveSecret(secret, 'idempotency'),
    damage: { reads: 0 },
    opening: randomUUID(),
    notify: () => sealer.notify(),
  }
}

interface OperationParts {
  readonly apiKeys: ApiKeys
  readonly identity: LogIdentity
  readonly trust: SealerTrust
  readonly secret: Uint8Array
}

/** The operations of each entity. */
const operationsOf = (context: Context, { apiKeys, identity, trust, secret }: OperationParts) => ({
  companies: companyOperations(context),
  sourceSystems: sourceSystemOperations(context, apiKeys),
  categories: categoryOperations(context),
  evidences: evidenceOperations(context),
  files: fileOperations(context, new FileTokens(deriveSecret(secret, 'file-token'), context.clock)),
  proofs: proofOperations(context, { identity, trust }),
})

/** Whether it may write from the start. Throws as `openSignedHead`, and `CONFIG_ERROR` for `readOnly` without a log. */
async function openAccess(options: RegistryOptions): Promise<WriteAccess> {
  if (options.readOnly !== true) return new WriteAccess((await openSignedHead(options)) ? null : 'NO_SIGNED_HEAD')
  if ((await options.records.logSize()) > 0) return new WriteAccess('READ_ONLY')
  throw new RegistryError(
    'CONFIG_ERROR',
    'readOnly needs an existing registry, but the record store is empty: open the right store',
    { field: 'readOnly' },
  )
}

/** Stops what runs in the background, one after the other. */
async function stopAll(parts: readonly ({ stop(): Promise<void> } | undefined)[]): Promise<void> {
  for (const part of parts) await part?.stop()
}

/**
 * Closes the sealer and the event engine, then the stores, also if one of them fails. Throws the first error. Skips
 * parts that are missing.
 */
async function closeAll(options: Partial<RegistryOptions> | undefined): Promise<void> {
  const engines = await Promise.all([settle(options?.sealer), settle(options?.eventEngine)])
  const stores = await Promise.all([settle(options?.blobs), settle(options?.records)])
  const failure = [...engines, ...stores].find((result) => result.status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
}

async function settle(part: { close(): Promise<void> } | undefined): Promise<PromiseSettledResult<void>> {
  const [result] = await Promise.allSettled([(async () => part?.close?.())()])
  return result
}

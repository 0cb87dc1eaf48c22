import { randomUUID } from 'node:crypto'
import type { Registry } from '../api/registry.ts'
import { systemClock } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import { createIdSource } from '../ids.ts'
import { openLogIdentity, type LogIdentity } from '../log/identity.ts'
import { Arrivals } from '../log/arrivals.ts'
import { LogReader } from '../log/reader.ts'
import type { Logger, RecordStore, SealerStatus } from '../ports/index.ts'
import { deriveSecret } from '../platform/node.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import { SMALL_FILE_BYTES } from '../store/blob-lifecycle.ts'
import { withSignedHeadErrors, withSignerErrors } from '../store/decorate.ts'
import { keys } from '../store/keys.ts'
import { categoryOperations } from './category/categories.ts'
import { checkpointKeyOperations } from './checkpoint-keys.ts'
import { ApiKeys } from './company/api-keys.ts'
import { AuditLog } from './company/audit.ts'
import { companyOperations } from './company/companies.ts'
import { LastUses } from './last-uses.ts'
import { sourceSystemOperations } from './company/source-systems.ts'
import type { Context } from './context.ts'
import { startSweeping } from './cleanup.ts'
import { endErasures, Erasures } from './erasure/pending.ts'
import { subjectErasures } from './erasure/subject.ts'
import { evidenceOperations } from './evidence/evidences.ts'
import { fileOperations, FileTokens } from './file/files.ts'
import { withFileContents } from './file/stored-file.ts'
import { assertOptions, type RegistryOptions } from './options.ts'
import { proofOperations } from './proof/proofs.ts'
import { publishedLog } from './published-log.ts'
import { shareOperations } from './share/shares.ts'
import { openSignedHead } from './signed-head.ts'
import { WriteGate } from './write-gate.ts'
import { writer } from './write.ts'

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
 * import { MemoryBlobs, MemoryCheckpointKeys, MemoryRecords } from 'evidence-registry/adapters/memory'
 * import { MemorySignedHead } from 'evidence-registry/adapters/memory'
 * import { createSealer } from 'evidence-registry/sealer'
 *
 * const registry = await openRegistry({
 *   records: new MemoryRecords(),
 *   blobs: new MemoryBlobs(),
 *   signedHead: new MemorySignedHead(),
 *   sealer: createSealer({}),
 *   secret: randomBytes(32),
 *   checkpointSigner: new MemoryCheckpointKeys(),
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
    return await open({
      ...options,
      signedHead: withSignedHeadErrors(options.signedHead),
      checkpointSigner: withSignerErrors(options.checkpointSigner),
    })
  } catch (error) {
    await closeAll(options).catch(() => undefined)
    throw error
  }
}

async function open(options: RegistryOptions): Promise<Registry> {
  const { sealer, signedHead, secret, clock = systemClock, logger = silent } = options
  const { operatorKey, acceptClock = false, readOnly = false } = options
  const { isShared } = options.records
  await assertOpenable(options)
  const gate = new WriteGate({ isReadOnly: readOnly, acceptClock, clock, sealer })
  const records = gate.guard(options.records)
  const log = new LogReader(records, { hasWitnesses: sealer.trust.witnesses !== undefined })
  const identity = await openIdentity(options, records)
  // First, because it checks that the store still holds what was signed: nothing is written before.
  if (!readOnly) await sealer.start({ records: options.records, signedHead, identity, clock, logger })
  const sealed = readOnly ? await readSizes(records, log) : {}
  if (!readOnly) await endErasures(records)
  const status = (): SealerStatus => ({ ...sealer.status(), ...sealed })

  const { origin, keyedHash: hash } = identity
  const context = createContext(options, { records, log, clock, logger, gate, origin, hash })
  const activity = openActivity(context, readOnly)
  const apiKeys = new ApiKeys(records, deriveSecret(secret, 'api-key'), { clock, ...activity })
  await apiKeys.load()
  if (!readOnly && operatorKey !== undefined) await apiKeys.setOperatorKey(operatorKey, false)
  const damage = { reads: 0 }
  const process = randomUUID()
  const { erasures } = context
  const subjects = subjectErasures(context)
  const tasks = { tasks: [erasures, subjects], process: isShared ? undefined : process }
  const sweeping = readOnly ? undefined : startSweeping(context, tasks)

  return {
    companies: companyOperations(context),
    sourceSystems: sourceSystemOperations(context, { apiKeys, ...activity }),
    categories: categoryOperations(context),
    evidences: evidenceOperations(context, subjects),
    files: fileOperations(context, {
      tokens: new FileTokens(deriveSecret(secret, 'file-token'), clock, records),
      auditLog: activity.auditLog,
      smallFileBytes: options.smallFileBytes ?? SMALL_FILE_BYTES,
      damage,
      process,
    }),
    proofs: proofOperations(context, { identity, trust: sealer.trust }),
    shares: shareOperations(context, { sources: { identity, trust: sealer.trust }, uses: activity.shareUses }),
    log: publishedLog(context, { identity, trust: sealer.trust }, status),
    checkpointKeys: checkpointKeyOperations({ identity, gate, sealer, isShared }),
    status: () => ({ ...status(), writesRefused: gate.refused, damagedReads: damage.reads }),
    sealNow: readOnly ? async () => gate.assertWritable() : (signal) => sealer.sealNow(signal),
    close: async () => {
      const { lastUses, shareUses, auditLog } = activity
      for (const part of [context.arrivals, sweeping, subjects, erasures, lastUses, shareUses, auditLog])
        await part?.stop()
      await closeAll(options)
    },
  }
}

/** Throws as `openSignedHead`, and `CONFIG_ERROR` for `readOnly` without a log. */
async function assertOpenable(options: RegistryOptions): Promise<void> {
  if (options.readOnly !== true) return openSignedHead(options)
  if ((await options.records.logSize()) > 0) return
  throw new RegistryError(
    'CONFIG_ERROR',
    'readOnly needs an existing registry, but the record store is empty: open the right store',
    { field: 'readOnly' },
  )
}

function openIdentity(options: RegistryOptions, records: RecordStore): Promise<LogIdentity> {
  const { secret, clock = systemClock, logName, checkpointSigner: signer, readOnly = false } = options
  return openLogIdentity({
    records,
    secret,
    clock,
    isReadOnly: readOnly,
    signer,
    ...(logName !== undefined && { logName }),
  })
}

/** What is sealed, for a read-only registry, whose sealer does not run. */
async function readSizes(
  records: RecordStore,
  log: LogReader,
): Promise<Pick<SealerStatus, 'sealedSize' | 'logSize' | 'lastBatchAt'>> {
  const { size, time } = await log.tree.head()
  return { sealedSize: size, logSize: await records.logSize(), lastBatchAt: size === 0 ? null : time }
}

type OpenedParts = Pick<Context, 'records' | 'log' | 'clock' | 'logger' | 'origin' | 'hash'> & {
  readonly gate: WriteGate
}

function createContext(options: RegistryOptions, { gate, ...opened }: OpenedParts): Context {
  const { blobs, sealer, secret } = options
  const { records, clock, logger } = opened
  const fingerprintKey = deriveSecret(secret, 'idempotency')
  const listeners = new Set<() => void>()
  return {
    ...opened,
    blobs,
    ids: createIdSource(clock),
    arrivals: new Arrivals({ records, clock, listeners }),
    write: writer({ records, clock, gate, sealer, listeners, fingerprintKey, comparable: withFileContents }),
    evidenceIds: new BoundedMap(MAX_CACHED_IDS),
    erasures: new Erasures({ records, clock, logger }),
  }
}

/** What is collected in memory and written once a minute. */
function openActivity({ records, clock, logger, ids }: Context, isReadOnly: boolean) {
  const stores = { records, clock, logger, isReadOnly }
  return {
    lastUses: new LastUses(stores, keys.lastUse),
    shareUses: new LastUses(stores, keys.shareUse),
    auditLog: new AuditLog(stores, ids),
  }
}

/** Closes the sealer, then the stores, also if one fails. Throws the first error. Skips parts that are missing. */
async function closeAll(options: Partial<RegistryOptions> | undefined): Promise<void> {
  const sealer = await settle(options?.sealer)
  const stores = await Promise.all([settle(options?.blobs), settle(options?.records)])
  const failure = [sealer, ...stores].find((result) => result.status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
}

async function settle(part: { close(): Promise<void> } | undefined): Promise<PromiseSettledResult<void>> {
  const [result] = await Promise.allSettled([(async () => part?.close?.())()])
  return result
}

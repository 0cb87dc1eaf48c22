import { RegistryError } from '../errors.ts'
import type { BlobStore, Check, Clock, Key, Logger, RecordStore, Version, Write } from '../ports/index.ts'
import { keys, lastPartOfKey, type RecordKey, type RecordRange, type StoredRecord } from './keys.ts'
import { listEntries, readOne, readRecord } from './read.ts'
import { decodeRecord } from './codec.ts'
import { putRecord } from './entries.ts'
import type { IdempotencyExpiryRecord, IdempotencyRecord } from './records.ts'

/**
 * The life cycle of a blob. An upload-intent record is written before the bytes. The commit that references the blob
 * removes it. The commit that stops referencing a blob writes a pending-deletion record, which is cleared after the
 * bytes are deleted. So the process may crash at any point: `sweep` finds every leftover in these two lists, and never
 * lists the blob store. A blob's key is the id of its file.
 */

/** What the operations on blobs work with. */
export interface BlobContext {
  readonly records: RecordStore
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly logger: Logger
}

/** A blob that is stored and that no record uses yet. `intent`: the version of its upload-intent record. */
export interface UnusedBlob {
  readonly id: string
  readonly intent: Version
}

/**
 * Writes the upload-intent record of a new blob. Returns its version, which the commit that uses the blob must check.
 *
 * @param process - a random id of this open registry, which tells its uploads from those of earlier ones
 */
export async function beginUpload({ records, clock }: BlobContext, id: string, process: string): Promise<Version> {
  const key = keys.blobIntent(id)
  const result = await records.commit({
    checks: [{ key, version: null }],
    writes: [putRecord(key, { at: clock.now(), opening: process })],
  })
  if (!result.ok) throw new RegistryError('UNAVAILABLE', 'A new file id was not unique; try again')
  return result.version
}

/** The part of a commit that starts to use blobs: it requires their upload-intent records, and removes them. */
export function consume(blobs: readonly UnusedBlob[]): {
  readonly checks: readonly Check[]
  readonly writes: readonly Write[]
} {
  return {
    checks: blobs.map(({ id, intent }) => ({ key: keys.blobIntent(id), version: intent })),
    writes: blobs.map(({ id }) => ({ key: keys.blobIntent(id), value: null })),
  }
}

/** The write of a commit that stops using a blob at `now` (ms since 1970). */
export const pendingDeletion = (id: string, now: number): Write => putRecord(keys.pendingDeletion(id), { at: now })

/**
 * Deletes a blob that no record uses. A blob that was used in the meantime stays, also if its upload-intent record is
 * there again, as an older state of the disk may be.
 */
export async function cancelUpload(
  context: BlobContext,
  { id, intent }: UnusedBlob,
  logFields?: object,
): Promise<void> {
  const { records, clock } = context
  const check = { key: keys.blobIntent(id), version: intent }
  const removal = { key: check.key, value: null }
  const result = await records.commit({
    checks: [check, { key: keys.file(id), version: null }],
    writes: [removal, pendingDeletion(id, clock.now())],
  })
  if (result.ok) return destroy(context, id, logFields)
  if (result.conflicts.includes(check.key)) return
  const removed = await records.commit({ checks: [check], writes: [removal] })
  if (removed.ok) logUsed(context, id, logFields)
}

const logUsed = ({ logger }: BlobContext, id: string, logFields?: object): void =>
  logger.error({ ...logFields, file: id }, 'the bytes of a file were to be destroyed, but a record uses it: run fsck')

/**
 * Deletes the bytes of a blob with a pending-deletion record. If that fails, or if a record uses the file, the record
 * stays and the next sweep tries again.
 */
export async function destroy(context: BlobContext, id: string, logFields?: object): Promise<void> {
  const { records, blobs, logger } = context
  try {
    const file = await readOne(records, keys.file(id))
    if (file !== undefined && !('deletion' in file)) return logUsed(context, id, logFields)
    await blobs.delete(id)
    await records.commit({ writes: [{ key: keys.pendingDeletion(id), value: null }] })
  } catch (err) {
    const fields = { ...logFields, err, file: id }
    logger.warn(fields, 'the bytes of a deleted file could not be destroyed yet; the sweep tries again')
  }
}

export interface SweepOptions {
  /** Uploads that began before this time are cancelled, ms since 1970. */
  readonly before: number
  /** The only process that uses the stores, if there is one: uploads of others were interrupted, and are cancelled. */
  readonly process?: string | undefined
  readonly signal?: AbortSignal
}

/**
 * Cancels uploads, deletes the blobs that are pending deletion, and removes expired idempotency keys. If one of these
 * fails, for example at a damaged record, the others are done all the same. Throws the first error then.
 */
export async function sweep(context: BlobContext, options: SweepOptions): Promise<void> {
  const outcomes: PromiseSettledResult<void>[] = []
  for (const part of [cancelAbandoned, destroyPending, forgetExpired])
    outcomes.push(...(await Promise.allSettled([part(context, options)])))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

async function cancelAbandoned(context: BlobContext, { before, process, signal }: SweepOptions): Promise<void> {
  for await (const entry of entriesOf(context.records, keys.blobIntents(), signal)) {
    const { at, opening } = decodeRecord(entry)
    // The time alone does not tell which uploads were interrupted: the clock may have been set back since.
    const isAbandoned = at < before || (process !== undefined && opening !== process)
    if (isAbandoned) await cancelUpload(context, { id: lastPartOfKey(entry.key), intent: entry.version })
  }
}

async function destroyPending(context: BlobContext, { signal }: SweepOptions): Promise<void> {
  for await (const { key } of entriesOf(context.records, keys.pendingDeletions(), signal))
    await destroy(context, lastPartOfKey(key))
}

async function forgetExpired(context: BlobContext, { signal }: SweepOptions): Promise<void> {
  const { records, clock } = context
  for await (const entry of entriesOf(records, keys.idempotencyExpired(clock.now()), signal))
    await forgetIdempotencyKey(context, entry)
}

/** Removes an expiry entry, and its idempotency record unless that was written again with a later expiry. */
async function forgetIdempotencyKey(
  { records, clock }: BlobContext,
  expiry: StoredRecord<IdempotencyExpiryRecord>,
): Promise<void> {
  const { key } = decodeRecord(expiry)
  const record: RecordKey<IdempotencyRecord> = key
  const read = await readRecord(records, record)
  const expired = read !== undefined && read.record.expires <= clock.now() ? [read.check] : []
  await records.commit({
    checks: expired,
    writes: [{ key: expiry.key, value: null }, ...expired.map((check): Write => ({ key: check.key, value: null }))],
  })
}

const PAGE_LENGTH = 100

/** The entries of a range. Reads whole pages, so that deleting what was yielded does not disturb the listing. */
async function* entriesOf<T>(
  records: RecordStore,
  range: RecordRange<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredRecord<T>, void, undefined> {
  let gte: Key = range.gte
  for (;;) {
    const page = await listEntries(records, { ...range, gte, limit: PAGE_LENGTH })
    for (const entry of page) {
      if (signal?.aborted === true) return
      yield entry
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_LENGTH) return
    gte = `${last.key}\0`
  }
}

/**
 * The bytes of a small file are in its record, because a blob costs much more: two syncs and at least one block of the
 * file system, or a request to S3. They are written with the commit that uses the file.
 */

/** The largest small file, if the registry is given no other limit. */
export const SMALL_FILE_BYTES = 4_096

/** No small file is larger, whatever limit the registry had when it was stored. */
export const MAX_SMALL_FILE_BYTES = 65_536

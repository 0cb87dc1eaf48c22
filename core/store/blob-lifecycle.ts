import { RegistryError } from '../errors.ts'
import { keys } from './keys.ts'
import type { Range, Version, Write } from '../ports.ts'
import type { StagedFile } from '../api/registry.ts'
import { lastPart, listAll, put, type Context } from '../registry/context.ts'
import { decodeRecord, type BlobRecord } from './records.ts'

/**
 * The life of a blob's bytes. An intent precedes the put and goes in the commit that uses the blob; a doom is written by
 * the commit that stops using it and cleared after the bytes are gone. So a process may die anywhere: the sweep walks
 * only intents and dooms, and nothing is ever listed in the blob store. A blob's key is its file's id.
 */

/** Announces that a blob will be put; answers the intent's version, which the commit that uses it must check. */
export async function beginUpload(context: Context, id: string): Promise<Version> {
  const result = await context.records.commit({
    checks: [{ key: keys.blobIntent(id), version: null }],
    writes: [put(keys.blobIntent(id), { at: context.clock.now() } satisfies BlobRecord)],
  })
  if (!result.ok) throw new RegistryError('UNAVAILABLE', 'An id was drawn twice; try again')
  return result.version
}

/** What a commit needs that uses staged files: their intents are still there, and go. */
export const consume = (files: readonly StagedFile[]) => ({
  checks: files.map(({ id, intent }) => ({ key: keys.blobIntent(id), version: intent })),
  writes: files.map(({ id }): Write => ({ key: keys.blobIntent(id), value: null })),
})

/** What a commit writes that stops using a blob. */
export const pendingDeletion = (context: Context, id: string): Write =>
  put(keys.pendingDeletion(id), { at: context.clock.now() } satisfies BlobRecord)

/** Turns an intent that nobody used into a doom, then destroys the bytes. An intent that was used meanwhile stays used. */
export async function cancelUpload(context: Context, id: string, intent: Version): Promise<void> {
  const result = await context.records.commit({
    checks: [{ key: keys.blobIntent(id), version: intent }],
    writes: [{ key: keys.blobIntent(id), value: null }, pendingDeletion(context, id)],
  })
  if (result.ok) await destroy(context, id)
}

/** Destroys doomed bytes. Where that fails the doom stays, and the next sweep tries again. */
export async function destroy(context: Context, id: string): Promise<void> {
  try {
    await context.blobs.delete(id)
    await context.records.commit({ writes: [{ key: keys.pendingDeletion(id), value: null }] })
  } catch (err) {
    context.logger.warn(
      { err, file: id },
      'the bytes of a deleted file could not be destroyed yet; the sweep tries again',
    )
  }
}

/** How many records of a kind one sweep takes before it looks again. */
const SWEEP_PAGE = 100

/** Abandons intents older than `before` (ms since 1970), destroys what is doomed, forgets expired idempotency keys. */
export async function sweep(context: Context, before: number, signal?: AbortSignal): Promise<void> {
  for await (const entry of paged(context, keys.blobIntents(), signal)) {
    if (decodeRecord<BlobRecord>(entry.value).at < before)
      await cancelUpload(context, lastPart(entry.key), entry.version)
  }
  for await (const entry of paged(context, keys.pendingDeletions(), signal)) await destroy(context, lastPart(entry.key))
  for await (const entry of paged(context, keys.idempotencyExpired(context.clock.now()), signal)) {
    const { key } = decodeRecord<{ key: string }>(entry.value)
    await forget(context, entry.key, key)
  }
}

/** An idempotency record that was used again since has a later expiry, and stays. */
async function forget(context: Context, expiry: string, key: string): Promise<void> {
  const [entry] = await context.records.get([key])
  const expired = entry !== undefined && decodeRecord<{ expires: number }>(entry.value).expires <= context.clock.now()
  await context.records.commit({
    checks: entry !== undefined && expired ? [{ key, version: entry.version }] : [],
    writes: [{ key: expiry, value: null }, ...(expired ? [{ key, value: null }] : [])],
  })
}

/** Pages that are whole before they are worked on, so that what the work deletes does not move the listing. */
async function* paged(context: Context, range: Range, signal: AbortSignal | undefined) {
  let gte = range.gte
  for (;;) {
    const page = await listAll(context, { gte, lt: range.lt, limit: SWEEP_PAGE })
    for (const entry of page) {
      if (signal?.aborted === true) return
      yield entry
    }
    const last = page.at(-1)
    if (last === undefined || page.length < SWEEP_PAGE) return
    gte = `${last.key}\0`
  }
}

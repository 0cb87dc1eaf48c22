import type { FileInfo, Files } from '../../api/files.ts'
import { isRegistryError, RegistryError } from '../../errors.ts'
import type { BlobBody, BlobRange } from '../../ports/index.ts'
import { assertBlobRange } from '../../store/blob-calls.ts'
import { keys } from '../../store/keys.ts'
import { readOne } from '../../store/read.ts'
import { fromBase64 } from '../../bytes.ts'
import { MAX_SMALL_FILE_BYTES } from '../../store/blob-lifecycle.ts'
import type { Context } from '../context.ts'
import { resumed } from './resumed.ts'
import { fileNotFound } from './stored-file.ts'
import { createHash } from 'node:crypto'

/** Counts reads of files whose stored bytes were missing or damaged. */
export interface Damage {
  reads: number
}

interface ReadContext extends Context {
  readonly damage: Damage
}

/** Reads a file, and verifies its hash unless a part of it is requested. */
export const readFile = (registry: Context, damage: Damage): Files['read'] => {
  const context = { ...registry, damage }
  return async (file, { range, signal } = {}) => {
    if (range !== undefined) assertBlobRange(range, file.size)
    const blob = await openBytes(context, file, { range, signal })
    if (blob === undefined) {
      if (!(await isRecorded(context, file.id))) throw fileNotFound()
      throw damaged(context, file.id, 'are missing')
    }
    if (blob.size !== file.size) {
      // A body that is not read must be released, or its file stays open.
      await blob.body[Symbol.asyncIterator]().return?.()
      throw damaged(context, file.id, WRONG_SIZE)
    }
    if (range !== undefined && (range.start > 0 || range.end < file.size)) return blob.body
    const mismatch = (): RegistryError => damaged(context, file.id, 'do not have the recorded hash')
    return begun(verified(blob.body, file, mismatch))
  }
}

interface OpenOptions {
  readonly range: BlobRange | undefined
  readonly signal: AbortSignal | undefined
}

async function openBytes(context: ReadContext, file: FileInfo, options: OpenOptions): Promise<BlobBody | undefined> {
  const content = await smallContent(context, file)
  if (content === undefined) return openBlob(context, file, options)
  const { start, end } = options.range ?? { start: 0, end: content.length }
  return { size: content.length, body: chunkOf(content.subarray(start, end)) }
}

/** The bytes of a small file. `undefined` for any other file: its bytes are in the blob store. */
async function smallContent(context: ReadContext, { id, size }: FileInfo): Promise<Uint8Array | undefined> {
  if (size > MAX_SMALL_FILE_BYTES) return undefined
  const record = await readOne(context.records, keys.file(id))
  if (record === undefined || 'deletion' in record || record.content === undefined) return undefined
  const content = fromBase64(record.content)
  if (content === undefined) throw damaged(context, id, 'are not base64')
  return content
}

async function* chunkOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const WRONG_SIZE = 'do not have the recorded size'

async function openBlob(
  context: ReadContext,
  file: FileInfo,
  { range, signal }: OpenOptions,
): Promise<BlobBody | undefined> {
  try {
    return await context.blobs.get(file.id, range, signal)
  } catch (error) {
    // The range is within the recorded size, so the stored blob is shorter.
    if (isRegistryError(error, 'RANGE_NOT_SATISFIABLE')) throw damaged(context, file.id, WRONG_SIZE)
    throw error
  }
}

async function isRecorded({ records }: Context, fileId: string): Promise<boolean> {
  const record = await readOne(records, keys.file(fileId))
  return record !== undefined && !('deletion' in record)
}

function damaged({ damage }: ReadContext, fileId: string, problem: string): RegistryError {
  damage.reads += 1
  const advice = 'is the right volume mounted? Run fsck'
  return new RegistryError('CORRUPT', `The stored bytes of file ${fileId} ${problem}: ${advice}`)
}

/**
 * Streams a file and verifies its SHA-256. Withholds the last chunk until the digest matches. On a mismatch throws what
 * `mismatch` returns, so no reader takes a damaged file for complete. Returning early also ends the underlying body.
 */
async function* verified(
  body: AsyncIterable<Uint8Array>,
  { sha256 }: FileInfo,
  mismatch: () => RegistryError,
): AsyncGenerator<Uint8Array, undefined> {
  const hash = createHash('sha256')
  let withheld: Uint8Array | undefined
  for await (const chunk of body) {
    // Hashed before the reader gets the chunk, because the reader may change it.
    hash.update(chunk)
    if (chunk.length === 0) continue
    if (withheld !== undefined) yield withheld
    withheld = chunk
  }
  if (hash.digest('hex') !== sha256) throw mismatch()
  if (withheld !== undefined) yield withheld
  return undefined
}

/**
 * Reads ahead until the first chunk can be yielded. So a file of one chunk that is damaged, or a file that cannot be
 * read at all, throws here and not while it is streamed.
 */
async function begun(body: AsyncGenerator<Uint8Array, undefined>): Promise<AsyncIterable<Uint8Array>> {
  const { done, value } = await body.next()
  return resumed(done === true ? [] : [value], body)
}

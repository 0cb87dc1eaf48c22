import { concatBytes } from '../kit/index.ts'
import { discard, writeAndClose, type FileOperations } from './durable.ts'
import { errnoOf, syscallOf } from './errors.ts'

/** A body of so many bytes or chunks is written chunk by chunk, a smaller one by one call. */
const LARGE_BYTES = 64 * 1024
const LARGE_CHUNKS = 64

/**
 * Writes the file of a blob (0600), which must not exist yet, and syncs its bytes. Its name is not durable yet. Holds
 * 64 KiB and one chunk in memory at most. If it fails, it leaves no new file.
 *
 * @throws errors of the file system, `EEXIST` if the file exists, and errors of `chunks`
 */
export async function writeBlob(files: FileOperations, path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]()
  const { beginning, isComplete } = await readBeginning(iterator)
  if (isComplete) await writeAtOnce(files, path, beginning)
  else await writeInChunks(files, path, joined(beginning, iterator))
}

/** Reads the chunks of a body that can be written by one call; the first ones of another body. */
async function readBeginning(iterator: AsyncIterator<Uint8Array>) {
  const beginning: Uint8Array[] = []
  let length = 0
  for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
    length += step.value.length
    const isLarge = length >= LARGE_BYTES || beginning.length + 1 === LARGE_CHUNKS
    // A copy if the next chunk is requested, because the body may use its buffer again for it.
    beginning.push(isLarge ? step.value : new Uint8Array(step.value))
    if (isLarge) return { beginning, isComplete: false }
  }
  return { beginning, isComplete: true }
}

async function* joined(beginning: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>) {
  yield* beginning
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

async function writeAtOnce(files: FileOperations, path: string, chunks: readonly Uint8Array[]): Promise<void> {
  try {
    await files.writeFile(path, concatBytes(...chunks), { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    await (syscallOf(error) === 'open' ? discardUnopened(files, path, error) : discard(files, path))
    throw error
  }
}

async function writeInChunks(files: FileOperations, path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await files.open(path, 'wx', 0o600).catch(async (error: unknown) => {
    await discardUnopened(files, path, error)
    throw error
  })
  try {
    await writeAndClose(file, chunks)
  } catch (error) {
    await discard(files, path)
    throw error
  }
}

/**
 * An open that fails may have created the file. If it has bytes, it existed before. If it is empty, it is new, because
 * a key is never used again: a `stat` before each open would cost 5 % of an upload.
 */
async function discardUnopened(files: FileOperations, path: string, error: unknown): Promise<void> {
  if (errnoOf(error) === 'EEXIST') return
  const stats = await files.stat(path).catch(() => undefined)
  if (stats?.size === 0) await discard(files, path)
}

import { concatBytes } from '../kit/index.ts'
import { discard, writeAndClose, type FileOperations } from './durable.ts'
import { errnoOf, syscallOf } from './errors.ts'

/** A body of fewer bytes, in fewer chunks, is written by one call, any other chunk by chunk. */
const STREAMED_BYTES = 64 * 1024
const STREAMED_CHUNKS = 64

/**
 * Writes the file of a blob (0600), which must not exist yet, and syncs its bytes. Its name is not durable yet. Holds
 * 64 KiB and one chunk in memory at most. If it fails, it leaves no new file.
 *
 * @throws errors of the file system, `EEXIST` if the file exists, and errors of `chunks`
 */
export async function writeBlob(files: FileOperations, path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]()
  const { beginning, isWhole } = await readBeginning(iterator)
  if (isWhole) await writeWhole(files, path, beginning)
  else await writeStream(files, path, joined(beginning, iterator))
}

/** Reads the chunks of a body that can be written by one call; the first ones of another body. */
async function readBeginning(iterator: AsyncIterator<Uint8Array>) {
  const beginning: Uint8Array[] = []
  let length = 0
  for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
    // A copy: a body may use its buffer again for the next chunk.
    beginning.push(new Uint8Array(step.value))
    length += step.value.length
    if (length >= STREAMED_BYTES || beginning.length === STREAMED_CHUNKS) return { beginning, isWhole: false }
  }
  return { beginning, isWhole: true }
}

async function* joined(beginning: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>) {
  yield* beginning
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

async function writeWhole(files: FileOperations, path: string, chunks: readonly Uint8Array[]): Promise<void> {
  try {
    await files.writeFile(path, concatBytes(...chunks), { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    await (syscallOf(error) === 'open' ? discardUnopened(files, path, error) : discard(files, path))
    throw error
  }
}

async function writeStream(files: FileOperations, path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
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

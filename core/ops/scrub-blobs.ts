import type { BlobBody, BlobStore } from '../ports/index.ts'

/** Bytes of a file that are read in one call. */
const RANGE_BYTES = 1024 * 1024

/**
 * A store that reads one file in ranges, so that no file or connection is open during the pauses of `onBytes`.
 *
 * @param size the recorded size of the file
 * @param onBytes is called after each range
 */
export const readInRanges = (
  blobs: BlobStore,
  size: number,
  onBytes: (bytes: number) => Promise<void>,
): Pick<BlobStore, 'get'> => ({
  async get(id) {
    const first = await blobs.get(id, size === 0 ? undefined : rangeAt(0, size))
    return first && { size: first.size, body: bodyOf({ blobs, id, size, onBytes }, first) }
  },
})

interface RangedFile {
  readonly blobs: BlobStore
  readonly id: string
  readonly size: number
  readonly onBytes: (bytes: number) => Promise<void>
}

const rangeAt = (start: number, size: number) => ({ start, end: Math.min(size, start + RANGE_BYTES) })

async function* bodyOf({ blobs, id, size, onBytes }: RangedFile, first: BlobBody): AsyncGenerator<Uint8Array> {
  yield* first.body
  await onBytes(Math.min(size, RANGE_BYTES))
  for (let start = RANGE_BYTES; start < size; start += RANGE_BYTES) {
    const range = rangeAt(start, size)
    const next = await blobs.get(id, range)
    if (next === undefined) throw new Error('its bytes were deleted while they were read')
    yield* next.body
    await onBytes(range.end - range.start)
  }
}

import type { FileHandle } from 'node:fs/promises'
import { RegistryError, type BlobRange } from '../kit/index.ts'
import { SourceBody } from '../body.ts'
import { rethrowAs } from './errors.ts'

const BLOCK_BYTES = 65_536

/**
 * Streams a range of an open file, 64 KiB per read. Takes ownership of the handle. The range must lie within the file,
 * or be empty.
 */
export function fileBody(file: FileHandle, { start, end }: BlobRange, signal: AbortSignal | undefined): SourceBody {
  const read = async (left: number): Promise<Uint8Array> => {
    const block = new Uint8Array(Math.min(BLOCK_BYTES, left))
    const { bytesRead } = await file
      .read(block, 0, block.length, end - left)
      .catch(rethrowAs('UNAVAILABLE', 'A stored file could not be read'))
    if (bytesRead > 0) return block.subarray(0, bytesRead)
    throw new RegistryError(
      'CORRUPT',
      'A stored file is shorter than it was when it was opened; restore it from a backup',
    )
  }
  // An error of the close is ignored: the file was only read.
  return new SourceBody({ read, release: () => file.close().catch(() => undefined) }, end - start, signal)
}

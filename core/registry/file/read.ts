import type { FileInfo } from '../../api/files.ts'
import { RegistryError } from '../../errors.ts'
import type { BlobRange } from '../../ports/index.ts'
import type { Context } from '../context.ts'
import { fileNotFound } from './stored-file.ts'
import { VerifiedBody } from './verified-body.ts'

export interface ReadOptions {
  readonly range?: BlobRange
  readonly signal?: AbortSignal
}

export async function readFile(
  { blobs }: Context,
  file: FileInfo,
  { range, signal }: ReadOptions = {},
): Promise<AsyncIterable<Uint8Array>> {
  const blob = await blobs.get(file.id, range, signal)
  if (blob === undefined) throw fileNotFound()
  if (blob.size === file.size) return range === undefined ? new VerifiedBody(blob.body, file) : blob.body
  // A body that is not read must be released, or its file stays open.
  await blob.body[Symbol.asyncIterator]().return?.()
  throw new RegistryError('CORRUPT', `The stored bytes of file ${file.id} do not have the recorded size`)
}

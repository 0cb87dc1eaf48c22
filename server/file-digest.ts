import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { FileDigest } from '../adapters/files/index.ts'

/** Reads a file, one chunk at a time, and returns its size and SHA-256. Throws errors of the file system. */
export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk)
    size += chunk.length
  }
  return { size, sha256: hash.digest('hex') }
}

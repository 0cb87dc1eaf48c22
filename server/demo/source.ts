import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { basename, extname, join, relative, sep } from 'node:path'

/** A file of the directory, and the evidence that is created for it. */
export interface SourceFile {
  readonly path: string
  readonly name: string
  readonly size: number
  readonly mimeType: string
  readonly externalId: string
  readonly category: string
  readonly subcategory: string
}

export interface SourceFiles {
  readonly files: readonly SourceFile[]
  /** Paths that are not registered, with the reason. */
  readonly skipped: readonly string[]
}

/** The default limits of the service. */
const MAX_BYTES = 100 * 1024 * 1024
const MAX_EXTERNAL_ID_LENGTH = 128
const MAX_NAME_LENGTH = 256

const MIME_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.txt': 'text/plain',
}

/**
 * Returns every regular file below a directory, ordered by path. Does not enter folders with one of the excluded names.
 */
export async function findFiles(directory: string, excluded: ReadonlySet<string>): Promise<SourceFiles> {
  const files: SourceFile[] = []
  const skipped: string[] = []
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!excluded.has(entry.name)) await walk(path)
      } else if (entry.isFile()) {
        const { size } = await stat(path)
        if (size > MAX_BYTES) skipped.push(`${path}: larger than 100 MiB`)
        else files.push(sourceFile(directory, path, size))
      } else skipped.push(`${path}: not a regular file`)
    }
  }
  await walk(directory)
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), skipped }
}

function sourceFile(directory: string, path: string, size: number): SourceFile {
  const parts = relative(directory, path).split(sep)
  const extension = extname(path).toLowerCase()
  return {
    path,
    name: toLine(basename(path)) || 'file',
    size,
    mimeType: MIME_TYPES[extension] ?? 'application/octet-stream',
    externalId: externalIdOf(parts.join('/')),
    category: parts.length > 1 ? toLine(parts[0] ?? '') || '(unnamed)' : '(top)',
    subcategory: toLine(extension.slice(1)) || '(none)',
  }
}

/** Returns the path itself if the service accepts it as an external id, else a hash of it. */
function externalIdOf(path: string): string {
  const isShort = Array.from(path).length <= MAX_EXTERNAL_ID_LENGTH
  const isPlain = isShort && toLine(path) === path && path !== '.' && path !== '..'
  return isPlain ? path : `sha256:${createHash('sha256').update(path).digest('hex')}`
}

/** Removes what the service does not accept in a line of text. */
const toLine = (text: string): string =>
  Array.from(text.toWellFormed().replaceAll(/\p{Cc}/gu, ''))
    .slice(0, MAX_NAME_LENGTH)
    .join('')

/** A file that is hashed while it is sent. */
export interface HashingStream {
  readonly stream: AsyncIterable<Uint8Array>
  /** Call it when the stream has been read to its end. */
  readonly digest: () => { readonly size: number; readonly sha256: Uint8Array }
}

export function hashingStream(path: string): HashingStream {
  const hash = createHash('sha256')
  let size = 0
  async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      size += chunk.length
      yield chunk
    }
  }
  return { stream: read(), digest: () => ({ size, sha256: new Uint8Array(hash.digest()) }) }
}

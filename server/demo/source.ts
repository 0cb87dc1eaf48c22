import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { basename, extname, join, relative, sep } from 'node:path'

/** A file of the directory, and the evidence that it becomes. */
export interface SourceFile {
  readonly path: string
  readonly name: string
  readonly size: number
  readonly mimeType: string
  readonly externalId: string
  readonly category: string
  readonly subcategory: string
}

export interface Found {
  readonly files: readonly SourceFile[]
  /** Paths that are left out, and why. */
  readonly leftOut: readonly string[]
}

/** What the service takes by default. */
const MAX_BYTES = 100 * 1024 * 1024
const MAX_EXTERNAL_ID = 128
const MAX_NAME = 256

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

/** Every regular file below a directory, in the order of its path; folders of these names are passed over. */
export async function findFiles(directory: string, passOver: ReadonlySet<string>): Promise<Found> {
  const files: SourceFile[] = []
  const leftOut: string[] = []
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!passOver.has(entry.name)) await walk(path)
      } else if (entry.isFile()) {
        const { size } = await stat(path)
        if (size > MAX_BYTES) leftOut.push(`${path}: larger than 100 MiB`)
        else files.push(sourceFile(directory, path, size))
      } else leftOut.push(`${path}: no regular file`)
    }
  }
  await walk(directory)
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), leftOut }
}

function sourceFile(directory: string, path: string, size: number): SourceFile {
  const parts = relative(directory, path).split(sep)
  const extension = extname(path).toLowerCase()
  return {
    path,
    name: line(basename(path)) || 'file',
    size,
    mimeType: MIME_TYPES[extension] ?? 'application/octet-stream',
    externalId: externalIdOf(parts.join('/')),
    category: parts.length > 1 ? line(parts[0] ?? '') || '(unnamed)' : '(top)',
    subcategory: line(extension.slice(1)) || '(none)',
  }
}

/** The path itself where it can be one, else a hash of it. */
function externalIdOf(path: string): string {
  const isPlain = Array.from(path).length <= MAX_EXTERNAL_ID && line(path) === path && path !== '.' && path !== '..'
  return isPlain ? path : `sha256:${createHash('sha256').update(path).digest('hex')}`
}

/** One line as the service takes it. */
const line = (text: string): string =>
  Array.from(text.toWellFormed().replaceAll(/\p{Cc}/gu, ''))
    .slice(0, MAX_NAME)
    .join('')

/** The SHA-256 of a file as it is sent, filled in as its stream is read to its end. */
export interface Sending {
  readonly stream: AsyncIterable<Uint8Array>
  readonly digest: () => { readonly size: number; readonly sha256: Uint8Array }
}

export function sending(path: string): Sending {
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

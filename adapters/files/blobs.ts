import { createHash } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { assertBlobRange, BlobCalls, blobExists, HashingBody } from '../../core/store/blob-calls.ts'
import { RegistryError } from '../../core/errors.ts'
import type { BlobBody, BlobDigest, BlobRange, BlobStore, PutOptions } from '../../core/ports.ts'
import {
  discard,
  errnoOf,
  linkNew,
  makeDirectory,
  nodeFiles,
  syncDirectory,
  writeNewFile,
  type FileOperations,
} from './durable.ts'
import { FileBody } from './file-body.ts'
import { openStaging, type Staging } from './staging.ts'

/**
 * Opens (or makes) a blob store in a directory of one machine: `staging/` for bytes on their way, `content/` for those
 * that are whole. Removes what dead processes left in staging. Throws `CONFIG_ERROR` where the directory cannot be
 * used: it must be writable, and its file system must know hard links.
 */
export async function openLocalBlobs(
  directory: string,
  { files = nodeFiles }: { readonly files?: FileOperations } = {},
): Promise<LocalBlobs> {
  const root = resolve(directory)
  const content = join(root, 'content')
  try {
    await makeDirectory(files, content)
    return new LocalBlobs(files, content, await openStaging(files, join(root, 'staging')))
  } catch (error) {
    const reason = errnoOf(error) ?? String(error)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The blob directory ${root} cannot be used (${reason}): it must be a writable directory on a file system with hard links`,
      { cause: error },
    )
  }
}

/**
 * Blobs as files (0600, folders 0700). A put holds one chunk of its body in memory and a reader one block of 64 KiB,
 * whatever the size of the file. Open it with `openLocalBlobs`.
 */
export class LocalBlobs implements BlobStore {
  readonly #files: FileOperations
  readonly #content: string
  readonly #staging: Staging
  /** Folders made durable by this store: others may have made them and not synced them yet. At most 256. */
  readonly #folders = new Map<string, Promise<void>>()
  readonly #calls = new BlobCalls()

  constructor(files: FileOperations, content: string, staging: Staging) {
    this.#files = files
    this.#content = content
    this.#staging = staging
  }

  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    return this.#calls.run(key, () => this.#put(key, body, options))
  }

  get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined> {
    return this.#calls.run(key, () => this.#get(key, range, signal))
  }

  delete(key: string): Promise<void> {
    return this.#calls.run(key, () => this.#delete(key))
  }

  /** Waits for what is under way; bodies that were opened can be read to their end. */
  close(): Promise<void> {
    return this.#calls.close()
  }

  async #put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    const path = this.#pathOf(key)
    const staged = this.#staging.next()
    const metered = new HashingBody(body, options)
    try {
      // Only spares the upload; what decides is the link.
      if (await this.#exists(path)) throw blobExists(key)
      await writeNewFile(this.#files, staged, metered)
      options.signal?.throwIfAborted()
      await this.#publish(key, staged, path)
      return metered.digest()
    } catch (error) {
      if (metered.failure !== undefined) throw metered.failure.error
      if (options.signal?.aborted === true && error === options.signal.reason) throw error
      throw asUnavailable(error, `Blob ${key} could not be written`)
    } finally {
      metered.release()
      await discard(this.#files, staged)
    }
  }

  async #publish(key: string, staged: string, path: string): Promise<void> {
    const folder = dirname(path)
    try {
      await this.#makeFolder(folder)
      if (!(await linkNew(this.#files, staged, path))) throw blobExists(key)
    } catch (error) {
      this.#folders.delete(folder)
      throw error
    }
    try {
      await syncDirectory(this.#files, folder)
    } catch (error) {
      // Linked, but perhaps not for long: a put that fails leaves nothing to be seen.
      await discard(this.#files, path)
      throw error
    }
  }

  async #get(
    key: string,
    range: BlobRange | undefined,
    signal: AbortSignal | undefined,
  ): Promise<BlobBody | undefined> {
    signal?.throwIfAborted()
    const failed = `Blob ${key} could not be opened`
    const file = await this.#files.open(this.#pathOf(key), 'r').catch(async (error: unknown) => {
      if (errnoOf(error) !== 'ENOENT') throw asUnavailable(error, failed)
      await this.#assertThere(failed)
    })
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      if (range !== undefined) assertBlobRange(range, size)
      return { size, body: new FileBody(file, range ?? { start: 0, end: size }, signal) }
    } catch (error) {
      await file.close().catch(() => undefined)
      throw asUnavailable(error, failed)
    }
  }

  async #delete(key: string): Promise<void> {
    const path = this.#pathOf(key)
    const failed = `Blob ${key} could not be deleted`
    try {
      await this.#files.unlink(path)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw asUnavailable(error, failed)
      await this.#assertThere(failed)
    }
    // Also where it was gone already: an earlier try may have failed after the unlink.
    await syncDirectory(this.#files, dirname(path)).catch((error: unknown) => {
      if (errnoOf(error) !== 'ENOENT') throw asUnavailable(error, failed)
    })
  }

  /** That a file is not there means something only where the directory is: an unmounted volume has no files either. */
  async #assertThere(failed: string): Promise<void> {
    await this.#files.stat(this.#content).catch((error: unknown) => {
      throw asUnavailable(error, `${failed}, because the blob directory is gone`)
    })
  }

  async #exists(path: string): Promise<boolean> {
    return this.#files.stat(path).then(
      () => true,
      (error: unknown) => {
        if (errnoOf(error) === 'ENOENT') return false
        throw error
      },
    )
  }

  #makeFolder(folder: string): Promise<void> {
    let made = this.#folders.get(folder)
    if (made === undefined) {
      made = makeDirectory(this.#files, folder).then(() => syncDirectory(this.#files, this.#content))
      this.#folders.set(folder, made)
    }
    return made
  }

  /** 256 folders by the key's hash: UUIDv7 keys share their first digits for years. */
  #pathOf(key: string): string {
    return join(this.#content, createHash('sha256').update(key).digest('hex').slice(0, 2), key)
  }
}

/** What the file system threw, as a coded error; a coded error as it is. */
function asUnavailable(error: unknown, failed: string): RegistryError {
  if (error instanceof RegistryError) return error
  const reason = errnoOf(error)
  return new RegistryError(
    'UNAVAILABLE',
    `${failed}${reason === undefined ? '' : ` (${reason})`}; check the disk and try again`,
    {
      cause: error,
    },
  )
}

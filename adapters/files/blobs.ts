import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  assertBlobRange,
  BlobCalls,
  blobExists,
  HashingBody,
  RegistryError,
  type BlobBody,
  type BlobDigest,
  type BlobRange,
  type BlobStore,
  type PutOptions,
} from '../kit/index.ts'
import {
  discard,
  FolderSyncs,
  makeDirectory,
  makeFolder,
  nodeFiles,
  writeAndClose,
  type FileOperations,
} from './durable.ts'
import { causeAndRemedy, errnoOf, ifExists, rethrowAs, toRegistryError } from './errors.ts'
import { fileBody } from './file-body.ts'
import { OpenedDirectory } from './opened-directory.ts'
import { writeBlob } from './write-blob.ts'

export interface OpenLocalBlobsOptions {
  readonly files?: FileOperations
  /** Creates and changes nothing, so that a directory on a read-only file system can be read: `put` throws. */
  readonly readOnly?: boolean
  /**
   * Asked if another directory is at the path than at the open: whether it holds the same blobs, because its volume was
   * mounted again or replaced by a copy. Until then, and without this option, all calls throw `UNAVAILABLE`.
   */
  readonly isReplacement?: () => Promise<boolean>
}

/**
 * Opens or creates a blob store in a directory. Each blob is a file below `content/`.
 *
 * @param directory path of the store; it is created if it does not exist (0700)
 * @returns the opened store; close it with `close()`
 * @throws RegistryError `CONFIG_ERROR` if the directory is not writable
 * @example
 * ```ts
 * import { openLocalBlobs } from 'evidence-registry/adapters/files'
 *
 * const blobs = await openLocalBlobs('/var/lib/evidence/blobs')
 * const { size, sha256 } = await blobs.put('invoice-1', stream, { maxBytes: 10_000_000 })
 * ```
 */
export async function openLocalBlobs(directory: string, options: OpenLocalBlobsOptions = {}): Promise<LocalBlobs> {
  const { files = nodeFiles, readOnly = false } = options
  const root = resolve(directory)
  const content = join(root, 'content')
  const blobs = new LocalBlobs(content, options)
  if (readOnly) return blobs
  try {
    await makeDirectory(files, content)
    await tryWriting(files, join(root, 'probe'))
    await blobs.assertAvailable()
    return blobs
  } catch (error) {
    throw new RegistryError(
      'CONFIG_ERROR',
      `The blob directory ${root} cannot be used: ${causeAndRemedy(error)}. It must be writable`,
      { cause: error },
    )
  }
}

/** Tries what a put does, so that it fails at the start. */
async function tryWriting(files: FileOperations, probe: string): Promise<void> {
  try {
    await writeAndClose(await files.open(probe, 'w', 0o600), [new Uint8Array(1)])
  } finally {
    await discard(files, probe)
  }
}

/**
 * A BlobStore with one file per blob (0600, folders 0700). Whatever the size of the file, a put holds 64 KiB and one
 * chunk of its body in memory, and a reader one block of 64 KiB. Open it with `openLocalBlobs`.
 *
 * A put writes the file once, under its final name, and syncs it and its folder. After a crash the file of a put in
 * progress may be incomplete: its upload-intent record tells, and the sweep deletes it.
 */
export class LocalBlobs implements BlobStore {
  /** The server names the folder together with the others of its data directory. */
  readonly marker = null
  readonly #files: FileOperations
  readonly #content: string
  readonly #directory: OpenedDirectory
  readonly #readOnly: boolean
  /** Keys whose put is in progress. */
  readonly #unfinished = new Set<string>()
  /**
   * Folders that this store has made durable, at most 256. A folder that exists may come from another process, which
   * has not synced it yet. None of them is known any more once the directory was found missing or replaced.
   */
  readonly #folders = new Map<string, Promise<void>>()
  /** How often the directory was found missing or replaced. */
  #losses = 0
  readonly #syncs: FolderSyncs
  readonly #calls = new BlobCalls()

  constructor(
    content: string,
    { files = nodeFiles, readOnly = false, isReplacement = async () => false }: OpenLocalBlobsOptions,
  ) {
    this.#files = files
    // What was written is only there if the directory is still the right one after the sync.
    this.#syncs = new FolderSyncs(files, () => this.assertAvailable())
    this.#content = content
    this.#directory = new OpenedDirectory({ files, path: content, isReplacement, onLost: () => this.#onLost() })
    this.#readOnly = readOnly
  }

  /**
   * Throws `UNAVAILABLE` if the directory is missing, or is not the one that was opened: its volume may not be mounted.
   */
  async assertAvailable(): Promise<void> {
    await this.#directory.assertSame().catch(rethrowAs('UNAVAILABLE', `${this.#content} cannot be used`))
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

  /** Waits for the calls in progress. Bodies that were opened can still be read to their end. */
  close(): Promise<void> {
    return this.#calls.close()
  }

  async #put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    if (this.#readOnly) throw new RegistryError('UNAVAILABLE', 'The blob store is open for reading only')
    const hashing = new HashingBody(body, options)
    try {
      if (this.#unfinished.has(key)) throw blobExists(key)
      this.#unfinished.add(key)
      await this.#write(key, hashing, options.signal).finally(() => this.#unfinished.delete(key))
      return hashing.digest()
    } catch (error) {
      if (hashing.failure !== undefined) throw hashing.failure.error
      if (options.signal?.aborted === true && error === options.signal.reason) throw error
      throw toRegistryError(error, `Blob ${key} could not be written`)
    } finally {
      hashing.release()
    }
  }

  /** Writes the file of a blob and syncs it and its folder. Removes the file if that fails. */
  async #write(key: string, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<void> {
    const path = this.#pathOf(key)
    const folder = dirname(path)
    await this.#makeFolder(folder)
    const losses = this.#losses
    try {
      await writeBlob(this.#files, path, chunks)
    } catch (error) {
      // The folder may have been removed.
      if (errnoOf(error) === 'ENOENT') this.#folders.delete(folder)
      throw errnoOf(error) === 'EEXIST' ? blobExists(key) : error
    }
    try {
      signal?.throwIfAborted()
      await this.#syncs.sync(folder)
      // The directory was lost in the meantime, and perhaps it is back: the file may be somewhere else.
      if (this.#losses !== losses) throw new Error(`${this.#content} was not there all the time`)
    } catch (error) {
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
    if (this.#unfinished.has(key)) return undefined
    const failed = `Blob ${key} could not be opened`
    const file = await this.#open(key, failed)
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      if (range !== undefined) assertBlobRange(range, size)
      return { size, body: fileBody(file, range ?? { start: 0, end: size }, signal) }
    } catch (error) {
      await file.close().catch(() => undefined)
      throw toRegistryError(error, failed)
    }
  }

  /** Opens the file of a blob. `undefined` if the blob does not exist. */
  async #open(key: string, failed: string): Promise<FileHandle | undefined> {
    const opened = ifExists(this.#files.open(this.#pathOf(key), 'r'))
    const file = await opened.catch(rethrowAs('UNAVAILABLE', failed))
    // A missing file proves nothing if the directory is not the right one.
    if (file === undefined) await this.assertAvailable()
    return file
  }

  async #delete(key: string): Promise<void> {
    const [path, failed] = [this.#pathOf(key), `Blob ${key} could not be deleted`]
    try {
      await this.#unlink(path)
      // Also if the file was missing: an earlier call may have failed after its unlink.
      await ifExists(this.#syncs.sync(dirname(path)))
    } catch (error) {
      throw toRegistryError(error, failed)
    }
  }

  async #unlink(path: string): Promise<void> {
    const unlinked = await ifExists(this.#files.unlink(path).then(() => true))
    if (unlinked === true) return
    await this.assertAvailable()
    // The volume may have been mounted between the two calls.
    await ifExists(this.#files.unlink(path))
  }

  #onLost(): void {
    this.#folders.clear()
    this.#losses += 1
  }

  #makeFolder(folder: string): Promise<void> {
    let made = this.#folders.get(folder)
    if (made === undefined) {
      made = this.#createFolder(folder)
      this.#folders.set(folder, made)
      made.catch(() => this.#folders.delete(folder))
    }
    return made
  }

  /** Creates this folder only: above it, a missing one is that of a volume that is not mounted. */
  async #createFolder(folder: string): Promise<void> {
    await this.assertAvailable()
    await makeFolder(this.#files, folder)
    await this.#syncs.sync(this.#content)
  }

  /**
   * Spreads keys over 256 folders by the hash of their beginning. UUIDv7 keys of about a minute have the same, so puts
   * at the same time share the sync of their folder.
   */
  #pathOf(key: string): string {
    return join(this.#content, createHash('sha256').update(key.slice(0, 8)).digest('hex').slice(0, 2), key)
  }
}

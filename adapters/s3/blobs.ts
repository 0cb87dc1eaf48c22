import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import {
  assertBlobRange,
  BlobCalls,
  HashingBody,
  RegistryError,
  type BlobBody,
  type BlobDigest,
  type BlobRange,
  type BlobStore,
  type BlobStoreMarker,
  type PutOptions,
} from '../kit/index.ts'
import { objectBody } from './body.ts'
import { BlobBucket, type OpenedObject } from './bucket.ts'
import { isNotImplemented, statusOf, toRegistryError, toStartError } from './errors.ts'
import { DEFAULTS, type S3Settings } from './settings.ts'
import { partBytesFor, Upload } from './upload.ts'

/** The object that names the registry. The keys of blobs contain no dot. */
const MARKER = 'registry.json'

/** The arguments of one `get`. */
interface BlobRequest {
  readonly key: string
  readonly range: BlobRange | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * A BlobStore with one object per blob, in one bucket and below one prefix. Open it with `openS3Blobs`.
 *
 * A put holds one part of its body in memory (8 MiB, plus 1 MiB while that is allocated) and sends it before it reads
 * more; a body that fits in one part uses only its own size. A body of more than 10,000 parts needs larger parts, so a
 * put with `maxBytes` beyond 78 GiB holds one ten-thousandth of that. A reader holds what its connection has buffered.
 */
export class S3Blobs implements BlobStore {
  readonly marker: BlobStoreMarker = {
    read: () => this.#readMarker(),
    write: (content) => this.#writeMarker(content),
  }
  readonly #bucket: BlobBucket
  readonly #partBytes: number
  readonly #calls = new BlobCalls()
  #openBodies = 0
  #isDestroyed = false

  /** Takes ownership of the bucket. */
  constructor(bucket: BlobBucket, partBytes: number) {
    this.#bucket = bucket
    this.#partBytes = partBytes
  }

  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    return this.#calls.run(key, () => this.#put(key, body, options))
  }

  get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined> {
    return this.#calls.run(key, () => this.#get({ key, range, signal }))
  }

  delete(key: string): Promise<void> {
    return this.#calls.run(key, () =>
      this.#bucket.delete(key).catch((error: unknown) => {
        throw toRegistryError(error, `Blob ${key} could not be deleted`)
      }),
    )
  }

  /** Waits for the calls in progress. Bodies that were opened can still be read to their end. */
  async close(): Promise<void> {
    await this.#calls.close()
    this.#destroyIfUnused()
  }

  #readMarker(): Promise<string | undefined> {
    return this.#onMarker(async () => {
      const object = await this.#bucket.open(MARKER)
      return object && text(object.body)
    }, 'read')
  }

  #writeMarker(content: string): Promise<void> {
    const bytes = new TextEncoder().encode(content)
    return this.#onMarker(async () => {
      try {
        await this.#bucket.put(MARKER, bytes, MARKER)
      } catch (error) {
        // Another server has written it, or is writing it.
        if (statusOf(error) !== 412 && statusOf(error) !== 409) throw error
      }
    }, 'written')
  }

  #onMarker<T>(call: () => Promise<T>, verb: 'read' | 'written'): Promise<T> {
    return this.#calls.run('registry', () =>
      call().catch((error: unknown) => {
        throw toRegistryError(error, `The object ${MARKER} could not be ${verb}`)
      }),
    )
  }

  async #put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    const hashing = new HashingBody(body, options)
    const { maxBytes, signal } = options
    try {
      const partBytes = partBytesFor(maxBytes, this.#partBytes)
      await new Upload(this.#bucket, key, { partBytes, signal }).write(hashing)
      return hashing.digest()
    } catch (error) {
      if (hashing.failure !== undefined) throw hashing.failure.error
      // The SDK throws an error of its own for an aborted request.
      signal?.throwIfAborted()
      throw toRegistryError(error, `Blob ${key} could not be written`)
    } finally {
      hashing.release()
    }
  }

  async #get(request: BlobRequest): Promise<BlobBody | undefined> {
    const { key, range, signal } = request
    signal?.throwIfAborted()
    try {
      if (range !== undefined && !isValidRange(range)) return await this.#rejectRange(key, range)
      const object = await this.#open(request)
      return object && this.#bodyOf(request, range === undefined ? await this.#withSize(key, object) : object)
    } catch (error) {
      signal?.throwIfAborted()
      throw toRegistryError(error, `Blob ${key} could not be opened`)
    }
  }

  /** Some proxies send a whole object without its length. The body must have exactly the length that is found. */
  async #withSize(key: string, object: OpenedObject): Promise<OpenedObject> {
    if (object.size !== undefined) return object
    const size = await this.#sizeOf(key).catch((error: unknown) => {
      object.body.destroy()
      throw error
    })
    return { ...object, size }
  }

  /** From HEAD; if that has no length either, from a range, which names the size of the whole. */
  async #sizeOf(key: string): Promise<number | undefined> {
    const head = await this.#bucket.head(key)
    if (head === undefined || head.size !== undefined) return head?.size
    const part = await this.#bucket.open(key, { start: 0, end: 1 })
    part?.body.destroy()
    return part?.size
  }

  #open({ key, range, signal }: BlobRequest): Promise<OpenedObject | undefined> {
    return this.#bucket.open(key, range, signal).catch((error: unknown) => {
      if (range !== undefined && statusOf(error) === 416) return this.#rejectRange(key, range)
      throw error
    })
  }

  #bodyOf({ key, range, signal }: BlobRequest, { body: stream, size }: OpenedObject): BlobBody {
    try {
      if (size === undefined)
        throw new RegistryError('UNAVAILABLE', `The object store did not say which bytes of blob ${key} it returned`)
      if (range !== undefined) assertBlobRange(range, size)
      this.#openBodies += 1
      const onRelease = (): void => this.#onBodyRelease()
      return { size, body: objectBody(stream, { size: range ? range.end - range.start : size, signal, onRelease }) }
    } catch (error) {
      stream.destroy()
      throw error
    }
  }

  /**
   * Throws the error for an invalid range, which needs the size of the blob. Returns `undefined` if the blob does not
   * exist.
   */
  async #rejectRange(key: string, range: BlobRange): Promise<undefined> {
    if ((await this.#bucket.head(key)) === undefined) return undefined
    assertBlobRange(range, (await this.#sizeOf(key)) ?? 0)
    throw new RegistryError('UNAVAILABLE', `The object store rejected a valid range of blob ${key}`)
  }

  #onBodyRelease(): void {
    this.#openBodies -= 1
    this.#destroyIfUnused()
  }

  #destroyIfUnused(): void {
    if (!this.#calls.isFinished || this.#isDestroyed || this.#openBodies > 0) return
    this.#isDestroyed = true
    this.#bucket.destroy()
  }
}

/** Whether the range can be sent at all. A service ignores other ranges and returns the whole object. */
const isValidRange = ({ start, end }: BlobRange): boolean =>
  Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end

/** No upload takes this long: its client would have disconnected. */
const ABANDONED_AFTER_MS = 24 * 3_600_000

/**
 * Tries the bucket, aborts abandoned uploads, and opens the store; see `openS3Blobs`. Requires settings that passed
 * `assertSettings`.
 */
export async function connectBlobs(settings: S3Settings): Promise<S3Blobs> {
  const bucket = new BlobBucket(settings)
  try {
    const now = await tryBucket(bucket, settings.bucket)
    await abortUploads(bucket, new Date(now.getTime() - ABANDONED_AFTER_MS))
    return new S3Blobs(bucket, settings.partBytes ?? DEFAULTS.partBytes)
  } catch (error) {
    bucket.destroy()
    throw toStartError(error, `The S3 bucket ${settings.bucket} cannot be used`)
  }
}

/**
 * Writes, reads and deletes an object of its own. Returns the time of the service. Rejects a bucket with versioning: a
 * deletion there keeps the bytes, but the registry promises that they are gone.
 */
async function tryBucket(bucket: BlobBucket, name: string): Promise<Date> {
  // The keys of blobs contain no dot.
  const key = `probe.${randomUUID()}`
  const version = await bucket.put(key, new Uint8Array(), key)
  if (version !== undefined && version !== 'null') {
    await bucket.delete(key, version)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The S3 bucket ${name} keeps versions, so deleted files would stay readable: use a bucket without versioning`,
    )
  }
  try {
    const opened = await bucket.open(key)
    opened?.body.destroy()
    if (opened?.lastModified === undefined)
      throw new RegistryError('CONFIG_ERROR', `The S3 bucket ${name} does not return what was just written to it`)
    return opened.lastModified
  } finally {
    await bucket.delete(key)
    // Without the permission to list, reading a missing key fails with 403. Detected here, because later it would look
    // like an outage.
    ;(await bucket.open(key))?.body.destroy()
  }
}

/** Aborts unfinished uploads. It only saves storage, so a service that cannot list uploads is accepted. */
async function abortUploads(bucket: BlobBucket, before: Date): Promise<void> {
  try {
    for await (const upload of bucket.unfinishedUploads(before)) {
      // 404: another server aborted it at the same time.
      await bucket.abortUpload(upload).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error
      })
    }
  } catch (error) {
    if (!isNotImplemented(error)) throw error
  }
}

import { assertBlobRange, BlobCalls, HashingBody } from '../../core/store/blob-calls.ts'
import { RegistryError } from '../../core/errors.ts'
import type { BlobBody, BlobDigest, BlobRange, BlobStore, PutOptions } from '../../core/ports.ts'
import type { BlobBucket, OpenedObject } from './bucket.ts'
import { toRegistryError, statusOf } from './errors.ts'
import { ObjectBody } from './object-body.ts'
import { partBytesFor } from './parts.ts'
import { Upload } from './upload.ts'

/**
 * Blobs as objects of one bucket, each under the prefix and its key. Open it with `openS3Blobs`.
 *
 * A put holds one part of its body in memory (8 MiB, plus 1 MiB while that is allocated) and sends it before it asks for
 * more; a body that fits in one part takes what it is long. Bodies of more than 10,000 parts take larger ones: a put with
 * `maxBytes` beyond 78 GiB holds one ten-thousandth of that. A reader holds what its connection has buffered.
 */
export class S3Blobs implements BlobStore {
  readonly #bucket: BlobBucket
  readonly #partBytes: number
  readonly #isConditional: boolean
  readonly #calls = new BlobCalls()
  #openBodies = 0
  #isDestroyed = false

  /** Takes over the bucket. `isConditional`: it holds to `If-None-Match: *` on puts. */
  constructor(bucket: BlobBucket, options: { readonly partBytes: number; readonly isConditional: boolean }) {
    this.#bucket = bucket
    this.#partBytes = options.partBytes
    this.#isConditional = options.isConditional
  }

  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    return this.#calls.run(key, () => this.#put(key, body, options))
  }

  get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined> {
    return this.#calls.run(key, () => this.#get(key, range, signal))
  }

  delete(key: string): Promise<void> {
    return this.#calls.run(key, () =>
      this.#bucket.delete(key).catch((error: unknown) => {
        throw toRegistryError(error, `Blob ${key} could not be deleted`)
      }),
    )
  }

  /** Waits for what is under way; bodies that were opened can be read to their end. */
  async close(): Promise<void> {
    await this.#calls.close()
    this.#disconnect()
  }

  async #put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    const metered = new HashingBody(body, options)
    const { maxBytes, signal } = options
    try {
      const partBytes = partBytesFor(maxBytes, this.#partBytes)
      await new Upload(this.#bucket, key, { partBytes, isConditional: this.#isConditional, signal }).write(metered)
      return metered.digest()
    } catch (error) {
      if (metered.failure !== undefined) throw metered.failure.error
      // The SDK has an error of its own for a request that it cut off.
      signal?.throwIfAborted()
      throw toRegistryError(error, `Blob ${key} could not be written`)
    } finally {
      metered.release()
    }
  }

  async #get(
    key: string,
    range: BlobRange | undefined,
    signal: AbortSignal | undefined,
  ): Promise<BlobBody | undefined> {
    signal?.throwIfAborted()
    try {
      if (range !== undefined && !isInOrder(range)) return await this.#refuseRange(key, range, signal)
      const object = await this.#bucket.open(key, range, signal)
      return object && this.#bodyOf(key, object, range, signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (range !== undefined && statusOf(error) === 416) return this.#refuseRange(key, range, signal)
      throw toRegistryError(error, `Blob ${key} could not be opened`)
    }
  }

  #bodyOf(
    key: string,
    object: OpenedObject,
    range: BlobRange | undefined,
    signal: AbortSignal | undefined,
  ): BlobBody | undefined {
    const { body: stream, size, claim, etag } = object
    try {
      if (claim !== undefined) return letGo(object)
      if (size === undefined)
        throw new RegistryError('UNAVAILABLE', `The object store did not give the asked range of blob ${key}`)
      if (range !== undefined) assertBlobRange(range, size)
      this.#openBodies += 1
      const body = new ObjectBody({
        stream,
        range: range ?? { start: 0, end: size },
        signal,
        reopen: (rest) => this.#reopen(key, rest, etag, signal),
        onRelease: () => this.#released(),
      })
      return { size, body }
    } catch (error) {
      letGo(object)
      throw error
    }
  }

  async #reopen(
    key: string,
    range: BlobRange,
    etag: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<OpenedObject['body']> {
    const failed = `Blob ${key} could not be read on`
    const object = await this.#bucket.open(key, range, signal).catch((error: unknown) => {
      throw toRegistryError(error, failed)
    })
    if (object === undefined) throw new RegistryError('UNAVAILABLE', `${failed}: it was deleted meanwhile`)
    if (object.size !== undefined && object.etag === etag) return object.body
    letGo(object)
    throw new RegistryError('CORRUPT', `${failed}: it is another object now`)
  }

  /** Only the size says why a range is refused, and whether there is anything to refuse. */
  async #refuseRange(key: string, range: BlobRange, signal: AbortSignal | undefined): Promise<undefined> {
    const object = await this.#bucket.open(key, undefined, signal).catch((error: unknown) => {
      signal?.throwIfAborted()
      throw toRegistryError(error, `Blob ${key} could not be opened`)
    })
    if (object === undefined) return undefined
    letGo(object)
    if (object.claim !== undefined) return undefined
    assertBlobRange(range, object.size ?? 0)
    throw new RegistryError('UNAVAILABLE', `The object store refused a range that blob ${key} has`)
  }

  #released(): void {
    this.#openBodies -= 1
    this.#disconnect()
  }

  #disconnect(): void {
    if (!this.#calls.isOver || this.#isDestroyed || this.#openBodies > 0) return
    this.#isDestroyed = true
    this.#bucket.destroy()
  }
}

/** What can be said as a range at all; the rest would be ignored by the service, which then answers the whole. */
const isInOrder = ({ start, end }: BlobRange): boolean =>
  Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end

function letGo({ body }: OpenedObject): undefined {
  body.destroy()
}

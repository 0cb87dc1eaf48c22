import { randomUUID } from 'node:crypto'
import { blobExists } from '../kit/index.ts'
import type { BlobBucket, ObjectInfo, StartedUpload, WriteTag } from './bucket.ts'
import { mayBeApplied, statusOf } from './errors.ts'
import { partsOf } from './parts.ts'

export interface UploadOptions {
  readonly partBytes: number
  /** The service respects `If-None-Match: *` on single puts. */
  readonly isConditional: boolean
  readonly signal?: AbortSignal | undefined
}

/** How often a put is sent if another request for its key is in progress (409). */
const MAX_TRIES = 3

/**
 * One put: a body of one part is one request, a larger one a multipart upload. Everything it writes has the id of this
 * put in its metadata, so that a write whose response was lost can be distinguished from the write of another put.
 *
 * Conditions work on single puts only: services ignore them on CompleteMultipartUpload (Ceph 16 overwrites the object).
 * So a large body first claims its key with an empty object, which readers treat as missing, and then completes the
 * upload over it.
 */
export class Upload {
  readonly #bucket: BlobBucket
  readonly #key: string
  readonly #options: UploadOptions
  readonly #id = randomUUID()

  constructor(bucket: BlobBucket, key: string, options: UploadOptions) {
    this.#bucket = bucket
    this.#key = key
    this.#options = options
  }

  /**
   * Writes the body. When it returns, the blob is durable and complete. If it throws, no blob is visible, unless the
   * service is unreachable.
   */
  async write(body: AsyncIterable<Uint8Array>): Promise<void> {
    const { partBytes, signal } = this.#options
    const etags: string[] = []
    let upload: StartedUpload | undefined
    try {
      for await (const { bytes, isLast } of partsOf(body, partBytes)) {
        if (isLast && upload === undefined) return await this.#publish(() => this.#putWhole(bytes))
        // Without the signal: an upload whose id is unknown cannot be aborted.
        upload ??= await this.#bucket.startUpload(this.#key, { put: this.#id })
        etags.push(await this.#bucket.uploadPart(upload, etags.length + 1, bytes, signal))
      }
      if (upload === undefined) throw new Error('The body was split into no parts')
      const started = upload
      await this.#publish(() => this.#complete(started, etags))
    } catch (error) {
      // If this fails, the upload is aborted when a store is opened more than a day later.
      if (upload !== undefined) await this.#bucket.abortUpload(upload).catch(() => undefined)
      throw error
    }
  }

  /**
   * Runs `write` without the signal, because an aborted request may still be applied. If the signal aborts meanwhile,
   * deletes the object.
   */
  async #publish(write: () => Promise<void>): Promise<void> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    await write()
    if (signal?.aborted !== true) return
    await this.#deleteObject()
    signal.throwIfAborted()
  }

  #putWhole(bytes: Uint8Array): Promise<void> {
    return this.#putNew(bytes, { put: this.#id })
  }

  async #complete(upload: StartedUpload, etags: readonly string[]): Promise<void> {
    const { isConditional } = this.#options
    if (isConditional) await this.#putNew(new Uint8Array(), { claim: this.#id })
    else if ((await this.#bucket.head(this.#key)) !== undefined) throw blobExists(this.#key)
    try {
      await this.#bucket.completeUpload(upload, etags)
    } catch (error) {
      // Checked after any error: if the SDK repeats a completion that was applied, the service reports that the upload
      // does not exist.
      if ((await this.#currentObject())?.put === this.#id) return
      // Aborted first, so that a late completion cannot be applied; then it is safe to delete the claim.
      await this.#bucket.abortUpload(upload).catch(() => undefined)
      if (isConditional) await this.#deleteObject()
      throw error
    }
  }

  /**
   * Writes an object under a key that must be free. If the response does not tell, finds out whether it was written.
   */
  async #putNew(bytes: Uint8Array, tag: WriteTag): Promise<void> {
    const { isConditional } = this.#options
    if (!isConditional && (await this.#bucket.head(this.#key)) !== undefined) throw blobExists(this.#key)
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#bucket.put(this.#key, { bytes, tag, mustBeNew: isConditional })
        return
      } catch (error) {
        if (!mayBeApplied(error)) throw error
        const current = await this.#currentObject()
        if ('put' in tag ? current?.put === tag.put : current?.claim === tag.claim) return
        if (current !== undefined) throw blobExists(this.#key)
        if (statusOf(error) !== 409 || tries === MAX_TRIES) throw error
      }
    }
  }

  /** What is stored under the key, `undefined` if it cannot be read: the caller then throws the error of the put. */
  #currentObject(): Promise<ObjectInfo | undefined> {
    return this.#bucket.head(this.#key).catch(() => undefined)
  }

  /** Requires that this put wrote the object under the key. */
  async #deleteObject(): Promise<void> {
    await this.#bucket.delete(this.#key).catch(() => undefined)
  }
}

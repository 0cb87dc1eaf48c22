import { randomUUID } from 'node:crypto'
import { blobExists } from '../../core/store/blob-calls.ts'
import type { BlobBucket, ObjectInfo, StartedUpload } from './bucket.ts'
import { mayBeApplied, statusOf } from './errors.ts'
import { partsOf } from './parts.ts'

export interface UploadOptions {
  readonly partBytes: number
  /** The service holds to `If-None-Match: *` on single puts. */
  readonly isConditional: boolean
  readonly signal?: AbortSignal | undefined
}

/** Puts that meet another request for their key are told to try again (409). */
const MAX_TRIES = 3

/**
 * One put: a body of one part is one request, a larger one a multipart upload. What is written carries this put's id, so
 * that a write whose answer was lost is told from somebody else's.
 *
 * Conditions hold on single puts only: services ignore them on CompleteMultipartUpload (Ceph 16 overwrites). So a large body
 * first claims its key with an empty object, which readers take for none, and then completes over it.
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

  /** Durable and whole when it answers; where it throws, nothing is left to be seen, as far as the service can be reached. */
  async write(body: AsyncIterable<Uint8Array>): Promise<void> {
    const { partBytes, signal } = this.#options
    const etags: string[] = []
    let upload: StartedUpload | undefined
    try {
      for await (const { bytes, isLast } of partsOf(body, partBytes)) {
        if (isLast && upload === undefined) return await this.#publish(() => this.#putWhole(bytes))
        // Not interrupted: an upload whose id is not known cannot be aborted.
        upload ??= await this.#bucket.startUpload(this.#key, { put: this.#id })
        etags.push(await this.#bucket.uploadPart(upload, etags.length + 1, bytes, signal))
      }
      const started = upload as StartedUpload
      await this.#publish(() => this.#complete(started, etags))
    } catch (error) {
      // What cannot be aborted now is swept when a store is opened a day later.
      if (upload !== undefined) await this.#bucket.abortUpload(upload).catch(() => undefined)
      throw error
    }
  }

  /** Is not interrupted: a request that was cut off may still be carried out. An abort meanwhile takes the object back. */
  async #publish(write: () => Promise<void>): Promise<void> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    await write()
    if (signal?.aborted !== true) return
    await this.#takeBack()
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
      // Any error: a second try of one that was done finds no such upload any more.
      if ((await this.#look())?.put === this.#id) return
      // Aborted first, so that a late completion finds nothing; then the claim is ours to remove.
      await this.#bucket.abortUpload(upload).catch(() => undefined)
      if (isConditional) await this.#takeBack()
      throw error
    }
  }

  /** Puts an object where there is none, and finds out what came of it where the answer does not say. */
  async #putNew(bytes: Uint8Array, mark: { readonly put: string } | { readonly claim: string }): Promise<void> {
    const { isConditional } = this.#options
    if (!isConditional && (await this.#bucket.head(this.#key)) !== undefined) throw blobExists(this.#key)
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#bucket.put(this.#key, bytes, mark, isConditional)
        return
      } catch (error) {
        if (!mayBeApplied(error)) throw error
        const found = await this.#look()
        if ('put' in mark ? found?.put === mark.put : found?.claim === mark.claim) return
        if (found !== undefined) throw blobExists(this.#key)
        if (statusOf(error) !== 409 || tries === MAX_TRIES) throw error
      }
    }
  }

  /** What is under the key, as far as that can be learnt: the error before is what the caller must see. */
  #look(): Promise<ObjectInfo | undefined> {
    return this.#bucket.head(this.#key).catch(() => undefined)
  }

  /** Requires that what is under the key is of this put. */
  async #takeBack(): Promise<void> {
    await this.#bucket.delete(this.#key).catch(() => undefined)
  }
}

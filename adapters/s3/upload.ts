import { randomUUID } from 'node:crypto'
import { blobExists } from '../kit/index.ts'
import type { BlobBucket, StartedUpload } from './bucket.ts'
import { statusOf } from './errors.ts'
import { partsOf } from './parts.ts'

export interface UploadOptions {
  readonly partBytes: number
  readonly signal?: AbortSignal | undefined
}

/**
 * One put: a body of one part is one conditional request, a larger one a multipart upload. The id of the put is in the
 * metadata of the object, so that a write whose response was lost can be distinguished from the write of another put.
 *
 * Services ignore a condition on the completion of an upload (Ceph 16 overwrites the object). So of two large puts for
 * one key at the same time both may succeed: use a key once, as the registry does.
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
        if (isLast && upload === undefined)
          return await this.#publish(() => this.#bucket.put(this.#key, bytes, this.#id))
        // Without the signal: an upload whose id is unknown cannot be aborted.
        upload ??= await this.#bucket.startUpload(this.#key, this.#id)
        etags.push(await this.#bucket.uploadPart(upload, etags.length + 1, bytes, signal))
      }
      if (upload === undefined) throw new Error('The body was split into no parts')
      const started = upload
      if ((await this.#bucket.head(this.#key)) !== undefined) throw blobExists(this.#key)
      await this.#publish(() => this.#bucket.completeUpload(started, etags))
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
  async #publish(write: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    try {
      await write()
    } catch (error) {
      // After any error: if the SDK repeats a request whose response was lost, the first one makes the second one fail.
      const current = await this.#bucket.head(this.#key).catch(() => undefined)
      if (current?.put !== this.#id) throw statusOf(error) === 412 ? blobExists(this.#key) : error
    }
    if (signal?.aborted !== true) return
    await this.#bucket.delete(this.#key).catch(() => undefined)
    signal.throwIfAborted()
  }
}

import { randomUUID } from 'node:crypto'
import { blobExists } from '../kit/index.ts'
import type { BlobBucket, StartedUpload } from './bucket.ts'
import { statusOf } from './errors.ts'
import { MAX_PARTS } from './settings.ts'

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

interface Part {
  /** Overwritten when the next part is requested. */
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

/** Returns the size of the parts. An object has at most 10,000 parts and 5 TiB, so larger bodies need larger parts. */
export function partBytesFor(maxBytes: number, partBytes: number): number {
  const largest = Math.min(maxBytes, 5 * 2 ** 40)
  return Math.max(partBytes, Math.ceil(largest / MAX_PARTS))
}

/**
 * Splits a body into parts of exactly `partBytes`; only the last may be smaller. A body that fits in one part yields
 * one part, which may be empty; later parts are never empty. Reads a chunk only when the previous one is in a part, and
 * reads nothing while a part is in use. Copies the chunks, because their producer may reuse its buffer and a part may
 * be sent twice.
 */
export async function* partsOf(body: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Part> {
  let buffer = Buffer.alloc(0)
  let filled = 0
  for await (const chunk of body) {
    for (let rest = chunk; rest.length > 0;) {
      if (filled === partBytes) {
        yield { bytes: buffer, isLast: false }
        filled = 0
      }
      const count = Math.min(rest.length, partBytes - filled)
      if (filled + count > buffer.length) buffer = growBuffer(buffer.subarray(0, filled), filled + count, partBytes)
      buffer.set(rest.subarray(0, count), filled)
      filled += count
      rest = rest.subarray(count)
    }
  }
  yield { bytes: buffer.subarray(0, filled), isLast: true }
}

/**
 * Grows in three sizes. Few files fill a part, so a small file uses little memory, and a large one is copied rarely.
 */
function growBuffer(bytes: Uint8Array, needed: number, partBytes: number): Buffer<ArrayBuffer> {
  const size = [64 * 1024, 1024 * 1024].find((step) => step >= needed) ?? partBytes
  const buffer = Buffer.allocUnsafeSlow(Math.min(size, partBytes))
  buffer.set(bytes)
  return buffer
}

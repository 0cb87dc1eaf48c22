import { createHash } from 'node:crypto'
import { isBytes } from '../bytes.ts'
import { untilAborted } from '../clock.ts'
import { RegistryError } from '../errors.ts'
import type { BlobDigest, BlobRange, PutOptions } from '../ports/index.ts'

/** What every BlobStore has in common: which keys and ranges are valid, and the size and hash of a body. */

/**
 * Throws a TypeError for an invalid blob key. A key is 1 to 128 of `A-Z a-z 0-9 _ -`, so it is a plain path segment.
 */
export function assertBlobKey(key: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(key))
    throw new TypeError(`A blob key must be 1 to 128 of A-Z a-z 0-9 _ -, got ${JSON.stringify(key)}`)
}

/** Throws `RANGE_NOT_SATISFIABLE` unless 0 <= start < end <= size, all integers. */
export function assertBlobRange({ start, end }: BlobRange, size: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end && end <= size) return
  throw new RegistryError(
    'RANGE_NOT_SATISFIABLE',
    `Bytes ${start} to ${end} (exclusive) are not within a file of ${size} bytes`,
  )
}

/** Returns the error for a second put to a key, as the port specifies. */
export const blobExists = (key: string): RegistryError =>
  new RegistryError('UNAVAILABLE', `Blob ${key} is already written; blobs are write-once: put under a new key`)

/** Returns the error for a body with more than `maxBytes`. */
export const fileTooLarge = (maxBytes: number): RegistryError =>
  new RegistryError('PAYLOAD_TOO_LARGE', `The file is larger than the maximum of ${maxBytes} bytes`)

/** Tracks the calls of a blob store. `close` waits for those in progress; later ones throw `CLOSED`. */
export class BlobCalls {
  readonly #running = new Set<Promise<unknown>>()
  #closed = false

  /** True if the store is closed and no call is in progress. */
  get isFinished(): boolean {
    return this.#closed && this.#running.size === 0
  }

  /** Runs one call. Throws `CLOSED` after `close`, a TypeError for an invalid key. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The blob store is closed')
    assertBlobKey(key)
    const promise = work()
    this.#running.add(promise)
    try {
      return await promise
    } finally {
      this.#running.delete(promise)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#running)
  }
}

/**
 * Wraps the body of a put: passes its chunks on when they are requested (only the first is requested at once), and
 * counts and hashes them. Throws at the first byte beyond `maxBytes`, and if the signal aborts, even if the body never
 * yields its next chunk. Iterate it once, then call `digest`. Always call `release` at the end.
 */
export class HashingBody implements AsyncIterable<Uint8Array> {
  readonly #options: PutOptions
  readonly #body: AsyncIterator<Uint8Array>
  readonly #first: Promise<IteratorResult<Uint8Array>>
  readonly #hash = createHash('sha256')
  #size = 0
  #ended = false
  #failure: { readonly error: unknown } | undefined

  /** Requests the first chunk at once: a stream that breaks while it has no listener would end the process. */
  constructor(body: AsyncIterable<Uint8Array>, options: PutOptions) {
    this.#options = options
    this.#body = body[Symbol.asyncIterator]()
    this.#first = this.#next()
    this.#first.catch(() => undefined)
  }

  /** Why the body ended early: its own error, the limit, or the reason of the abort. A put must throw it unchanged. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** Returns size and SHA-256. Call it once, after the body was read to its end. */
  digest(): BlobDigest {
    return { size: this.#size, sha256: new Uint8Array(this.#hash.digest()) }
  }

  /** Ends a body that was not read to its end. Does not wait for it: a generator that hangs would never return. */
  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#body.return?.().catch(() => undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (let step = await this.#first; step.done !== true; step = await this.#next()) {
        this.#addChunk(step.value)
        yield step.value
      }
      this.#ended = true
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /**
   * Returns the next chunk, or rejects with the reason of the abort, whichever comes first. Leaves no listener on the
   * signal.
   */
  async #next(): Promise<IteratorResult<Uint8Array>> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    return untilAborted(this.#body.next(), signal)
  }

  #addChunk(chunk: Uint8Array): void {
    // A stream with an encoding yields strings, whose length is not their size in bytes.
    if (!isBytes(chunk)) throw new TypeError('A blob body must yield Uint8Array chunks')
    this.#size += chunk.length
    const { maxBytes } = this.#options
    if (this.#size > maxBytes) throw fileTooLarge(maxBytes)
    this.#hash.update(chunk)
  }
}

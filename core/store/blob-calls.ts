import { createHash } from 'node:crypto'
import { RegistryError } from '../errors.ts'
import type { BlobDigest, BlobRange, PutOptions } from '../ports.ts'

/** What every BlobStore must decide alike: which keys and ranges there are, and what a body came to. */

/** Throws a TypeError for what is no blob key: 1 to 128 of `A-Z a-z 0-9 _ -`, so that a key is one plain path segment. */
export function assertBlobKey(key: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(key))
    throw new TypeError(`A blob key is 1 to 128 of A-Z a-z 0-9 _ -, not ${JSON.stringify(key)}`)
}

/** Throws `RANGE_NOT_SATISFIABLE` unless 0 <= start < end <= size, all integers. */
export function assertBlobRange({ start, end }: BlobRange, size: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end && end <= size) return
  throw new RegistryError(
    'RANGE_NOT_SATISFIABLE',
    `Bytes ${start} to ${end} (exclusive) are not within a file of ${size} bytes`,
  )
}

/** A second put to a key: the refusal that the port promises. */
export const blobExists = (key: string): RegistryError =>
  new RegistryError('UNAVAILABLE', `Blob ${key} is already written; blobs are write-once: put under a new key`)

/** The calls of a blob store, which `close` ends: what is under way is waited for, what comes later is refused. */
export class BlobCalls {
  readonly #underWay = new Set<Promise<unknown>>()
  #closed = false

  /** Nothing is under way, and nothing will be. */
  get isOver(): boolean {
    return this.#closed && this.#underWay.size === 0
  }

  /** Does the work of one call. Throws `CLOSED` after `close`, a TypeError for what is no blob key. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The blob store is closed')
    assertBlobKey(key)
    const promise = work()
    this.#underWay.add(promise)
    try {
      return await promise
    } finally {
      this.#underWay.delete(promise)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#underWay)
  }
}

/**
 * A body on its way into a store: passes its chunks on as they are asked for (only the first is asked for at once), counts
 * and hashes them, and ends with an error at the first byte beyond `maxBytes` or when the signal aborts, even where the
 * body itself hangs. Read it once, ask for `digest`, and in any case `release` it.
 */
export class HashingBody implements AsyncIterable<Uint8Array> {
  readonly #options: PutOptions
  readonly #body: AsyncIterator<Uint8Array>
  readonly #first: Promise<IteratorResult<Uint8Array>>
  readonly #hash = createHash('sha256')
  #size = 0
  #ended = false
  #failure: { readonly error: unknown } | undefined

  /** Begins the body at once: a stream that breaks before anyone reads it must find a listener, or it ends the process. */
  constructor(body: AsyncIterable<Uint8Array>, options: PutOptions) {
    this.#options = options
    this.#body = body[Symbol.asyncIterator]()
    this.#first = this.#next()
    this.#first.catch(() => undefined)
  }

  /** What ended the body early: its own error, the limit, or the abort's reason. It belongs to the caller and passes through unchanged. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** Requires that the body was read to its end. Call once. */
  digest(): BlobDigest {
    return { size: this.#size, sha256: new Uint8Array(this.#hash.digest()) }
  }

  /** Lets go of a body that was not read to its end. Does not wait: a generator that hangs would answer only once it goes on. */
  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#body.return?.().catch(() => undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (let step = await this.#first; step.done !== true; step = await this.#next()) {
        this.#meter(step.value)
        yield step.value
      }
      this.#ended = true
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /** The body's next step, or the abort's reason, whichever comes first. One listener a step, removed with it. */
  async #next(): Promise<IteratorResult<Uint8Array>> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    if (signal === undefined) return this.#body.next()
    let abort = (): void => undefined
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason)
    })
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await Promise.race([this.#body.next(), aborted])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  #meter(chunk: Uint8Array): void {
    // A stream with an encoding gives strings, whose length is not their size in bytes.
    if (!(chunk instanceof Uint8Array)) throw new TypeError('A blob body must give Uint8Array chunks')
    this.#size += chunk.length
    const { maxBytes } = this.#options
    if (this.#size > maxBytes)
      throw new RegistryError('PAYLOAD_TOO_LARGE', `The file has more than the ${maxBytes} bytes allowed`)
    this.#hash.update(chunk)
  }
}

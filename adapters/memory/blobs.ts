import {
  assertBlobKey,
  assertBlobRange,
  blobExists,
  concatBytes,
  HashingBody,
  RegistryError,
  type BlobBody,
  type BlobDigest,
  type BlobRange,
  type BlobStore,
  type PutOptions,
} from '../kit/index.ts'

const BLOCK_BYTES = 65_536

/**
 * A BlobStore in memory, for tests and trials. Its blobs are lost when the process ends.
 *
 * @example
 * ```ts
 * import { MemoryBlobs } from 'evidence-registry/adapters/memory'
 *
 * const blobs = new MemoryBlobs()
 * ```
 */
export class MemoryBlobs implements BlobStore {
  readonly marker = null
  readonly #blobs = new Map<string, Uint8Array>()
  #closed = false

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    this.#assertOpen()
    assertBlobKey(key)
    const hashing = new HashingBody(body, options)
    try {
      return await this.#store(key, hashing)
    } finally {
      hashing.release()
    }
  }

  async get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined> {
    this.#assertOpen()
    assertBlobKey(key)
    signal?.throwIfAborted()
    const bytes = this.#blobs.get(key)
    if (bytes === undefined) return undefined
    if (range !== undefined) assertBlobRange(range, bytes.length)
    return { size: bytes.length, body: blocksOf(bytes, range ?? { start: 0, end: bytes.length }, signal) }
  }

  async delete(key: string): Promise<void> {
    this.#assertOpen()
    assertBlobKey(key)
    this.#blobs.delete(key)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async #store(key: string, hashing: HashingBody): Promise<BlobDigest> {
    if (this.#blobs.has(key)) throw blobExists(key)
    const chunks: Uint8Array[] = []
    // Copied, because the producer may reuse its buffer. (`slice` of a Buffer does not copy.)
    for await (const chunk of hashing) chunks.push(new Uint8Array(chunk))
    // Checked again, because another put may have finished while this one was reading.
    if (this.#blobs.has(key)) throw blobExists(key)
    this.#blobs.set(key, concatBytes(...chunks))
    return hashing.digest()
  }

  #assertOpen(): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The blob store is closed')
  }
}

async function* blocksOf(
  bytes: Uint8Array,
  { start, end }: BlobRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = start; at < end; at += BLOCK_BYTES) {
    signal?.throwIfAborted()
    yield bytes.slice(at, Math.min(at + BLOCK_BYTES, end))
  }
}

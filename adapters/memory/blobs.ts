import { assertBlobKey, assertBlobRange, blobExists, HashingBody } from '../../core/store/blob-calls.ts'
import { concatBytes } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { BlobBody, BlobDigest, BlobRange, BlobStore, PutOptions } from '../../core/ports.ts'

const BLOCK_BYTES = 65_536

/** Blobs in memory: for tests and trials. Nothing survives the process. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Uint8Array>()
  #closed = false

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest> {
    this.#assertOpen()
    assertBlobKey(key)
    const metered = new HashingBody(body, options)
    try {
      return await this.#keep(key, metered)
    } finally {
      metered.release()
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

  async #keep(key: string, metered: HashingBody): Promise<BlobDigest> {
    if (this.#blobs.has(key)) throw blobExists(key)
    const chunks: Uint8Array[] = []
    // Copied, because the giver may use its buffer again (and `slice` of a Buffer copies nothing).
    for await (const chunk of metered) chunks.push(new Uint8Array(chunk))
    // Again, because another put may have won while this one was reading.
    if (this.#blobs.has(key)) throw blobExists(key)
    this.#blobs.set(key, concatBytes(...chunks))
    return metered.digest()
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

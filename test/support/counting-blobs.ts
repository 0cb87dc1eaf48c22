import type { BlobStore } from '../../core/index.ts'

/** A blob store that knows the keys of the blobs in it. */
export class CountingBlobs implements BlobStore {
  readonly kept = new Set<string>()
  readonly marker: BlobStore['marker']
  readonly #inner: BlobStore

  constructor(inner: BlobStore) {
    this.#inner = inner
    this.marker = inner.marker
  }

  put: BlobStore['put'] = async (key, body, options) => {
    const digest = await this.#inner.put(key, body, options)
    this.kept.add(key)
    return digest
  }
  get: BlobStore['get'] = (key, range, signal) => this.#inner.get(key, range, signal)
  delete: BlobStore['delete'] = async (key) => {
    await this.#inner.delete(key)
    this.kept.delete(key)
  }
  close: BlobStore['close'] = () => this.#inner.close()
}

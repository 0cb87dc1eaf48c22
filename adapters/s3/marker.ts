import type { BlobStore } from '../kit/index.ts'

/** A blob store with one small text beside the blobs, which names the registry that they belong to. */
export interface MarkedBlobStore extends BlobStore {
  /** Returns `undefined` if it was never written. Throws `UNAVAILABLE`. */
  readMarker(): Promise<string | undefined>
  /**
   * Writes it if there is none, durably. Read it afterwards: another program may have been first. A service that
   * ignores `If-None-Match` replaces it. Throws `UNAVAILABLE`.
   */
  writeMarker(text: string): Promise<void>
}

/** Whether a blob store can hold a marker. */
export const isMarkedStore = (blobs: BlobStore): blobs is MarkedBlobStore =>
  'readMarker' in blobs && 'writeMarker' in blobs

export interface PutOptions {
  /** A body with more bytes throws `PAYLOAD_TOO_LARGE`, and nothing is kept of it. */
  readonly maxBytes: number
  /** Aborts the upload: `put` rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** What `put` stored. */
export interface BlobDigest {
  /** Bytes. */
  readonly size: number
  /** SHA-256 of exactly these bytes, 32 bytes. */
  readonly sha256: Uint8Array
}

export interface BlobBody {
  /** Size of the whole blob in bytes, also if a range was requested. */
  readonly size: number
  /**
   * The bytes. Iterate them once. A body that is not read to its end must be released: by the iterator's `return` (as
   * leaving a `for await` loop does), or by the signal.
   */
  readonly body: AsyncIterable<Uint8Array>
}

/** Part of a blob. Requires 0 <= start < end <= size, otherwise `get` throws `RANGE_NOT_SATISFIABLE`. */
export interface BlobRange {
  /** First byte, inclusive. */
  readonly start: number
  /** End, exclusive. */
  readonly end: number
}

/**
 * Write-once bytes by key, streamed in both directions. A key has 1 to 128 of `A-Z a-z 0-9 _ -` and is never used
 * again.
 *
 * @throws a `TypeError` for any other key, `UNAVAILABLE` for a failure, `CORRUPT` if stored bytes are incomplete,
 * `CLOSED` after `close`. Errors of a given body and the reason of an abort are thrown unchanged.
 */
export interface BlobStore {
  /**
   * Stores a body. It is durable when the promise resolves. A failed or aborted call leaves nothing that is visible. If
   * the process or the machine stops during the call, the key may hold a part of the body: callers note the key
   * before, and delete it or compare the bytes afterwards.
   *
   * @returns size and SHA-256 of what was stored
   * @throws also `PAYLOAD_TOO_LARGE`, and `UNAVAILABLE` if the key exists already (which changes nothing)
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<BlobDigest>
  /**
   * Opens a blob, or one range of it. The body is open when the promise resolves, so a later `delete` does not cut it.
   *
   * @returns `undefined` if the blob does not exist
   * @throws also `RANGE_NOT_SATISFIABLE`
   */
  get(key: string, range?: BlobRange, signal?: AbortSignal): Promise<BlobBody | undefined>
  /** Deletes a blob. Durable when the promise resolves. Deleting a blob that does not exist is not an error. */
  delete(key: string): Promise<void>
  /** Waits for running calls, then releases the store. */
  close(): Promise<void>
  /** Where the store keeps the name of the registry that its blobs belong to; `null` if it cannot. */
  readonly marker: BlobStoreMarker | null
}

/** One small text beside the blobs, which names the registry that they belong to. */
export interface BlobStoreMarker {
  /** Returns `undefined` if it was never written. Throws `UNAVAILABLE`. */
  read(): Promise<string | undefined>
  /**
   * Writes it if there is none, durably. Read it afterwards: another program may have been first. A service that
   * ignores `If-None-Match` replaces it. Throws `UNAVAILABLE`.
   */
  write(text: string): Promise<void>
}

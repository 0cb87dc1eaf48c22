/** A file to upload: a `Blob` or `File`, or a content with its name. */
export type Upload = Blob | NamedUpload

/** A file to upload with its name. */
export interface NamedUpload {
  /**
   * The bytes, or a text. A stream can be sent only once, so a failed request is not repeated; a function that opens
   * the stream again makes it repeatable. Browsers read a stream into memory first, but not a `Blob`.
   */
  readonly content: Blob | Uint8Array | string | ByteStream | (() => ByteStream)
  /** The file name. Default: the name of a `File`, else `file`. */
  readonly name?: string
  /** The media type. Default: the type of a `Blob`, else `application/octet-stream`. */
  readonly type?: string
  /** The title in file listings. Default: the name without its extension. Only for lists of files. */
  readonly title?: string
}

/** For example a stream of `fs.createReadStream`. */
export type ByteStream = AsyncIterable<Uint8Array>

/** Options of a client. */
export interface ClientOptions {
  /** The address of the service with its base path, such as `https://evidence.example/api/v1`. */
  readonly baseUrl: string
  /** The key of a source system, or the operator key. Sent as a header and only to endpoints that need a key. */
  readonly apiKey?: string
  /** The company of all requests that do not name one. */
  readonly companyId?: string
  readonly retry?: Partial<RetryOptions>
  /** Replaces the global `fetch`. Browsers send an upload whose progress is observed with `XMLHttpRequest` instead. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** How requests are repeated that failed for a reason that may pass. */
export interface RetryOptions {
  /** How often a request is repeated. 0: never. Default 3. */
  readonly retries: number
  /** The longest random pause before the first repetition, ms. It doubles with each repetition. Default 250. */
  readonly firstPauseMs: number
  /** The longest random pause, ms. Default 8,000. */
  readonly maxPauseMs: number
  /**
   * The longest `Retry-After` that is waited for, ms. If the service names a longer time, the call fails. Default
   * 60,000.
   */
  readonly maxRetryAfterMs: number
}

/** Options of one call. */
export interface RequestOptions {
  /** Ends the call, also while it waits for a repetition. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Default: a random key for each call. Use your own to repeat a call after a restart of your program. */
  readonly idempotencyKey?: string
  /**
   * For updates of evidences and categories, and for `deleteFile`: the version that you know (of an evidence,
   * `lastVersion`), or the `ETag` of what you have read. Every other write rejects it.
   */
  readonly ifMatch?: number | string
  /** More headers, such as `Range`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Called while files are sent. */
  readonly onProgress?: (progress: UploadProgress) => void
}

/** How much of a request body was sent. Starts again from 0 if the request is repeated. */
export interface UploadProgress {
  readonly sentBytes: number
  /** Missing if the size of a stream is not known. */
  readonly totalBytes?: number
}

import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { BlobRange } from '../kit/index.ts'
import { isMissingKey } from './errors.ts'
import { DEFAULTS, folderOf, type S3Settings } from './settings.ts'

export interface ObjectInfo {
  /** The id of the put that wrote it; `undefined` if another program wrote it. */
  readonly put: string | undefined
  readonly lastModified: Date | undefined
  /**
   * Size of the whole object, also for a range; `undefined` if the service did not return it, or returned another
   * range.
   */
  readonly size: number | undefined
}

export interface OpenedObject extends ObjectInfo {
  readonly body: Readable
}

export interface StartedUpload {
  readonly key: string
  readonly uploadId: string
}

/**
 * The S3 operations in use, for keys below one prefix of one bucket. Throws the errors of the SDK (see `errors.ts`).
 * (Not named `Bucket`: inside a class of that name tsc 7.0.2 emits the property `Bucket` as `_a`.)
 */
export class BlobBucket {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string
  readonly #encryption: { ServerSideEncryption?: 'AES256' | 'aws:kms'; SSEKMSKeyId?: string }

  constructor(settings: S3Settings) {
    const { encryption } = settings
    this.#client = clientOf(settings)
    this.#bucket = settings.bucket
    this.#prefix = folderOf(settings.prefix ?? DEFAULTS.prefix)
    this.#encryption = {
      ...(encryption && { ServerSideEncryption: encryption.algorithm }),
      ...(encryption !== undefined &&
        'keyId' in encryption &&
        encryption.keyId !== undefined && { SSEKMSKeyId: encryption.keyId }),
    }
  }

  /** Closes all connections, including those of bodies that are being read. */
  destroy(): void {
    this.#client.destroy()
  }

  /**
   * Writes an object with one request. Fails with status 412 if the key exists. Returns the id of the version if the
   * bucket keeps versions.
   *
   * @param id kept in the metadata, see `ObjectInfo.put`
   */
  async put(key: string, bytes: Uint8Array, id: string): Promise<string | undefined> {
    const { VersionId } = await this.#client.send(
      new PutObjectCommand({ ...this.#create(key, id), Body: bytes, ContentLength: bytes.length, IfNoneMatch: '*' }),
    )
    return VersionId
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    try {
      const response = await this.#client.send(new HeadObjectCommand(this.#locate(key)))
      return infoOf(response, response.ContentLength)
    } catch (error) {
      if (isMissingKey(error)) return undefined
      throw error
    }
  }

  /** Opens an object. Destroy the body if you do not read it to its end. */
  async open(key: string, range?: BlobRange, signal?: AbortSignal): Promise<OpenedObject | undefined> {
    try {
      const response = await this.#client.send(
        new GetObjectCommand({
          ...this.#locate(key),
          ...(range && { Range: `bytes=${range.start}-${range.end - 1}` }),
        }),
        signal && { abortSignal: signal },
      )
      const body = nodeStream(response.Body)
      // Without a listener, a connection that breaks before the body is read would end the process.
      body.on('error', () => undefined)
      const size = range === undefined ? response.ContentLength : sizeIn(response.ContentRange, range)
      return { ...infoOf(response, size), body }
    } catch (error) {
      if (isMissingKey(error)) return undefined
      throw error
    }
  }

  /** Deletes an object; succeeds if it does not exist. With `versionId` it deletes that version permanently. */
  async delete(key: string, versionId?: string): Promise<void> {
    await this.#client.send(
      new DeleteObjectCommand({ ...this.#locate(key), ...(versionId && { VersionId: versionId }) }),
    )
  }

  async startUpload(key: string, id: string): Promise<StartedUpload> {
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(this.#create(key, id)))
    if (UploadId === undefined) throw new Error('The object store started an upload but returned no id')
    return { key, uploadId: UploadId }
  }

  /** Uploads a part; the first has number 1. Returns its ETag. */
  async uploadPart(
    upload: StartedUpload,
    part: number,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { ETag } = await this.#client.send(
      new UploadPartCommand({
        ...this.#locateUpload(upload),
        PartNumber: part,
        Body: bytes,
        ContentLength: bytes.length,
      }),
      signal && { abortSignal: signal },
    )
    if (ETag === undefined) throw new Error('The object store accepted a part but returned no ETag')
    return ETag
  }

  async completeUpload(upload: StartedUpload, etags: readonly string[]): Promise<void> {
    const Parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }))
    await this.#client.send(
      new CompleteMultipartUploadCommand({ ...this.#locateUpload(upload), MultipartUpload: { Parts } }),
    )
  }

  async abortUpload(upload: StartedUpload): Promise<void> {
    await this.#client.send(new AbortMultipartUploadCommand(this.#locateUpload(upload)))
  }

  /**
   * Lists unfinished uploads that were started before `before`. Only directly below the prefix: deeper keys belong to
   * others.
   */
  async *unfinishedUploads(before: Date): AsyncGenerator<StartedUpload> {
    let marker: { KeyMarker?: string; UploadIdMarker?: string } = {}
    for (;;) {
      const page = await this.#client.send(
        new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: this.#prefix, Delimiter: '/', ...marker }),
      )
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Key === undefined || UploadId === undefined || Initiated === undefined) continue
        if (Initiated < before) yield { key: Key.slice(this.#prefix.length), uploadId: UploadId }
      }
      if (page.IsTruncated !== true || page.NextKeyMarker === undefined) return
      marker = {
        KeyMarker: page.NextKeyMarker,
        ...(page.NextUploadIdMarker !== undefined && { UploadIdMarker: page.NextUploadIdMarker }),
      }
    }
  }

  #locate(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` }
  }

  /** What a request names that begins an object. */
  #create(key: string, id: string) {
    const type = { ContentType: 'application/octet-stream', Metadata: { [PUT]: id } }
    return { ...this.#locate(key), ...this.#encryption, ...type }
  }

  #locateUpload({ key, uploadId }: StartedUpload): { Bucket: string; Key: string; UploadId: string } {
    return { ...this.#locate(key), UploadId: uploadId }
  }
}

function clientOf(settings: S3Settings): S3Client {
  const { region, endpoint, credentials, pathStyle = endpoint !== undefined, idleMs = DEFAULTS.idleMs } = settings
  // Each open body holds a connection until it is read. With a limit, slow readers would block all other requests.
  const agent = { maxSockets: Infinity }
  return new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials && { credentials }),
    forcePathStyle: pathStyle,
    // Not every service accepts the checksums of the SDK. Files are verified by SHA-256.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: settings.attempts ?? DEFAULTS.attempts,
    // Expect: 100-continue costs a round trip and, in this SDK, a new connection for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: Math.min(5_000, idleMs),
      socketTimeout: idleMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

/** The name of the metadata with the id of the put. */
const PUT = 'evidence-put'

/** In Node the SDK always returns a stream of Node. */
function nodeStream(body: unknown): Readable {
  if (body instanceof Readable) return body
  throw new TypeError('The AWS SDK returned a body that is not a stream of Node')
}

const infoOf = (
  response: { Metadata?: Record<string, string> | undefined; LastModified?: Date | undefined },
  size: number | undefined,
): ObjectInfo => ({ put: response.Metadata?.[PUT], lastModified: response.LastModified, size })

/**
 * Returns the size of the whole object from `bytes FIRST-LAST/SIZE` (RFC 9110 § 14.4), if FIRST-LAST is the requested
 * range, cut at the end of the object.
 */
function sizeIn(contentRange: string | undefined, { start, end }: BlobRange): number | undefined {
  const [, first, last, size] = contentRange?.match(/^bytes (\d+)-(\d+)\/(\d+)$/) ?? []
  return Number(first) === start && Number(last) === Math.min(end, Number(size)) - 1 ? Number(size) : undefined
}

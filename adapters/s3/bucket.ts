import type { Readable } from 'node:stream'
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
import type { BlobRange } from '../../core/ports.ts'
import { isMissingKey } from './errors.ts'
import { DEFAULTS, folderOf, type S3Settings } from './settings.ts'

/** What is written with an object, and tells whose it is: `put` on a blob, `claim` on the empty object that holds its key. */
export type Mark = { readonly put: string } | { readonly claim: string }

export interface ObjectInfo {
  /** Which put wrote it; `undefined` where none of ours did. */
  readonly put: string | undefined
  readonly claim: string | undefined
  readonly etag: string | undefined
  readonly lastModified: Date | undefined
}

export interface OpenedObject extends ObjectInfo {
  /** Of the whole, also where a range was asked for; `undefined` where the service did not say, or answered another range. */
  readonly size: number | undefined
  readonly body: Readable
}

export interface StartedUpload {
  readonly key: string
  readonly uploadId: string
}

/**
 * The S3 operations in use, on keys below one prefix of one bucket. Throws what the SDK throws (see `fault.ts`).
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

  /** Ends every connection, also of bodies that are being read. */
  destroy(): void {
    this.#client.destroy()
  }

  /** One request. `mustBeNew`: refused (412) where the key is taken. Answers the version's id where the bucket keeps versions. */
  async put(key: string, bytes: Uint8Array, mark: Mark, mustBeNew: boolean): Promise<string | undefined> {
    const { VersionId } = await this.#client.send(
      new PutObjectCommand({
        ...this.#at(key),
        ...this.#encryption,
        Body: bytes,
        ContentLength: bytes.length,
        ContentType: 'application/octet-stream',
        Metadata: metadataOf(mark),
        ...(mustBeNew && { IfNoneMatch: '*' }),
      }),
    )
    return VersionId
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    try {
      return infoOf(await this.#client.send(new HeadObjectCommand(this.#at(key))))
    } catch (error) {
      if (isMissingKey(error)) return undefined
      throw error
    }
  }

  /** A body that is not read to its end must be destroyed. */
  async open(key: string, range: BlobRange | undefined, signal?: AbortSignal): Promise<OpenedObject | undefined> {
    try {
      const answer = await this.#client.send(
        new GetObjectCommand({ ...this.#at(key), ...(range && { Range: `bytes=${range.start}-${range.end - 1}` }) }),
        signal && { abortSignal: signal },
      )
      const body = answer.Body as Readable
      // Without a listener, a connection that breaks before anybody reads would end the process.
      body.on('error', () => undefined)
      const size = range === undefined ? answer.ContentLength : sizeIn(answer.ContentRange, range)
      return { ...infoOf(answer), size, body }
    } catch (error) {
      if (isMissingKey(error)) return undefined
      throw error
    }
  }

  /** No fault where there is none. `versionId`: that version, for good. */
  async delete(key: string, versionId?: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand({ ...this.#at(key), ...(versionId && { VersionId: versionId }) }))
  }

  async startUpload(key: string, mark: Mark): Promise<StartedUpload> {
    const { UploadId } = await this.#client.send(
      new CreateMultipartUploadCommand({
        ...this.#at(key),
        ...this.#encryption,
        ContentType: 'application/octet-stream',
        Metadata: metadataOf(mark),
      }),
    )
    if (UploadId === undefined) throw new Error('The object store began an upload without an id')
    return { key, uploadId: UploadId }
  }

  /** Parts count from 1. Answers the part's ETag. */
  async uploadPart(
    upload: StartedUpload,
    part: number,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { ETag } = await this.#client.send(
      new UploadPartCommand({ ...this.#of(upload), PartNumber: part, Body: bytes, ContentLength: bytes.length }),
      signal && { abortSignal: signal },
    )
    if (ETag === undefined) throw new Error('The object store took a part without an ETag')
    return ETag
  }

  async completeUpload(upload: StartedUpload, etags: readonly string[]): Promise<void> {
    const Parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }))
    await this.#client.send(new CompleteMultipartUploadCommand({ ...this.#of(upload), MultipartUpload: { Parts } }))
  }

  async abortUpload(upload: StartedUpload): Promise<void> {
    await this.#client.send(new AbortMultipartUploadCommand(this.#of(upload)))
  }

  /** Uploads that were begun before `before` and are not finished, directly below the prefix: what is deeper is not ours. */
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

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` }
  }

  #of({ key, uploadId }: StartedUpload): { Bucket: string; Key: string; UploadId: string } {
    return { ...this.#at(key), UploadId: uploadId }
  }
}

function clientOf(settings: S3Settings): S3Client {
  const { region, endpoint, credentials, pathStyle = endpoint !== undefined, idleMs = DEFAULTS.idleMs } = settings
  const checksums = settings.checksums ?? DEFAULTS.checksums
  // Each open body holds a connection as long as its reader likes: behind a limit, slow readers would stop everybody.
  const agent = { maxSockets: Infinity }
  return new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials && { credentials }),
    forcePathStyle: pathStyle,
    requestChecksumCalculation: checksums,
    responseChecksumValidation: checksums,
    maxAttempts: settings.attempts ?? DEFAULTS.attempts,
    // Asking first costs a round trip and, in this SDK, a new connection for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: Math.min(5_000, idleMs),
      socketTimeout: idleMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

const PUT = 'evidence-put'
const CLAIM = 'evidence-claim'

const metadataOf = (mark: Mark): Record<string, string> =>
  'put' in mark ? { [PUT]: mark.put } : { [CLAIM]: mark.claim }

const infoOf = (answer: {
  Metadata?: Record<string, string> | undefined
  ETag?: string | undefined
  LastModified?: Date | undefined
}): ObjectInfo => ({
  put: answer.Metadata?.[PUT],
  claim: answer.Metadata?.[CLAIM],
  etag: answer.ETag,
  lastModified: answer.LastModified,
})

/** The whole's size in `bytes FIRST-LAST/SIZE` (RFC 9110 § 14.4), where that is the range asked for as far as the object has it. */
function sizeIn(contentRange: string | undefined, { start, end }: BlobRange): number | undefined {
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange ?? '') ?? []
  return Number(first) === start && Number(last) === Math.min(end, Number(size)) - 1 ? Number(size) : undefined
}

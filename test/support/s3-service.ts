import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import {
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  S3Client,
  type ObjectVersion,
} from '@aws-sdk/client-s3'
import { openS3Blobs, type S3Settings } from '../../adapters/s3/index.ts'
import type { BlobStore } from '../../core/ports/index.ts'
import { Ceph, cephIsMissing, CREDENTIALS } from './ceph.ts'
import { FaultyS3Proxy } from './s3-proxy.ts'

export const BUCKET = 'evidence'

/** What the client of AWS reads. The process of the tests has it, too, for the commands that run there. */
export const CLIENT_ENV = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
}

/**
 * A real S3 with one bucket, a proxy that injects faults, and a client that inspects the bucket without the adapter.
 */
export class Service {
  readonly ceph: Ceph
  readonly proxy: FaultyS3Proxy
  readonly client: S3Client

  private constructor(ceph: Ceph, proxy: FaultyS3Proxy) {
    this.ceph = ceph
    this.proxy = proxy
    this.client = new S3Client({
      endpoint: ceph.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: CREDENTIALS,
    })
  }

  static async start(): Promise<Service> {
    const ceph = await Ceph.shared(BUCKET)
    return new Service(ceph, await FaultyS3Proxy.start(ceph.port))
  }

  async stop(): Promise<void> {
    this.client.destroy()
    await this.proxy.stop()
  }

  /** Settings that do not use the proxy. Each call returns another prefix. */
  settings(changes: Partial<S3Settings> = {}): S3Settings {
    return {
      endpoint: this.ceph.endpoint,
      region: 'us-east-1',
      bucket: BUCKET,
      prefix: `${randomUUID()}/`,
      credentials: CREDENTIALS,
      partBytes: 5 * 1024 * 1024,
      ...changes,
    }
  }

  /** Opens a store whose requests go through the proxy. No fault is planned when it returns. */
  async openBehindProxy(changes: Partial<S3Settings> = {}): Promise<{ store: BlobStore; prefix: string }> {
    const settings = this.settings({ endpoint: this.proxy.endpoint, ...changes })
    this.proxy.reset()
    const store = await openS3Blobs(settings)
    this.proxy.reset()
    return { store, prefix: settings.prefix ?? '' }
  }

  /** Returns the keys of the objects below a prefix, without the prefix. */
  async objects(prefix: string): Promise<readonly string[]> {
    const { Contents = [] } = await this.client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: prefix }))
    return Contents.map(({ Key = '' }) => Key.slice(prefix.length))
  }

  /** Returns the keys and bytes of all versions of the objects below a prefix. Requires that there are few. */
  async contents(prefix: string): Promise<readonly Uint8Array[]> {
    const at = { Bucket: BUCKET, Prefix: prefix }
    const { Versions = [], IsTruncated = false } = await this.client.send(new ListObjectVersionsCommand(at))
    assert.ok(!IsTruncated, 'all versions are listed')
    const bytesOf = async ({ Key = '', VersionId }: ObjectVersion): Promise<Uint8Array> => {
      const { Body } = await this.client.send(new GetObjectCommand({ Bucket: BUCKET, Key, VersionId }))
      return Buffer.concat([Buffer.from(Key), (await Body?.transformToByteArray()) ?? Buffer.alloc(0)])
    }
    return Promise.all(Versions.map(bytesOf))
  }

  /** Returns the keys of unfinished uploads below a prefix, without the prefix. */
  async uploads(prefix: string): Promise<readonly string[]> {
    const { Uploads = [] } = await this.client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: prefix }))
    return Uploads.map(({ Key = '' }) => Key.slice(prefix.length))
  }
}

/**
 * Defines tests that need a real S3. Without Ceph they are skipped with a line that says what to install. If `CI` is
 * set they fail instead, because there a test must not pass without running.
 */
export function withService(name: string, tests: (service: () => Service) => void): void {
  const missing = cephIsMissing()
  const skip = missing !== undefined && !process.env['CI'] ? missing : false
  describe(name, { skip }, () => {
    let service: Service | undefined
    before(async () => {
      if (missing !== undefined) throw new Error(missing)
      Object.assign(process.env, CLIENT_ENV)
      service = await Service.start()
    })
    after(() => service?.stop())
    tests(() => {
      if (service === undefined) throw new Error('The service has not started yet')
      return service
    })
  })
}

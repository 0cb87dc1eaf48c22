import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { openS3Blobs, type S3Settings } from '../../adapters/s3/index.ts'
import type { BlobStore } from '../../core/ports.ts'
import { Ceph, cephIsMissing, CREDENTIALS } from './ceph.ts'
import { ChaosProxy } from './s3-proxy.ts'

export const BUCKET = 'evidence'

/** A real S3 with one bucket, a proxy before it that can be told to fail, and a client that looks behind the adapter's back. */
export class Service {
  readonly ceph: Ceph
  readonly proxy: ChaosProxy
  readonly client: S3Client

  private constructor(ceph: Ceph, proxy: ChaosProxy) {
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
    const ceph = await Ceph.start()
    const service = new Service(ceph, await ChaosProxy.start(ceph.port))
    await ceph.makeBucket(BUCKET)
    return service
  }

  async stop(): Promise<void> {
    this.client.destroy()
    await this.proxy.stop()
    await this.ceph.stop()
  }

  /** Without the proxy; each test has a prefix of its own. */
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

  /** A store whose requests go through the proxy, which is calm when it is open. */
  async openBehindProxy(changes: Partial<S3Settings> = {}): Promise<{ store: BlobStore; prefix: string }> {
    const settings = this.settings({ endpoint: this.proxy.endpoint, ...changes })
    this.proxy.calm()
    const store = await openS3Blobs(settings)
    this.proxy.calm()
    return { store, prefix: settings.prefix ?? '' }
  }

  /** Keys of the objects below a prefix, without it. */
  async objects(prefix: string): Promise<readonly string[]> {
    const { Contents = [] } = await this.client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: prefix }))
    return Contents.map(({ Key = '' }) => Key.slice(prefix.length))
  }

  /** Keys of the uploads below a prefix that are not finished, without it. */
  async uploads(prefix: string): Promise<readonly string[]> {
    const { Uploads = [] } = await this.client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: prefix }))
    return Uploads.map(({ Key = '' }) => Key.slice(prefix.length))
  }
}

/**
 * Tests that need a real S3. Without Ceph they are one skipped line that says what to install; where CI is set they fail,
 * because there nothing may pass that did not run.
 */
export function withService(name: string, tests: (service: () => Service) => void): void {
  const missing = cephIsMissing()
  const skip = missing !== undefined && !process.env['CI'] ? missing : false
  describe(name, { skip }, () => {
    let service: Service | undefined
    before(async () => {
      if (missing !== undefined) throw new Error(missing)
      service = await Service.start()
    })
    after(() => service?.stop())
    tests(() => service as Service)
  })
}

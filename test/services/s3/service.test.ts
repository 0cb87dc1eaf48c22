import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { openS3Blobs, type S3Settings } from '../../../adapters/s3/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/index.ts'
import { CREDENTIALS, KMS_KEY } from '../../support/ceph.ts'
import { REQUESTS } from '../../support/s3-proxy.ts'
import { BUCKET, withService } from '../../support/s3-service.ts'

const MIB = 1024 * 1024
const AMPLE = { maxBytes: 200 * MIB }
const BYTES = randomBytes(100_000)
const LARGE = randomBytes(5 * MIB + 1)
const body = (bytes: Uint8Array = BYTES): AsyncIterable<Uint8Array> => inChunks(bytes, 64 * 1024)

withService('S3 blobs on Ceph, with different settings', (service) => {
  const openError = async (changes: Partial<S3Settings>): Promise<string> => {
    try {
      await (await openS3Blobs(service().settings(changes))).close()
    } catch (error) {
      assert.ok(isRegistryError(error, 'CONFIG_ERROR'), String(error))
      return error.message
    }
    return assert.fail('the store was opened')
  }

  test('opening reports a wrong secret or key and a missing bucket, without the secret', async () => {
    const wrong = { ...CREDENTIALS, secretAccessKey: 'a-wrong-secret' }
    const message = await openError({ credentials: wrong })
    assert.match(message, /SignatureDoesNotMatch \(403.*credentials/)
    assert.ok(!message.includes('a-wrong-secret'))
    assert.match(await openError({ credentials: { ...CREDENTIALS, accessKeyId: 'unknown-key' } }), /InvalidAccessKeyId/)
    assert.match(await openError({ bucket: 'missing-bucket' }), /missing-bucket cannot be used: NoSuchBucket \(404/)
  })

  test('a read without permission throws UNAVAILABLE instead of reporting the blob as missing', async () => {
    const { store } = await service().openBehindProxy()
    service().proxy.inject(REQUESTS.get, { status: 403 })
    await rejectsWith('UNAVAILABLE', store.get('k'))
    await store.close()
  })

  test('a bucket with versioning is rejected and left empty, because deleted bytes would stay readable', async () => {
    const { client } = service()
    await client.send(new CreateBucketCommand({ Bucket: 'versioned' }))
    await client.send(
      new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration: { Status: 'Enabled' } }),
    )
    assert.match(await openError({ bucket: 'versioned' }), /versioned keeps versions/)
    await client.send(
      new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration: { Status: 'Suspended' } }),
    )
    await (await openS3Blobs(service().settings({ bucket: 'versioned' }))).close()
  })

  test('opening leaves no object, and aborts only uploads below its prefix that are older than a day', async () => {
    const { client, proxy } = service()
    const settings = service().settings({ endpoint: proxy.endpoint })
    const prefix = settings.prefix ?? ''
    const startUpload = (Key: string) => client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }))
    for (const key of [`${prefix}a`, `${prefix}b`, `${prefix}below/c`, `x${prefix}d`]) await startUpload(key)
    proxy.reset()
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(prefix), ['a', 'b', 'below/c'])
    // The clock of the service decides, which here says that a day has passed.
    const dayLater = new Date(Date.now() + 25 * 3_600_000).toUTCString()
    proxy.inject(REQUESTS.get, { headers: { 'last-modified': dayLater } })
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(prefix), ['below/c'])
    assert.deepEqual(await service().uploads(`x${prefix}`), ['d'])
    assert.deepEqual(await service().objects(prefix), [])
  })

  test('more unfinished uploads than fit in one listing are all aborted', async () => {
    const { client, proxy } = service()
    const settings = service().settings({ endpoint: proxy.endpoint })
    const Key = `${settings.prefix}k`
    for (let n = 0; n < 1_010; n += 101)
      await Promise.all(
        Array.from({ length: 101 }, () => client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }))),
      )
    proxy.reset()
    proxy.inject(REQUESTS.get, { headers: { 'last-modified': new Date(Date.now() + 25 * 3_600_000).toUTCString() } })
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(settings.prefix ?? ''), [])
  })

  test('the name of an object is the prefix and the key, whether the prefix ends with a slash or not', async () => {
    const settings = service().settings()
    const prefix = settings.prefix ?? ''
    for (const [n, variant] of [prefix, prefix.slice(0, -1)].entries()) {
      const store = await openS3Blobs({ ...settings, prefix: variant })
      await store.put(`k${n}`, body(), AMPLE)
      await store.close()
    }
    assert.deepEqual(await service().objects(prefix), ['k0', 'k1'])
    const root = await openS3Blobs({ ...settings, prefix: '' })
    await root.put('at-the-root', body(), AMPLE)
    await root.close()
    assert.deepEqual(await service().objects('at-the-root'), [''])
  })

  test('small and large blobs are encrypted as configured', async () => {
    const encryption = { algorithm: 'aws:kms', keyId: KMS_KEY } as const
    const settings = service().settings({ encryption })
    const store = await openS3Blobs(settings)
    for (const [key, bytes] of [
      ['small', BYTES],
      ['large', LARGE],
    ] as const) {
      await store.put(key, body(bytes), AMPLE)
      const head = await service().client.send(
        new HeadObjectCommand({ Bucket: BUCKET, Key: `${settings.prefix}${key}` }),
      )
      assert.equal(head.ServerSideEncryption, 'aws:kms')
      assert.equal(head.SSEKMSKeyId, KMS_KEY)
      assertSame(await collect((await mustGet(store, key)).body), bytes)
      const part = await store.get(key, { start: 70_000, end: 90_000 })
      assertSame(await collect(part?.body ?? body()), bytes.subarray(70_000, 90_000))
    }
    await store.close()
  })

  test('a service that returns the whole object instead of a range is UNAVAILABLE', async () => {
    const { store } = await service().openBehindProxy()
    await store.put('k', body(), AMPLE)
    service().proxy.inject(REQUESTS.get, { headers: { 'content-range': 'bytes 0-99999/100000' } })
    await rejectsWith('UNAVAILABLE', store.get('k', { start: 5, end: 9 }))
    await store.close()
  })

  test('an object of another program counts as a blob', async () => {
    const settings = service().settings()
    await service().client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `${settings.prefix}k`, Body: 'theirs' }))
    const store = await openS3Blobs(settings)
    for (const bytes of [BYTES, LARGE]) await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), AMPLE))
    assertSame(await collect((await mustGet(store, 'k')).body), Buffer.from('theirs'))
    await store.close()
  })

  test('100 MB up and down do not hold the file in memory', async () => {
    const store = await openS3Blobs(service().settings({ partBytes: 8 * MIB }))
    const chunk = randomBytes(65_536)
    const hash = createHash('sha256')
    // Put and read once before, so that the modules of the SDK and the buffers of the first parts are not counted.
    await store.put('before', body(randomBytes(20 * MIB)), AMPLE)
    for await (const _ of (await mustGet(store, 'before')).body);
    const before = process.memoryUsage.rss()
    let peak = before
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 1_600; n += 1) {
        hash.update(chunk)
        yield chunk
        peak = Math.max(peak, process.memoryUsage.rss())
      }
    }
    const put = await store.put('large', large(), AMPLE)
    assert.equal(put.size, 1_600 * 65_536)
    const read = createHash('sha256')
    for await (const block of (await mustGet(store, 'large')).body) {
      read.update(block)
      peak = Math.max(peak, process.memoryUsage.rss())
    }
    const expected = hash.digest('hex')
    assert.equal(Buffer.from(put.sha256).toString('hex'), expected)
    assert.equal(read.digest('hex'), expected)
    assert.ok(peak - before < 50 * MIB, `100 MiB used ${(peak - before) / MIB} MiB of memory`)
    await store.close()
  })

  test('bodies that were opened can be read to their end after close', async () => {
    const store = await openS3Blobs(service().settings())
    await store.put('k', body(LARGE), AMPLE)
    const [blob, abandoned] = [await mustGet(store, 'k'), await mustGet(store, 'k')]
    await store.close()
    assertSame(await collect(blob.body), LARGE)
    await abandoned.body[Symbol.asyncIterator]().return?.()
  })
})

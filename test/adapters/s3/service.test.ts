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
import { assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/blob-bodies.ts'
import { CREDENTIALS, KMS_KEY } from '../../support/ceph.ts'
import { REQUESTS } from '../../support/s3-proxy.ts'
import { BUCKET, withService } from '../../support/s3-service.ts'

const MIB = 1024 * 1024
const ROOMY = { maxBytes: 200 * MIB }
const BYTES = randomBytes(100_000)
const LARGE = randomBytes(5 * MIB + 1)
const body = (bytes: Uint8Array = BYTES): AsyncIterable<Uint8Array> => inChunks(bytes, 64 * 1024)

withService('S3 blobs on Ceph, as they are set up', (service) => {
  const refusal = async (changes: Partial<S3Settings>): Promise<string> => {
    try {
      await (await openS3Blobs(service().settings(changes))).close()
    } catch (error) {
      assert.ok(isRegistryError(error, 'CONFIG_ERROR'), String(error))
      return error.message
    }
    return assert.fail('it was opened')
  }

  test('a wrong secret or key, and a bucket that is not there, are named at the start, without the secret', async () => {
    const wrong = { ...CREDENTIALS, secretAccessKey: 'a-wrong-secret' }
    const message = await refusal({ credentials: wrong })
    assert.match(message, /SignatureDoesNotMatch \(403.*credentials/)
    assert.ok(!message.includes('a-wrong-secret'))
    assert.match(await refusal({ credentials: { ...CREDENTIALS, accessKeyId: 'nobody' } }), /InvalidAccessKeyId/)
    assert.match(await refusal({ bucket: 'not-there' }), /not-there cannot be used: NoSuchBucket \(404/)
  })

  test('access that is taken away is a fault, not a store without blobs', async () => {
    const { store } = await service().openBehindProxy()
    service().proxy.spoil(REQUESTS.get, { answer: 403 })
    await rejectsWith('UNAVAILABLE', store.get('k'))
    await store.close()
  })

  test('a bucket with versions is refused, and nothing is left in it: deleted bytes would stay', async () => {
    const { client } = service()
    await client.send(new CreateBucketCommand({ Bucket: 'versioned' }))
    await client.send(
      new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration: { Status: 'Enabled' } }),
    )
    assert.match(await refusal({ bucket: 'versioned' }), /versioned keeps versions/)
    await client.send(
      new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration: { Status: 'Suspended' } }),
    )
    await (await openS3Blobs(service().settings({ bucket: 'versioned' }))).close()
  })

  test('opening leaves nothing behind, aborts uploads older than a day, and only those directly below its prefix', async () => {
    const { client, proxy } = service()
    const settings = service().settings({ endpoint: proxy.endpoint })
    const prefix = settings.prefix ?? ''
    const begin = (Key: string) => client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }))
    for (const key of [`${prefix}a`, `${prefix}b`, `${prefix}below/c`, `x${prefix}d`]) await begin(key)
    proxy.calm()
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(prefix), ['a', 'b', 'below/c'])
    // The service's time is what counts: it says that a day has passed.
    const dayLater = new Date(Date.now() + 25 * 3_600_000).toUTCString()
    proxy.spoil(REQUESTS.head, { headers: { 'last-modified': dayLater } })
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(prefix), ['below/c'])
    assert.deepEqual(await service().uploads(`x${prefix}`), ['d'])
    assert.deepEqual(await service().objects(prefix), [])
  })

  test('more unfinished uploads than one listing shows are all swept', async () => {
    const { client, proxy } = service()
    const settings = service().settings({ endpoint: proxy.endpoint })
    const Key = `${settings.prefix}k`
    for (let n = 0; n < 1_010; n += 101)
      await Promise.all(
        Array.from({ length: 101 }, () => client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }))),
      )
    proxy.calm()
    proxy.spoil(REQUESTS.head, { headers: { 'last-modified': new Date(Date.now() + 25 * 3_600_000).toUTCString() } })
    await (await openS3Blobs(settings)).close()
    assert.deepEqual(await service().uploads(settings.prefix ?? ''), [])
  })

  test('objects are where prefix and key say, with or without a slash at the end of the prefix', async () => {
    const settings = service().settings()
    const prefix = settings.prefix ?? ''
    for (const [n, given] of [prefix, prefix.slice(0, -1)].entries()) {
      const store = await openS3Blobs({ ...settings, prefix: given })
      await store.put(`k${n}`, body(), ROOMY)
      await store.close()
    }
    assert.deepEqual(await service().objects(prefix), ['k0', 'k1'])
    const root = await openS3Blobs({ ...settings, prefix: '' })
    await root.put('at-the-root', body(), ROOMY)
    await root.close()
    assert.deepEqual(await service().objects('at-the-root'), [''])
  })

  test('small and large blobs are encrypted as is set', async () => {
    const encryption = { algorithm: 'aws:kms', keyId: KMS_KEY } as const
    const settings = service().settings({ encryption })
    const store = await openS3Blobs(settings)
    for (const [key, bytes] of [
      ['small', BYTES],
      ['large', LARGE],
    ] as const) {
      await store.put(key, body(bytes), ROOMY)
      const head = await service().client.send(
        new HeadObjectCommand({ Bucket: BUCKET, Key: `${settings.prefix}${key}` }),
      )
      assert.equal(head.ServerSideEncryption, 'aws:kms')
      assert.equal(head.SSEKMSKeyId, KMS_KEY)
      assertSame(await collect((await mustGet(store, key)).body), bytes)
      const found = await store.get(key, { start: 70_000, end: 90_000 })
      assertSame(await collect(found?.body ?? body()), bytes.subarray(70_000, 90_000))
    }
    await store.close()
  })

  test('a service that will not hear of conditions is asked for the key before each put', async () => {
    const { proxy } = service()
    proxy.calm()
    const settings = service().settings({ endpoint: proxy.endpoint })
    proxy.spoil(({ headers }) => headers['if-none-match'] !== undefined, { answer: 501 }, 1_000)
    const store = await openS3Blobs(settings)
    const asked = proxy.fired
    for (const [key, bytes] of [
      ['small', BYTES],
      ['large', LARGE],
    ] as const) {
      await store.put(key, body(bytes), ROOMY)
      for (const second of [BYTES, LARGE]) await rejectsWith('UNAVAILABLE', store.put(key, body(second), ROOMY))
      assertSame(await collect((await mustGet(store, key)).body), bytes)
    }
    assert.equal(proxy.fired, asked)
    await store.close()
    assert.deepEqual(await service().objects(settings.prefix ?? ''), ['large', 'small'])
    assert.deepEqual(await service().uploads(settings.prefix ?? ''), [])
  })

  test('a service that answers the whole where a range was asked for is a fault', async () => {
    const { store } = await service().openBehindProxy()
    await store.put('k', body(), ROOMY)
    service().proxy.spoil(REQUESTS.get, { headers: { 'content-range': 'bytes 0-99999/100000' } })
    await rejectsWith('UNAVAILABLE', store.get('k', { start: 5, end: 9 }))
    await store.close()
  })

  test('an object of somebody else under a key is a blob that is taken', async () => {
    const settings = service().settings()
    await service().client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `${settings.prefix}k`, Body: 'theirs' }))
    const store = await openS3Blobs(settings)
    for (const bytes of [BYTES, LARGE]) await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), ROOMY))
    assertSame(await collect((await mustGet(store, 'k')).body), Buffer.from('theirs'))
    await store.close()
  })

  test('100 MB up and down hold parts in memory, not the whole', async () => {
    const store = await openS3Blobs(service().settings({ partBytes: 8 * MIB }))
    const chunk = randomBytes(65_536)
    const hash = createHash('sha256')
    // Once before, so that what the SDK loads and the first parts take is not counted.
    await store.put('before', body(randomBytes(20 * MIB)), ROOMY)
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
    const put = await store.put('large', large(), ROOMY)
    assert.equal(put.size, 1_600 * 65_536)
    const read = createHash('sha256')
    for await (const block of (await mustGet(store, 'large')).body) {
      read.update(block)
      peak = Math.max(peak, process.memoryUsage.rss())
    }
    const want = hash.digest('hex')
    assert.equal(Buffer.from(put.sha256).toString('hex'), want)
    assert.equal(read.digest('hex'), want)
    assert.ok(peak - before < 50 * MIB, `100 MiB took ${(peak - before) / MIB} MiB of memory`)
    await store.close()
  })

  test('close lets bodies that were opened be read to their end', async () => {
    const store = await openS3Blobs(service().settings())
    await store.put('k', body(LARGE), ROOMY)
    const [found, abandoned] = [await mustGet(store, 'k'), await mustGet(store, 'k')]
    await store.close()
    assertSame(await collect(found.body), LARGE)
    await abandoned.body[Symbol.asyncIterator]().return?.()
  })
})

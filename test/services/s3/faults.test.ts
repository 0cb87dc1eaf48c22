// Own process: it stops the gateway, which the other files share, and waits for real time limits.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { BlobDigest, BlobStore } from '../../../core/ports/index.ts'
import { sha256, toHex } from '../../../core/bytes.ts'
import { afterChunks, assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/index.ts'
import { REQUESTS, type Fault, type RequestKind } from '../../support/s3-proxy.ts'
import { withService } from '../../support/s3-service.ts'

const MIB = 1024 * 1024
const AMPLE = { maxBytes: 64 * MIB }
const SMALL = randomBytes(100_000)
/** Two parts. */
const LARGE = randomBytes(5 * MIB + 100_000)
const body = (bytes: Uint8Array): AsyncIterable<Uint8Array> => inChunks(bytes, 64 * 1024)
/** More often than any request is repeated. */
const ALWAYS = 1_000
/** Only ends a test that hangs. */
const HANG_MS = 300_000
/** For the faults that wait for it. The other requests of such a test must not take as long. */
const SHORT_IDLE_MS = 5_000
const FAILURES: Fault[] = ['refuse', 'lose', { status: 503 }, { status: 500 }]

withService('S3 blobs on Ceph, when requests fail', (service) => {
  /**
   * Runs a test with a store behind the proxy. Afterwards the bucket must hold exactly these blobs and no unfinished
   * upload.
   */
  const withStore = async (
    run: (store: BlobStore, prefix: string) => Promise<unknown>,
    expected: Readonly<Record<string, Uint8Array>>,
  ): Promise<void> => {
    const { proxy } = service()
    const { store, prefix } = await service().openBehindProxy({ idleMs: HANG_MS, attempts: 3 })
    await run(store, prefix)
    proxy.reset()
    for (const [key, bytes] of Object.entries(expected))
      assertSame(await collect((await mustGet(store, key)).body), bytes)
    await store.close()
    assert.deepEqual(await service().objects(prefix), Object.keys(expected))
    assert.deepEqual(await service().uploads(prefix), [])
  }
  /** Uses another store with a short time limit and this prefix. A request is sent once. */
  const withImpatient = async (prefix: string, run: (store: BlobStore) => Promise<unknown>): Promise<void> => {
    const { store } = await service().openBehindProxy({ prefix, idleMs: SHORT_IDLE_MS, attempts: 1 })
    await run(store)
    await store.close()
  }
  const inject = (kind: RequestKind, fault: Fault, times = 1): void =>
    service().proxy.inject(REQUESTS[kind], fault, times)
  const assertInjected = (times: number): void => assert.equal(service().proxy.injected, times)
  const assertDigest = ({ size, sha256: hash }: BlobDigest, bytes: Uint8Array): void => {
    assert.equal(size, bytes.length)
    assert.equal(toHex(hash), toHex(sha256(new Uint8Array(bytes))))
  }

  for (const fault of [...FAILURES, { cutUploadAfter: 1 }]) {
    test(`a small put whose request fails once is repeated: ${JSON.stringify(fault)}`, () =>
      withStore(
        async (store) => {
          inject('put', fault)
          assertDigest(await store.put('k', body(SMALL), AMPLE), SMALL)
          assertInjected(1)
        },
        { k: SMALL },
      ))
  }

  for (const kind of ['start', 'part', 'complete'] as const) {
    for (const fault of ['refuse', 'lose', { status: 503 }] as const) {
      test(`a large put whose ${kind} fails once is repeated: ${JSON.stringify(fault)}`, async () => {
        const { store, prefix } = await service().openBehindProxy()
        inject(kind, fault)
        assertDigest(await store.put('k', body(LARGE), AMPLE), LARGE)
        assertInjected(1)
        assertSame(await collect((await mustGet(store, 'k')).body), LARGE)
        assert.deepEqual(await service().objects(prefix), ['k'])
        // The id of an upload whose response was lost is unknown: the next open aborts it a day later.
        assert.equal((await service().uploads(prefix)).length, kind === 'start' && fault === 'lose' ? 1 : 0)
        await store.close()
      })
    }
  }

  for (const [kind, bytes] of [
    ['put', SMALL],
    ['complete', LARGE],
  ] as const)
    test(`a ${kind} that is applied, but whose responses are all lost, is found to be applied`, () =>
      withStore(
        async (store) => {
          inject(kind, 'lose', ALWAYS)
          assertDigest(await store.put('k', body(bytes), AMPLE), bytes)
          assertInjected(3)
        },
        { k: bytes },
      ))

  test('a put that is applied, but whose response never arrives, is found to be applied', () =>
    withStore(
      (_, prefix) =>
        withImpatient(prefix, async (store) => {
          inject('put', 'hang')
          assertDigest(await store.put('k', body(SMALL), AMPLE), SMALL)
          assertInjected(1)
        }),
      { k: SMALL },
    ))

  for (const [kind, bytes] of [
    ['put', SMALL],
    ['start', LARGE],
    ['part', LARGE],
    ['complete', LARGE],
  ] as const) {
    for (const fault of ['refuse', { status: 503 }] as const) {
      test(`a put whose ${kind} always fails leaves nothing and can be repeated: ${JSON.stringify(fault)}`, () =>
        withStore(
          async (store) => {
            inject(kind, fault, ALWAYS)
            await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), AMPLE))
            assertInjected(3)
            service().proxy.reset()
            assert.equal(await store.get('k'), undefined)
            await store.put('k', body(bytes), AMPLE)
          },
          { k: bytes },
        ))
    }
  }

  test('a put whose outcome cannot be found out throws UNAVAILABLE; a delete removes what it left', () =>
    withStore(async (store) => {
      for (const [key, bytes, kind] of [
        ['small', SMALL, 'put'],
        ['large', LARGE, 'complete'],
      ] as const) {
        inject(kind, 'lose', ALWAYS)
        inject('head', 'refuse', ALWAYS)
        await rejectsWith('UNAVAILABLE', store.put(key, body(bytes), AMPLE))
        service().proxy.reset()
        await store.delete(key)
        assert.equal(await store.get(key), undefined)
      }
    }, {}))

  test('a second put of a large blob is rejected and changes nothing', () =>
    withStore(
      async (store) => {
        await store.put('k', body(SMALL), AMPLE)
        await rejectsWith('UNAVAILABLE', store.put('k', body(LARGE), AMPLE))
      },
      { k: SMALL },
    ))

  test('a body that breaks or is aborted in a later part leaves no upload', () =>
    withStore(async (store) => {
      const broken = new Error('the connection broke')
      const breaking = afterChunks([LARGE], () => Promise.reject(broken))
      await assert.rejects(store.put('k', breaking, AMPLE), (error) => error === broken)
      const reason = new Error('the client disconnected')
      for (const kind of ['start', 'part', 'complete'] as const) {
        const controller = new AbortController()
        // Observes requests and injects no fault.
        service().proxy.inject((request) => {
          if (REQUESTS[kind](request)) controller.abort(reason)
          return false
        }, 'refuse')
        const put = store.put('k', body(LARGE), { ...AMPLE, signal: controller.signal })
        await assert.rejects(put, (error) => error === reason, kind)
        service().proxy.reset()
      }
    }, {}))

  test('an abort while a small put is sent deletes its object', () =>
    withStore(async (store) => {
      const controller = new AbortController()
      service().proxy.inject((request) => {
        if (REQUESTS.put(request)) controller.abort()
        return false
      }, 'refuse')
      const put = store.put('k', body(SMALL), { ...AMPLE, signal: controller.signal })
      await assert.rejects(put, { name: 'AbortError' })
    }, {}))

  test('a read whose request fails once is repeated', () =>
    withStore(
      async (store) => {
        await store.put('k', body(LARGE), AMPLE)
        for (const fault of FAILURES) {
          service().proxy.reset()
          inject('get', fault)
          assertSame(await collect((await mustGet(store, 'k')).body), LARGE)
          assertInjected(1)
        }
      },
      { k: LARGE },
    ))

  test('a read whose connection breaks throws UNAVAILABLE instead of returning a shorter file', () =>
    withStore(
      async (store) => {
        await store.put('k', body(LARGE), AMPLE)
        for (const cutAfter of [0, 1_000_000])
          for (const range of [undefined, { start: 17, end: LARGE.length - 3 }]) {
            service().proxy.reset()
            inject('get', { cutAfter })
            const read = store.get('k', range).then((blob) => collect(blob?.body ?? body(SMALL)))
            await rejectsWith('UNAVAILABLE', read)
            assertInjected(1)
          }
      },
      { k: LARGE },
    ))

  test('a read through a proxy that removes the length is whole', () =>
    withStore(
      async (store) => {
        await store.put('k', body(SMALL), AMPLE)
        inject('get', { headers: { 'content-length': undefined } })
        const blob = await mustGet(store, 'k')
        assert.equal(blob.size, SMALL.length)
        assertSame(await collect(blob.body), SMALL)
        assertInjected(1)
        // Also from HEAD, as with `Transfer-Encoding: chunked` for everything.
        service().proxy.reset()
        for (const kind of ['get', 'head'] as const) inject(kind, { headers: { 'content-length': undefined } }, ALWAYS)
        const whole = await mustGet(store, 'k')
        assert.equal(whole.size, SMALL.length)
        assertSame(await collect(whole.body), SMALL)
        const part = await store.get('k', { start: 3, end: 9 })
        assert.equal(part?.size, SMALL.length)
        assertSame(await collect(part?.body ?? body(SMALL)), SMALL.subarray(3, 9))
        await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('k', { start: 3, end: SMALL.length + 1 }))
        await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('k', { start: SMALL.length, end: SMALL.length + 1 }))
        assert.equal(await store.get('missing'), undefined)
      },
      { k: SMALL },
    ))

  test('a read that stalls throws UNAVAILABLE', () =>
    withStore(
      async (store, prefix) => {
        await store.put('k', body(LARGE), AMPLE)
        await withImpatient(prefix, async (impatient) => {
          inject('get', { stallAfter: 2_000_000 })
          await rejectsWith('UNAVAILABLE', collect((await mustGet(impatient, 'k')).body))
          assertInjected(1)
        })
      },
      { k: LARGE },
    ))

  for (const kind of ['get', 'delete'] as const) {
    test(`a ${kind} that always fails throws UNAVAILABLE`, () =>
      withStore(
        async (store) => {
          await store.put('k', body(SMALL), AMPLE)
          for (const fault of ['refuse', { status: 503 }] as const) {
            service().proxy.reset()
            inject(kind, fault, ALWAYS)
            await rejectsWith('UNAVAILABLE', kind === 'get' ? store.get('k') : store.delete('k'))
            assertInjected(3)
          }
        },
        { k: SMALL },
      ))
  }

  test('a delete whose responses are lost is applied', () =>
    withStore(async (store) => {
      await store.put('k', body(SMALL), AMPLE)
      inject('delete', 'lose', 2)
      await store.delete('k')
      assertInjected(2)
    }, {}))

  test('calls throw UNAVAILABLE while the service is stopped, and no acknowledged blob is lost', async () => {
    const { ceph } = service()
    const { store } = await service().openBehindProxy({ attempts: 2 })
    await store.put('small', body(SMALL), AMPLE)
    await store.put('large', body(LARGE), AMPLE)
    const stopping = afterChunks([LARGE], () => ceph.stopGateway())
    await rejectsWith('UNAVAILABLE', store.put('late', stopping, AMPLE))
    await rejectsWith('UNAVAILABLE', store.put('other', body(SMALL), AMPLE))
    await rejectsWith('UNAVAILABLE', store.get('small'))
    await rejectsWith('UNAVAILABLE', store.delete('small'))
    await ceph.startGateway()
    assertSame(await collect((await mustGet(store, 'small')).body), SMALL)
    assertSame(await collect((await mustGet(store, 'large')).body), LARGE)
    assert.equal(await store.get('late'), undefined)
    await store.put('late', body(SMALL), AMPLE)
    await store.close()
  })
})

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
/**
 * For the faults that wait for it. The other requests of such a test should not take as long, but may: they are
 * repeated, too.
 */
const SHORT_IDLE_MS = 5_000
const FAILURES: Fault[] = ['refuse', 'lose', { status: 503 }, { status: 500 }]

withService('S3 blobs on Ceph, when requests fail', (service) => {
  /** How often a start took longer than the short limit. Each may leave an upload, whose id is unknown. */
  let repeatedStarts = 0
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
    repeatedStarts = 0
    await run(store, prefix)
    proxy.reset()
    for (const [key, bytes] of Object.entries(expected))
      assertSame(await collect((await mustGet(store, key)).body), bytes)
    await store.close()
    assert.deepEqual(await service().objects(prefix), Object.keys(expected))
    const uploads = await service().uploads(prefix)
    assert.ok(uploads.length <= repeatedStarts, `${uploads.length} unfinished uploads`)
  }
  /** Uses another store with a short time limit and this prefix. */
  const withImpatient = async (prefix: string, run: (store: BlobStore) => Promise<unknown>): Promise<void> => {
    const { store } = await service().openBehindProxy({ prefix, idleMs: SHORT_IDLE_MS, attempts: 3 })
    await run(store)
    const starts = service().proxy.requests.filter((line) => /^POST \S*\?uploads/.test(line))
    repeatedStarts = Math.max(0, starts.length - 1)
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

  for (const kind of ['start', 'part', 'claim', 'complete'] as const) {
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
    ['claim', LARGE],
    ['complete', LARGE],
  ] as const) {
    test(`a ${kind} that is applied, but whose responses are all lost, is found to be applied`, () =>
      withStore(
        async (store) => {
          inject(kind, 'lose', ALWAYS)
          assertDigest(await store.put('k', body(bytes), AMPLE), bytes)
          assertInjected(3)
        },
        { k: bytes },
      ))

    test(`a ${kind} that is applied, but whose responses never arrive, is found to be applied`, () =>
      withStore(
        (_, prefix) =>
          withImpatient(prefix, async (store) => {
            inject(kind, 'hang', ALWAYS)
            assertDigest(await store.put('k', body(bytes), AMPLE), bytes)
            assertInjected(3)
          }),
        { k: bytes },
      ))
  }

  for (const [kind, bytes] of [
    ['put', SMALL],
    ['start', LARGE],
    ['part', LARGE],
    ['claim', LARGE],
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

  test('a claim that could not be deleted is invisible to reads, rejects puts, and is removed by a delete', () =>
    withStore(
      async (store) => {
        inject('complete', { status: 503 }, ALWAYS)
        inject('delete', 'refuse', ALWAYS)
        await rejectsWith('UNAVAILABLE', store.put('k', body(LARGE), AMPLE))
        service().proxy.reset()
        assert.equal(await store.get('k'), undefined)
        assert.equal(await store.get('k', { start: 0, end: 1 }), undefined)
        assert.equal(await store.get('k', { start: 5, end: 1 }), undefined)
        for (const bytes of [SMALL, LARGE]) await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), AMPLE))
        await store.delete('k')
        await store.put('k', body(SMALL), AMPLE)
      },
      { k: SMALL },
    ))

  test('exactly one of 8 large puts that race for one key is applied', async () => {
    const { store, prefix } = await service().openBehindProxy()
    const bodies = Array.from({ length: 8 }, () => randomBytes(5 * MIB + 1))
    const results = await Promise.allSettled(bodies.map((bytes) => store.put('prize', body(bytes), AMPLE)))
    const winners = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []))
    assert.equal(winners.length, 1)
    assertSame(await collect((await mustGet(store, 'prize')).body), bodies[winners[0] ?? -1] ?? new Uint8Array())
    assert.deepEqual(await service().objects(prefix), ['prize'])
    assert.deepEqual(await service().uploads(prefix), [])
    await store.close()
  })

  test('a body that breaks or is aborted in a later part leaves no upload', () =>
    withStore(async (store) => {
      const broken = new Error('the connection broke')
      const breaking = afterChunks([LARGE], () => Promise.reject(broken))
      await assert.rejects(store.put('k', breaking, AMPLE), (error) => error === broken)
      const reason = new Error('the client disconnected')
      for (const kind of ['start', 'part', 'claim', 'complete'] as const) {
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

  const readFaults: Fault[] = [...FAILURES, { cutAfter: 0 }, { cutAfter: 1_000_000 }]
  for (const fault of readFaults) {
    test(`a read whose request or body fails once resumes at its position: ${JSON.stringify(fault)}`, () =>
      withStore(
        async (store) => {
          await store.put('k', body(LARGE), AMPLE)
          for (const range of [undefined, { start: 17, end: LARGE.length - 3 }]) {
            service().proxy.reset()
            inject('get', fault)
            const blob = await store.get('k', range)
            assert.equal(blob?.size, LARGE.length)
            assertSame(await collect(blob.body), LARGE.subarray(range?.start, range?.end))
            assertInjected(1)
          }
        },
        { k: LARGE },
      ))
  }

  test('a read that stalls resumes on another connection', () =>
    withStore(
      async (store, prefix) => {
        await store.put('k', body(LARGE), AMPLE)
        await withImpatient(prefix, async (impatient) => {
          inject('get', { stallAfter: 2_000_000 })
          assertSame(await collect((await mustGet(impatient, 'k')).body), LARGE)
          assertInjected(1)
        })
      },
      { k: LARGE },
    ))

  test('a read whose connections always break throws UNAVAILABLE instead of returning a shorter file', () =>
    withStore(
      async (store) => {
        await store.put('k', body(LARGE), AMPLE)
        inject('get', { cutAfter: 1_000_000 })
        inject('get', { cutAfter: 0 }, ALWAYS)
        const { body: cut } = await mustGet(store, 'k')
        await rejectsWith('UNAVAILABLE', collect(cut))
        await rejectsWith(
          'UNAVAILABLE',
          store.get('k').then((blob) => collect(blob?.body ?? body(SMALL))),
        )
      },
      { k: LARGE },
    ))

  test('an interrupted read does not resume if the object was replaced or deleted', () =>
    withStore(async (store) => {
      for (const put of [(): Promise<unknown> => store.put('k', body(SMALL), AMPLE), async () => undefined]) {
        await store.delete('k')
        await store.put('k', body(LARGE), AMPLE)
        service().proxy.reset()
        inject('get', { cutAfter: 50_000 })
        const { body: cut } = await mustGet(store, 'k')
        await store.delete('k')
        const before = await put()
        await rejectsWith(before === undefined ? 'UNAVAILABLE' : 'CORRUPT', collect(cut))
      }
    }, {}))

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

  test('calls throw UNAVAILABLE while the service is stopped, and no acknowledged blob is missing afterwards', async () => {
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

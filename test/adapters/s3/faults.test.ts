import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { BlobStore } from '../../../core/ports.ts'
import type { BlobDigest } from '../../../core/ports.ts'
import { sha256, toHex } from '../../../core/bytes.ts'
import { afterChunks, assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/blob-bodies.ts'
import { REQUESTS, type Fault, type RequestKind } from '../../support/s3-proxy.ts'
import { withService } from '../../support/s3-service.ts'

const MIB = 1024 * 1024
const ROOMY = { maxBytes: 64 * MIB }
const SMALL = randomBytes(100_000)
/** Two parts. */
const LARGE = randomBytes(5 * MIB + 100_000)
const body = (bytes: Uint8Array): AsyncIterable<Uint8Array> => inChunks(bytes, 64 * 1024)
const ALWAYS = 1_000
const CUT: Fault[] = ['refuse', 'lose', { answer: 503 }, { answer: 500 }]

withService('S3 blobs on Ceph, when requests fail', (service) => {
  /** A store behind the proxy; afterwards nothing but these keys may be there, whole, and no upload unfinished. */
  const withStore = async (
    run: (store: BlobStore) => Promise<unknown>,
    left: Readonly<Record<string, Uint8Array>>,
    idleMs = 5_000,
  ): Promise<void> => {
    const { proxy } = service()
    const { store, prefix } = await service().openBehindProxy({ idleMs, attempts: 3 })
    await run(store)
    proxy.calm()
    for (const [key, bytes] of Object.entries(left)) assertSame(await collect((await mustGet(store, key)).body), bytes)
    await store.close()
    assert.deepEqual(await service().objects(prefix), Object.keys(left))
    assert.deepEqual(await service().uploads(prefix), [])
  }
  const spoil = (kind: RequestKind, fault: Fault, times = 1): void =>
    service().proxy.spoil(REQUESTS[kind], fault, times)
  const assertFired = (times: number): void => assert.equal(service().proxy.fired, times)
  const assertDigest = ({ size, sha256: hash }: BlobDigest, bytes: Uint8Array): void => {
    assert.equal(size, bytes.length)
    assert.equal(toHex(hash), toHex(sha256(new Uint8Array(bytes))))
  }

  for (const fault of [...CUT, { cutUploadAfter: 1 }]) {
    test(`a small put whose request fails once is tried again: ${JSON.stringify(fault)}`, () =>
      withStore(
        async (store) => {
          spoil('put', fault)
          assertDigest(await store.put('k', body(SMALL), ROOMY), SMALL)
          assertFired(1)
        },
        { k: SMALL },
      ))
  }

  for (const kind of ['start', 'part', 'claim', 'complete'] as const) {
    for (const fault of ['refuse', 'lose', { answer: 503 }] as const) {
      test(`a large put whose ${kind} fails once is tried again: ${JSON.stringify(fault)}`, async () => {
        const { store, prefix } = await service().openBehindProxy()
        spoil(kind, fault)
        assertDigest(await store.put('k', body(LARGE), ROOMY), LARGE)
        assertFired(1)
        assertSame(await collect((await mustGet(store, 'k')).body), LARGE)
        assert.deepEqual(await service().objects(prefix), ['k'])
        // An upload that was begun twice without anybody knowing is what the sweep is for.
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
    test(`a ${kind} that is carried out, but whose answers are all lost, is found to have been`, () =>
      withStore(
        async (store) => {
          spoil(kind, 'lose', ALWAYS)
          assertDigest(await store.put('k', body(bytes), ROOMY), bytes)
          assertFired(3)
        },
        { k: bytes },
      ))

    test(`a ${kind} that is carried out and never answered is given up and found to have been`, () =>
      withStore(
        async (store) => {
          spoil(kind, 'hang', ALWAYS)
          assertDigest(await store.put('k', body(bytes), ROOMY), bytes)
          assertFired(3)
        },
        { k: bytes },
        250,
      ))
  }

  for (const [kind, bytes] of [
    ['put', SMALL],
    ['start', LARGE],
    ['part', LARGE],
    ['claim', LARGE],
    ['complete', LARGE],
  ] as const) {
    for (const fault of ['refuse', { answer: 503 }] as const) {
      test(`a put whose ${kind} fails for good leaves nothing, and can be done again: ${JSON.stringify(fault)}`, () =>
        withStore(
          async (store) => {
            spoil(kind, fault, ALWAYS)
            await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), ROOMY))
            assertFired(3)
            service().proxy.calm()
            assert.equal(await store.get('k'), undefined)
            await store.put('k', body(bytes), ROOMY)
          },
          { k: bytes },
        ))
    }
  }

  test('a put of which nothing can be learnt is UNAVAILABLE; a delete clears whatever it left', () =>
    withStore(async (store) => {
      for (const [key, bytes, kind] of [
        ['small', SMALL, 'put'],
        ['large', LARGE, 'complete'],
      ] as const) {
        spoil(kind, 'lose', ALWAYS)
        spoil('head', 'refuse', ALWAYS)
        await rejectsWith('UNAVAILABLE', store.put(key, body(bytes), ROOMY))
        service().proxy.calm()
        await store.delete(key)
        assert.equal(await store.get(key), undefined)
      }
    }, {}))

  test('a claim that cannot be taken back is nothing to readers, taken to writers, and goes with a delete', () =>
    withStore(
      async (store) => {
        spoil('complete', { answer: 503 }, ALWAYS)
        spoil('delete', 'refuse', ALWAYS)
        await rejectsWith('UNAVAILABLE', store.put('k', body(LARGE), ROOMY))
        service().proxy.calm()
        assert.equal(await store.get('k'), undefined)
        assert.equal(await store.get('k', { start: 0, end: 1 }), undefined)
        assert.equal(await store.get('k', { start: 5, end: 1 }), undefined)
        for (const bytes of [SMALL, LARGE]) await rejectsWith('UNAVAILABLE', store.put('k', body(bytes), ROOMY))
        await store.delete('k')
        await store.put('k', body(SMALL), ROOMY)
      },
      { k: SMALL },
    ))

  test('of 8 large puts that race for one key exactly one wins, and its bytes stay', async () => {
    const { store, prefix } = await service().openBehindProxy()
    const bodies = Array.from({ length: 8 }, () => randomBytes(5 * MIB + 1))
    const results = await Promise.allSettled(bodies.map((bytes) => store.put('prize', body(bytes), ROOMY)))
    const winners = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []))
    assert.equal(winners.length, 1)
    assertSame(await collect((await mustGet(store, 'prize')).body), bodies[winners[0] ?? -1] ?? new Uint8Array())
    assert.deepEqual(await service().objects(prefix), ['prize'])
    assert.deepEqual(await service().uploads(prefix), [])
    await store.close()
  })

  test('a body that breaks or is aborted in a later part leaves no upload behind', () =>
    withStore(async (store) => {
      const broken = new Error('the connection broke')
      const breaking = afterChunks([LARGE], () => Promise.reject(broken))
      await assert.rejects(store.put('k', breaking, ROOMY), (error) => error === broken)
      const reason = new Error('the client went away')
      for (const kind of ['start', 'part', 'claim', 'complete'] as const) {
        const controller = new AbortController()
        // Looks at requests; spoils none.
        service().proxy.spoil((request) => {
          if (REQUESTS[kind](request)) controller.abort(reason)
          return false
        }, 'refuse')
        const put = store.put('k', body(LARGE), { ...ROOMY, signal: controller.signal })
        await assert.rejects(put, (error) => error === reason, kind)
        service().proxy.calm()
      }
    }, {}))

  test('an abort while a small put is sent takes it back', () =>
    withStore(async (store) => {
      const controller = new AbortController()
      service().proxy.spoil((request) => {
        if (REQUESTS.put(request)) controller.abort()
        return false
      }, 'refuse')
      const put = store.put('k', body(SMALL), { ...ROOMY, signal: controller.signal })
      await assert.rejects(put, { name: 'AbortError' })
    }, {}))

  for (const fault of [...CUT, { cutAfter: 0 }, { cutAfter: 1_000_000 }] as Fault[]) {
    test(`a read whose request or body fails once goes on where it was: ${JSON.stringify(fault)}`, () =>
      withStore(
        async (store) => {
          await store.put('k', body(LARGE), ROOMY)
          for (const range of [undefined, { start: 17, end: LARGE.length - 3 }]) {
            service().proxy.calm()
            spoil('get', fault)
            const found = await store.get('k', range)
            assert.equal(found?.size, LARGE.length)
            assertSame(await collect(found.body), LARGE.subarray(range?.start, range?.end))
            assertFired(1)
          }
        },
        { k: LARGE },
      ))
  }

  test('a read that stalls goes on over another connection', () =>
    withStore(
      async (store) => {
        await store.put('k', body(LARGE), ROOMY)
        spoil('get', { stallAfter: 2_000_000 })
        assertSame(await collect((await mustGet(store, 'k')).body), LARGE)
        assertFired(1)
      },
      { k: LARGE },
      250,
    ))

  test('a read that is cut again and again ends as UNAVAILABLE, not as a shorter file', () =>
    withStore(
      async (store) => {
        await store.put('k', body(LARGE), ROOMY)
        spoil('get', { cutAfter: 1_000_000 })
        spoil('get', { cutAfter: 0 }, ALWAYS)
        const { body: cut } = await mustGet(store, 'k')
        await rejectsWith('UNAVAILABLE', collect(cut))
        await rejectsWith(
          'UNAVAILABLE',
          store.get('k').then((found) => collect(found?.body ?? body(SMALL))),
        )
      },
      { k: LARGE },
    ))

  test('a read that was cut does not go on with another object, nor with none', () =>
    withStore(async (store) => {
      for (const put of [(): Promise<unknown> => store.put('k', body(SMALL), ROOMY), async () => undefined]) {
        await store.delete('k')
        await store.put('k', body(LARGE), ROOMY)
        service().proxy.calm()
        spoil('get', { cutAfter: 50_000 })
        const { body: cut } = await mustGet(store, 'k')
        await store.delete('k')
        const before = await put()
        await rejectsWith(before === undefined ? 'UNAVAILABLE' : 'CORRUPT', collect(cut))
      }
    }, {}))

  for (const kind of ['get', 'delete'] as const) {
    test(`a ${kind} that fails for good is UNAVAILABLE`, () =>
      withStore(
        async (store) => {
          await store.put('k', body(SMALL), ROOMY)
          for (const fault of ['refuse', { answer: 503 }] as const) {
            service().proxy.calm()
            spoil(kind, fault, ALWAYS)
            await rejectsWith('UNAVAILABLE', kind === 'get' ? store.get('k') : store.delete('k'))
            assertFired(3)
          }
        },
        { k: SMALL },
      ))
  }

  test('a delete whose answers are lost is done all the same', () =>
    withStore(async (store) => {
      await store.put('k', body(SMALL), ROOMY)
      spoil('delete', 'lose', 2)
      await store.delete('k')
      assertFired(2)
    }, {}))

  test('while the service is stopped everything is UNAVAILABLE; when it is back nothing acknowledged is missing', async () => {
    const { ceph } = service()
    const { store } = await service().openBehindProxy({ attempts: 2 })
    await store.put('small', body(SMALL), ROOMY)
    await store.put('large', body(LARGE), ROOMY)
    const stopping = afterChunks([LARGE], () => ceph.stopGateway())
    await rejectsWith('UNAVAILABLE', store.put('late', stopping, ROOMY))
    await rejectsWith('UNAVAILABLE', store.put('other', body(SMALL), ROOMY))
    await rejectsWith('UNAVAILABLE', store.get('small'))
    await rejectsWith('UNAVAILABLE', store.delete('small'))
    await ceph.startGateway()
    assertSame(await collect((await mustGet(store, 'small')).body), SMALL)
    assertSame(await collect((await mustGet(store, 'large')).body), LARGE)
    assert.equal(await store.get('late'), undefined)
    await store.put('late', body(SMALL), ROOMY)
    await store.close()
  })
})

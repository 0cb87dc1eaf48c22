import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import {
  afterChunks,
  assertSame,
  blobStoreContract,
  collect,
  durableBlobStoreContract,
  inChunks,
  mustGet,
  rejectsWith,
} from '../../contract/index.ts'
import { FaultyFiles } from '../../support/faulty-files.ts'
import { until } from '../../support/manual-clock.ts'
import { filesBelow, makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

const AMPLE = { maxBytes: 1_000_000 }
const BYTES = randomBytes(100_000)
const body = (): AsyncIterable<Uint8Array> => inChunks(BYTES, 30_000)

async function openForContract() {
  const directory = await makeTemporary()
  return {
    store: await openLocalBlobs(directory),
    reopen: () => openLocalBlobs(directory),
    dispose: () => removeTemporary(directory),
  }
}

blobStoreContract('local files', openForContract)
durableBlobStoreContract('local files', openForContract)

describe('local blobs on disk', () => {
  test('files are 0600 and folders 0700, in one of 256 folders by the hash of the beginning of the key', async (t) => {
    const directory = join(await temporaryFor(t), 'not', 'there', 'yet')
    const store = await openLocalBlobs(directory)
    await store.put('k', body(), AMPLE)
    // The first two digits of: printf k | sha256sum
    assert.deepEqual(await filesBelow(directory), ['content/82/k'])
    assert.equal((await stat(join(directory, 'content/82/k'))).mode & 0o777, 0o600)
    for (const folder of ['', 'content', 'content/82'])
      assert.equal((await stat(join(directory, folder))).mode & 0o777, 0o700)
    await store.close()
  })

  test('a blob is written once, and its bytes and its name are synced before put and delete resolve', async (t) => {
    const faulty = new FaultyFiles()
    const store = await openLocalBlobs(await temporaryFor(t), { files: faulty.files })
    const callsOf = async (work: () => Promise<unknown>): Promise<string> => {
      faulty.calls.length = 0
      await work()
      return faulty.calls.join(' ')
    }
    // After each sync of a folder: whether the directory is still the one that was opened.
    const [write, syncFolder] = ['open write sync close', 'open sync close stat']
    const put = (key: string, bytes: Uint8Array) => () => store.put(key, inChunks(bytes, bytes.length), AMPLE)
    assert.equal(await callsOf(put('k', BYTES)), `stat mkdir ${syncFolder} ${write} ${syncFolder}`)
    await store.delete('k')
    assert.equal(await callsOf(put('k', BYTES)), `${write} ${syncFolder}`)
    await store.delete('k')
    assert.equal(await callsOf(put('k', BYTES.subarray(0, 1_000))), `${write} ${syncFolder}`)
    assert.equal(await callsOf(() => store.delete('k')), `unlink ${syncFolder}`)
    assert.equal(await callsOf(() => store.delete('k')), `unlink stat unlink ${syncFolder}`)
    await store.close()
  })

  test('blobs whose ids were made within about a minute are in one folder', async (t) => {
    const directory = await temporaryFor(t)
    const store = await openLocalBlobs(directory)
    const ids = ['0193a1b2-0000-7000-8000-000000000000', '0193a1b2-ffff-7000-8000-ffffffffffff']
    await Promise.all(ids.map((id) => store.put(id, body(), AMPLE)))
    // The first two digits of: printf 0193a1b2 | sha256sum
    assert.deepEqual(
      await filesBelow(directory),
      ids.map((id) => `content/2a/${id}`),
    )
    for (const id of ids) assertSame(await collect((await mustGet(store, id)).body), BYTES)
    await store.close()
  })

  test(
    'two stores on one directory act as one: blobs are write-once, and neither removes files that the other is ' +
      'writing',
    async (t) => {
      const directory = await temporaryFor(t)
      const [first, second] = [await openLocalBlobs(directory), await openLocalBlobs(directory)]
      const contested = afterChunks([BYTES], async () => {
        await rejectsWith('UNAVAILABLE', second.put('both', inChunks(Buffer.from('second'), 9), AMPLE))
      })
      await first.put('both', contested, AMPLE)
      for (const store of [first, second]) assertSame(await collect((await mustGet(store, 'both')).body), BYTES)

      const opening = afterChunks([BYTES], async () => (await openLocalBlobs(directory)).close())
      assert.equal((await first.put('mine', opening, AMPLE)).size, BYTES.length)
      await Promise.all([first.close(), second.close()])
    },
  )

  test('an abort after the end of the body still leaves no visible blob', async (t) => {
    const faulty = new FaultyFiles()
    const directory = await temporaryFor(t)
    const store = await openLocalBlobs(directory, { files: faulty.files })
    const controller = new AbortController()
    faulty.onCall = (name) => {
      if (name === 'sync') controller.abort()
    }
    const put = store.put('k', body(), { ...AMPLE, signal: controller.signal })
    await assert.rejects(put, { name: 'AbortError' })
    assert.deepEqual(await filesBelow(directory), [])
    await store.close()
  })

  test('close waits for a put in progress', async (t) => {
    const store = await openLocalBlobs(await temporaryFor(t))
    const order: string[] = []
    let closing: Promise<unknown> = Promise.resolve()
    const put = store.put(
      'slow',
      afterChunks([BYTES], async () => {
        closing = store.close().then(() => order.push('closed'))
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
        order.push('body ended')
      }),
      AMPLE,
    )
    assert.equal((await put).size, BYTES.length)
    await closing
    assert.deepEqual(order, ['body ended', 'closed'])
  })

  test('reading a file that lost its end throws CORRUPT', async (t) => {
    const directory = await temporaryFor(t)
    const store = await openLocalBlobs(directory)
    await store.put('k', body(), AMPLE)
    const blob = await mustGet(store, 'k')
    await truncate(join(directory, 'content/82/k'), 10)
    await rejectsWith('CORRUPT', collect(blob.body))
    await store.close()
  })

  test('a reader closes its file if it is aborted, abandoned, rejected, empty or done', async (t) => {
    const faulty = new FaultyFiles()
    const store = await openLocalBlobs(await temporaryFor(t), { files: faulty.files })
    await store.put('k', body(), AMPLE)
    await store.put('empty', inChunks(new Uint8Array(), 1), AMPLE)
    assert.equal(faulty.openHandles, 0)

    const controller = new AbortController()
    const aborted = await store.get('k', undefined, controller.signal)
    const abandoned = await mustGet(store, 'k')
    assert.equal(faulty.openHandles, 2)
    controller.abort()
    await assert.rejects(collect(aborted?.body ?? body()), { name: 'AbortError' })
    await abandoned.body[Symbol.asyncIterator]().return?.()
    // The abort closes the first file beside the read that it ends.
    await until(() => faulty.openHandles === 0, 120_000)

    await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('k', { start: 0, end: 1e6 }))
    const { signal } = new AbortController()
    await collect((await store.get('k', undefined, signal))?.body ?? body())
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    await collect((await mustGet(store, 'empty')).body)
    await until(() => faulty.openHandles === 0, 120_000)
    await store.close()
  })

  test('puts and reads do not hold a large file in memory', async (t) => {
    const store = await openLocalBlobs(await temporaryFor(t))
    const chunk = randomBytes(65_536)
    const before = process.memoryUsage.rss()
    let peak = before
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 4096; n += 1) {
        yield chunk
        peak = Math.max(peak, process.memoryUsage.rss())
      }
    }
    await store.put('large', large(), { maxBytes: 2 ** 28 })
    for await (const block of (await mustGet(store, 'large')).body) {
      assert.ok(block.length <= 65_536)
      peak = Math.max(peak, process.memoryUsage.rss())
    }
    assert.ok(peak - before < 2 ** 27, `a file of 256 MiB used ${(peak - before) / 2 ** 20} MiB of memory`)
    await store.close()
  })
})

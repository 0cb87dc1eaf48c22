import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import { blobStoreContract, durableBlobStoreContract } from '../../contract/blob-store.ts'
import { afterChunks, assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/blob-bodies.ts'
import { FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

const ROOMY = { maxBytes: 1_000_000 }
const BYTES = randomBytes(100_000)
const body = (): AsyncIterable<Uint8Array> => inChunks(BYTES, 30_000)

async function openForContract() {
  const directory = await makeTemporary()
  return {
    store: await openLocalBlobs(directory),
    reopen: () => openLocalBlobs(directory),
    staged: () => filesBelow(join(directory, 'staging')),
    dispose: () => removeTemporary(directory),
  }
}

blobStoreContract('local files', openForContract)
durableBlobStoreContract('local files', openForContract)

describe('local blobs on disk', () => {
  test('files are 0600 and folders 0700, in one of 256 folders by the hash of the key', async (t) => {
    const directory = join(await temporaryFor(t), 'not', 'there', 'yet')
    const store = await openLocalBlobs(directory)
    await store.put('k', body(), ROOMY)
    // The first two digits of: printf k | sha256sum
    assert.deepEqual(await filesBelow(directory), ['content/82/k'])
    assert.equal((await stat(join(directory, 'content/82/k'))).mode & 0o777, 0o600)
    for (const folder of ['', 'content', 'content/82', 'staging'])
      assert.equal((await stat(join(directory, folder))).mode & 0o777, 0o700)
    await store.close()
  })

  test('bytes are synced before they get their name, and names before put and delete answer', async (t) => {
    const faulty = new FaultyFiles()
    const store = await openLocalBlobs(await temporaryFor(t), { files: faulty.files })
    const callsOf = async (work: () => Promise<unknown>): Promise<string> => {
      faulty.calls.length = 0
      await work()
      return faulty.calls.join(' ')
    }
    const [write, syncFolder] = ['open write sync close', 'open sync close']
    const put = (key: string) => () => store.put(key, inChunks(BYTES, BYTES.length), ROOMY)
    // The folder is made, its name is synced, and once more in case that another store had made and not yet synced it.
    assert.equal(await callsOf(put('k')), `stat ${write} mkdir ${syncFolder} ${syncFolder} link ${syncFolder} unlink`)
    await store.delete('k')
    assert.equal(await callsOf(put('k')), `stat ${write} link ${syncFolder} unlink`)
    assert.equal(await callsOf(() => store.delete('k')), `unlink ${syncFolder}`)
    assert.equal(await callsOf(() => store.delete('k')), `unlink stat ${syncFolder}`)
    await store.close()
  })

  test('two stores on one directory are one store: write-once holds, and neither sweeps what the other is writing', async (t) => {
    const directory = await temporaryFor(t)
    const [first, second] = [await openLocalBlobs(directory), await openLocalBlobs(directory)]
    const overtaken = afterChunks([BYTES], async () => {
      await second.put('both', inChunks(Buffer.from('second'), 9), ROOMY)
    })
    await rejectsWith('UNAVAILABLE', first.put('both', overtaken, ROOMY))
    assertSame(await collect((await mustGet(first, 'both')).body), Buffer.from('second'))

    const opening = afterChunks([BYTES], async () => (await openLocalBlobs(directory)).close())
    assert.equal((await first.put('mine', opening, ROOMY)).size, BYTES.length)
    await Promise.all([first.close(), second.close()])
  })

  test('an abort after the body has ended still keeps the blob from being seen', async (t) => {
    const faulty = new FaultyFiles()
    const directory = await temporaryFor(t)
    const store = await openLocalBlobs(directory, { files: faulty.files })
    const controller = new AbortController()
    faulty.onCall = (name) => {
      if (name === 'sync') controller.abort()
    }
    const put = store.put('k', body(), { ...ROOMY, signal: controller.signal })
    await assert.rejects(put, { name: 'AbortError' })
    assert.deepEqual(await filesBelow(directory), [])
    await store.close()
  })

  test('close waits for a put under way', async (t) => {
    const store = await openLocalBlobs(await temporaryFor(t))
    const order: string[] = []
    let closing: Promise<unknown> = Promise.resolve()
    const put = store.put(
      'slow',
      afterChunks([BYTES], async () => {
        closing = store.close().then(() => order.push('closed'))
        await new Promise((resolve) => setTimeout(resolve, 20))
        order.push('body ended')
      }),
      ROOMY,
    )
    assert.equal((await put).size, BYTES.length)
    await closing
    assert.deepEqual(order, ['body ended', 'closed'])
  })

  test('a file that lost its end is CORRUPT to its reader, not shorter', async (t) => {
    const directory = await temporaryFor(t)
    const store = await openLocalBlobs(directory)
    await store.put('k', body(), ROOMY)
    const found = await mustGet(store, 'k')
    await truncate(join(directory, 'content/82/k'), 10)
    await rejectsWith('CORRUPT', collect(found.body))
    await store.close()
  })

  test('a reader gives its file back when it is aborted, abandoned, refused, empty or done', async (t) => {
    const faulty = new FaultyFiles()
    const store = await openLocalBlobs(await temporaryFor(t), { files: faulty.files })
    await store.put('k', body(), ROOMY)
    await store.put('empty', inChunks(new Uint8Array(), 1), ROOMY)
    assert.equal(faulty.openHandles, 0)

    const controller = new AbortController()
    const aborted = await store.get('k', undefined, controller.signal)
    const abandoned = await mustGet(store, 'k')
    assert.equal(faulty.openHandles, 2)
    controller.abort()
    await assert.rejects(collect(aborted?.body ?? body()), { name: 'AbortError' })
    await abandoned.body[Symbol.asyncIterator]().return?.()
    assert.equal(faulty.openHandles, 0)

    await rejectsWith('RANGE_NOT_SATISFIABLE', store.get('k', { start: 0, end: 1e6 }))
    const { signal } = new AbortController()
    await collect((await store.get('k', undefined, signal))?.body ?? body())
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    await collect((await mustGet(store, 'empty')).body)
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(faulty.openHandles, 0)
    await store.close()
  })

  test('puts and reads hold a part of a large file in memory, not the whole', async (t) => {
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
    assert.ok(peak - before < 2 ** 27, `256 MiB took ${(peak - before) / 2 ** 20} MiB of memory`)
    await store.close()
  })
})

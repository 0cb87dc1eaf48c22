import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { describe, it } from 'node:test'
import { MemoryBlobs, MemoryRecords } from '../../../adapters/memory/index.ts'
import { sha256, toHex } from '../../../core/bytes.ts'
import { RegistryError } from '../../../core/errors.ts'
import { keys } from '../../../core/store/keys.ts'
import type { BlobStore } from '../../../core/ports/index.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import {
  copyBlobs,
  decodeRecords,
  encodeRecords,
  filesIn,
  filesOf,
  SourceDamage,
  type CopyBlobsReport,
} from '../../../core/ops/index.ts'
import { afterChunks, assertSame, collect, inChunks, mustGet } from '../../contract/blob-bodies.ts'
import { withMethods } from '../../support/with-methods.ts'

const COUNT = 20
const LIMITS = { maxBytes: 1_000_000 }
const idOf = (n: number): string => `file-${String(n).padStart(2, '0')}`

/** Records of files whose bytes are in the source, the record of a deleted file, and an empty target. */
async function createFixture() {
  const [records, from, to] = [new MemoryRecords(), new MemoryBlobs(), new MemoryBlobs()]
  const files = new Map<string, Uint8Array>()
  for (let n = 0; n < COUNT; n += 1) {
    const [id, bytes] = [idOf(n), new Uint8Array(randomBytes(n * 500))]
    files.set(id, bytes)
    await from.put(id, inChunks(bytes, 1_000), LIMITS)
    const record = { id, size: bytes.length, sha256: toHex(sha256(bytes)) }
    await records.commit({ writes: [{ key: keys.file(id), value: encodeRecord(record) }] })
  }
  const deleted = { id: 'deleted', deletion: { version: 2 } }
  await records.commit({ writes: [{ key: keys.file('deleted'), value: encodeRecord(deleted) }] })
  const problems: string[] = []
  const copy = (stores: { from: BlobStore; to: BlobStore } = { from, to }): Promise<CopyBlobsReport> =>
    copyBlobs(filesOf(records), stores, {
      onProblem: (id, message) => problems.push(`${id}: ${message}`),
      onProgress: () => undefined,
    })
  const put = (store: BlobStore, id: string, text: string) => store.put(id, inChunks(Buffer.from(text), 10), LIMITS)
  return { records, from, to, files, problems, copy, put }
}

describe('copying blobs', () => {
  it('copies every file, and does not change the source', async () => {
    const { from, to, files, problems, copy } = await createFixture()
    assert.deepEqual(await copy(), { copied: COUNT, existing: 0, problems: 0 })
    for (const store of [from, to])
      for (const [id, bytes] of files) assertSame(await collect((await mustGet(store, id)).body), bytes)
    assert.deepEqual(problems, [])
  })

  it('continues after an interruption, and copies nothing if everything is there', async () => {
    const { from, to, problems, copy } = await createFixture()
    let puts = 0
    const failing = withMethods<BlobStore>(to, {
      put: (key, body, options) =>
        ++puts > 7 ? Promise.reject(new RegistryError('UNAVAILABLE', 'Injected')) : to.put(key, body, options),
    })
    assert.deepEqual(await copy({ from, to: failing }), { copied: 7, existing: 0, problems: COUNT - 7 })
    assert.equal(problems.length, COUNT - 7)
    assert.deepEqual(await copy(), { copied: COUNT - 7, existing: 7, problems: 0 })
    assert.deepEqual(await copy(), { copied: 0, existing: COUNT, problems: 0 })
  })

  it('reports files that are missing or wrong in the source, keeps none of them, and copies the rest', async () => {
    const { from, to, files, problems, copy, put } = await createFixture()
    await from.delete(idOf(3))
    for (const [id, text] of [
      [idOf(4), 'x'.repeat(2_000)],
      [idOf(5), 'shorter'],
      [idOf(6), 'longer'.repeat(1_000)],
    ] as const) {
      await from.delete(id)
      await put(from, id, text)
    }
    assert.deepEqual(await copy(), { copied: COUNT - 4, existing: 0, problems: 4 })
    assert.deepEqual(problems.toSorted(), [
      `${idOf(3)}: Its bytes are missing in the source`,
      ...[4, 5, 6].map((n) => `${idOf(n)}: Its bytes in the source are not those that were recorded`),
    ])
    for (const id of files.keys()) {
      const isWrong = [3, 4, 5, 6].some((n) => idOf(n) === id)
      assert.equal((await to.get(id)) === undefined, isWrong, id)
    }
  })

  it('replaces wrong bytes in the target only if the bytes in the source are right', async () => {
    const { from, to, files, problems, copy, put } = await createFixture()
    await put(to, idOf(7), 'of another size')
    await put(to, idOf(8), 'x'.repeat(4_000))
    await put(to, idOf(9), 'y'.repeat(4_500))
    await from.delete(idOf(9))
    assert.deepEqual(await copy(), { copied: COUNT - 1, existing: 0, problems: 1 })
    assert.deepEqual(problems, [`${idOf(9)}: Its bytes are wrong in the target, and in the source wrong or missing`])
    for (const [id, bytes] of files)
      assertSame(await collect((await mustGet(to, id)).body), id === idOf(9) ? Buffer.from('y'.repeat(4_500)) : bytes)
  })

  it('replaces what the disk of the target cannot read', async () => {
    const { from, to, problems, copy } = await createFixture()
    await copy()
    const unreadable = withMethods<BlobStore>(to, {
      get: async (key, ...args) => {
        const blob = await to.get(key, ...args)
        if (key !== idOf(7) || blob === undefined) return blob
        const body = afterChunks([], () => Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })))
        return { ...blob, body }
      },
    })
    assert.deepEqual(await copy({ from, to: unreadable }), { copied: 1, existing: COUNT - 1, problems: 0 })
    assert.deepEqual(problems, [])
  })

  it('reads again what was in the target, unless it is known to be complete', async () => {
    const { records, from, to, files, problems, put } = await createFixture()
    const gets: string[] = []
    const target = withMethods<BlobStore>(to, {
      get(key, ...args) {
        gets.push(key)
        return to.get(key, ...args)
      },
    })
    const complete = new Set<string>()
    const copyMissing = async () => {
      const { copied, existing } = await copyBlobs(
        filesIn(decodeRecords(encodeRecords(records))),
        { from, to: target },
        {
          isKnown: (id) => complete.has(id),
          onComplete: ({ id }) => complete.add(id),
          onProblem: (id, message) => problems.push(`${id}: ${message}`),
          onProgress: () => undefined,
        },
      )
      return { copied, existing }
    }
    // What a power loss may leave of a file: the size, but not the bytes.
    await put(to, idOf(7), '\0'.repeat(3_500))
    assert.deepEqual(await copyMissing(), { copied: COUNT, existing: 0 })
    assert.deepEqual([...complete].toSorted(), [...files.keys()].toSorted())
    gets.length = 0
    complete.delete(idOf(3))
    assert.deepEqual(await copyMissing(), { copied: 0, existing: COUNT })
    assert.deepEqual(
      gets.filter((key, i) => gets.indexOf(key) !== i),
      [idOf(3)],
    )
    for (const [id, bytes] of files) assertSame(await collect((await mustGet(to, id)).body), bytes)
    assert.deepEqual(problems, [])
  })

  it('ends at the first problem that a handler throws, after the files in progress', async () => {
    const { records, from, to } = await createFixture()
    await from.delete(idOf(0))
    const gate = new EventEmitter()
    const [released, thrown] = [once(gate, 'release'), once(gate, 'throw')]
    const begun: string[] = []
    const waiting = withMethods<BlobStore>(to, {
      put: async (key, ...args) => {
        begun.push(key)
        await released
        return to.put(key, ...args)
      },
    })
    let isSettled = false
    const copying = copyBlobs(
      filesOf(records),
      { from, to: waiting },
      {
        onProblem(_id, message, error) {
          assert.ok(error instanceof SourceDamage)
          gate.emit('throw')
          throw new Error(`stopped: ${message}`)
        },
        onProgress: () => undefined,
      },
    ).finally(() => (isSettled = true))
    copying.catch(() => undefined)
    await thrown
    // Every callback that is due runs before the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isSettled, false)
    gate.emit('release')
    await assert.rejects(copying, /stopped: Its bytes are missing in the source/)
    const kept = await Promise.all(begun.map((id) => to.get(id)))
    assert.deepEqual([begun.length, kept.includes(undefined)], [3, false])
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { encodeRecords, fillStore, isUnfinishedCopy, sourceOf, sourceOfStream } from '../../../core/copy/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { sealValue } from '../../../core/store/envelope.ts'
import { keys } from '../../../core/store/keys.ts'
import { appendsOf, payloadOf } from '../../contract/record-store-pair.ts'
import { flipsOf } from '../../support/store-contents.ts'

const HANDLERS = { onDifference: assert.fail, onProgress: () => undefined }

async function streamOf(store: MemoryRecords): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of encodeRecords(sourceOf(store))) chunks.push(chunk)
  return new Uint8Array(Buffer.concat(chunks))
}

/** Opens a stream that arrives in pieces of this size. */
const opener = (bytes: Uint8Array, size: number) =>
  async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }

async function createStore(entries: number): Promise<MemoryRecords> {
  const store = new MemoryRecords()
  await store.commit({ append: appendsOf(new Uint8Array(randomBytes(entries * 32))) })
  await store.commit({
    writes: [
      { key: keys.company('~ /%'), value: new Uint8Array() },
      { key: keys.file('large'), value: new Uint8Array(600_000).fill(7) },
      { key: logKeys.sealerLease(), value: new Uint8Array([1]) },
    ],
    adds: [{ key: keys.evidenceCount('company', 'acme'), delta: 3 }],
  })
  return store
}

async function contents(store: MemoryRecords) {
  const records: string[] = []
  for await (const { key, value } of store.list({ gte: ' ', lt: '\x7f' }))
    if (key !== logKeys.sealerLease()) records.push(`${key} ${Buffer.from(value).toString('hex')}`)
  const size = await store.logSize()
  const log = Buffer.from(await store.readLog(0, size))
  return { records, log: log.toString('hex'), payloads: await store.readPayloads(0, size) }
}

describe('the stream of a backup', () => {
  for (const size of [1_000_000, 4_099])
    it(`is read back into another store, in pieces of ${size} bytes`, async () => {
      const from = await createStore(40_000)
      const stream = await streamOf(from)
      const to = new MemoryRecords()
      const report = await fillStore({ from: sourceOfStream(opener(stream, size)), to }, HANDLERS)
      assert.deepEqual(report, { entries: 40_000, records: 3, compared: 40_003, differences: 0 })
      assert.deepEqual(await contents(to), await contents(from))
      const entry = await from.readLog(31_000, 1)
      assert.deepEqual([...((await to.readPayloads(31_000, 1))[0] ?? [])], [...payloadOf(entry)])
    })

  it('continues a store that was filled in part', async () => {
    const from = await createStore(20_000)
    const stream = await streamOf(from)
    const to = new MemoryRecords()
    const source = sourceOfStream(opener(stream, 50_000))
    let appends = 0
    const stopping = {
      ...source,
      async *log() {
        for await (const chunk of source.log()) {
          if ((appends += 1) === 2) throw new Error('stopped')
          yield chunk
        }
      },
    }
    await assert.rejects(fillStore({ from: stopping, to }, HANDLERS), /stopped/)
    const { entries, differences } = await fillStore({ from: source, to }, HANDLERS)
    assert.deepEqual([entries, differences], [20_000 - 16_384, 0])
    assert.deepEqual(await contents(to), await contents(from))
  })

  it('is refused if it is cut anywhere, or any byte of it is flipped', async () => {
    const small = new MemoryRecords()
    await small.commit({ append: appendsOf(new Uint8Array(randomBytes(3 * 32))) })
    await small.commit({ writes: [{ key: keys.company('acme'), value: new Uint8Array([1, 2, 3]) }] })
    const stream = await streamOf(small)
    const cuts = Array.from(stream, (_, i) => stream.subarray(0, i))
    for (const [i, damaged] of [...cuts, ...flipsOf(stream)].entries()) {
      const target = new MemoryRecords()
      const filling = fillStore({ from: sourceOfStream(opener(damaged, 100)), to: target }, HANDLERS)
      await assert.rejects(filling, { code: 'CORRUPT' }, `case ${i} of ${stream.length} cuts, then flips`)
      assert.ok(await isUnfinishedCopy(target), 'a server would open what was filled so far')
    }
  })

  it('of a newer format is refused with what to do', async () => {
    const store = await createStore(1)
    const stream = await streamOf(store)
    const other = new MemoryRecords()
    const sealed = sealValue('H', new Uint8Array([0, 0, 0, 0, 0, 0, 0, 2]), new Uint8Array(8))
    stream.set(sealed, 5)
    await assert.rejects(fillStore({ from: sourceOfStream(opener(stream, 100)), to: other }, HANDLERS), {
      code: 'CONFIG_ERROR',
    })
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { u64 } from '../../adapters/kit/index.ts'
import { appendsOf, bytes, logAppends, logEntries, type RecordStorePair } from './record-store-pair.ts'

/** Tests of the log. */
export function testLog(stores: RecordStorePair): void {
  describe('the log', () => {
    testLogReads(stores)
    testStoredEntries(stores)
    testFirstPositions(stores)
  })
}

/** Tests of reads of a range of the log. */
function testLogReads(stores: RecordStorePair): void {
  it('is dense for appends of every size, also across multiples of 256', async () => {
    const start = await stores.store.logSize()
    const sizes = [1, 1, 3, 250, 1, 1, 254, 2, 255, 256, 257, 512, 100, 700, 1, 31, 1024, 0, 5]
    let at = start
    for (const count of sizes) {
      const { firstPosition } = await stores.commitOk({ append: logAppends(at, count) })
      assert.equal(firstPosition, at)
      at += count
      assert.equal(await stores.store.logSize(), at)
    }
    const whole = logEntries(start, at - start)
    const payloads = logAppends(start, at - start).map(({ payload }) => payload)
    assert.deepEqual(await stores.payloads(start, at - start), payloads)
    assert.deepEqual(new Uint8Array(await stores.store.readLog(start, at - start)), whole)
    const expected = (from: number, count: number): Uint8Array =>
      whole.slice((from - start) * 32, (from - start + count) * 32)
    for (const from of [start, start + 1, start + 255, start + 256, start + 257, start + 1000, at - 6, at - 1]) {
      for (const count of [0, 1, 2, 255, 256, 257, 600, at])
        assert.deepEqual(new Uint8Array(await stores.store.readLog(from, count)), expected(from, count), `${count}`)
      for (const count of [0, 1, 2, 257])
        assert.deepEqual(await stores.payloads(from, count), payloads.slice(from - start, from - start + count))
    }
  })

  it('returns fewer entries than requested only at its end', async () => {
    const size = await stores.store.logSize()
    assert.ok(size > 0)
    const assertCount = async (from: number, count: number, expected: number): Promise<void> => {
      assert.equal((await stores.store.readLog(from, count)).length, expected * 32)
      assert.equal((await stores.payloads(from, count)).length, expected)
    }
    await assertCount(size - 1, 10, 1)
    await assertCount(size, 10, 0)
    await assertCount(size + 1000, 10, 0)
    await assertCount(0, Number.MAX_SAFE_INTEGER, size)
    const assertInvalid = async (from: number, count: number): Promise<void> => {
      await assert.rejects(stores.store.readLog(from, count), RangeError)
      await assert.rejects(stores.store.readPayloads(from, count), RangeError)
    }
    await assertInvalid(-1, 1)
    await assertInvalid(0, -1)
    await assertInvalid(0.5, 1)
    await assertInvalid(0, Infinity)
  })
}

/** Tests of the positions of entries, the sizes of payloads, and copies of both. */
function testStoredEntries(stores: RecordStorePair): void {
  it('finds positions, and any one of equal entries', async () => {
    const size = await stores.store.logSize()
    const entry = (n: number): Uint8Array => logEntries(1_000_000 + n, 1)
    for (const entries of [[entry(1), entry(2), entry(1)], [entry(2)], [entry(3)]])
      await stores.commitOk({ append: entries.flatMap(appendsOf) })
    const appended = [1, 2, 1, 2, 3]
    const positions = await stores.store.positionsOf([1, 2, 3, 4, 2].map(entry))
    for (const [i, n] of [1, 2, 3].entries()) assert.equal(appended[(positions[i] ?? 0) - size], n)
    assert.deepEqual(positions.slice(3), [undefined, positions[1]])
    assert.deepEqual(await stores.store.positionsOf([]), [])
    assert.deepEqual(await stores.store.positionsOf([3, 3, 3].map(entry)), [size + 4, size + 4, size + 4])
  })

  it('stores payloads of 1 to 16,384 bytes, also equal ones of equal entries', async () => {
    const size = await stores.store.logSize()
    const [entry] = logAppends(1_100_000, 1)
    assert.ok(entry)
    const payloads = [new Uint8Array(1), new Uint8Array(16_384).fill(0xff), new Uint8Array(1)]
    const append = payloads.map((payload) => ({ entry: entry.entry, payload }))
    await stores.commitOk({ append })
    assert.deepEqual(await stores.payloads(size, 10), payloads)
    const [position = 0] = await stores.store.positionsOf([entry.entry])
    assert.ok(position >= size && position < size + payloads.length, String(position))
  })

  it('copies entries and payloads, so that callers may change those that they gave or received', async () => {
    const size = await stores.store.logSize()
    const [entry, payload] = [logEntries(1_200_000, 1), bytes('payload')]
    await stores.commitOk({ append: [{ entry, payload }] })
    entry.fill(0)
    payload.fill(0)
    for (let i = 0; i < 2; i += 1) {
      const [received] = await stores.store.readPayloads(size, 1)
      assert.deepEqual(received && new Uint8Array(received), bytes('payload'))
      received?.fill(0)
      const log = await stores.store.readLog(size, 1)
      assert.deepEqual(new Uint8Array(log), logEntries(1_200_000, 1))
      log.fill(0)
    }
  })
}

/** Tests of the position that a commit returns. */
function testFirstPositions(stores: RecordStorePair): void {
  it('keeps the entries of a commit together, with their positions, while others append', async () => {
    const commits = Array.from({ length: 60 }, (_, i) => ({
      writes: [{ key: `placed/${i}`, value: bytes('at'), positionOf: i % 9 }],
      append: logAppends(2_000_000 + i * 100, (i % 9) + 1),
    }))
    const start = await stores.store.logSize()
    const results = await stores.commitAll(commits)
    const ranges: [number, number][] = []
    for (const [i, result] of results.entries()) {
      assert.ok(result.ok)
      const append = commits[i]?.append ?? []
      const log = await stores.store.readLog(result.firstPosition, append.length)
      assert.deepEqual(new Uint8Array(log), new Uint8Array(Buffer.concat(append.map(({ entry }) => entry))))
      const payloads = append.map(({ payload }) => payload)
      assert.deepEqual(await stores.payloads(result.firstPosition, append.length), payloads)
      const [placed] = await stores.store.get([`placed/${i}`])
      assert.deepEqual(
        placed && new Uint8Array(placed.value),
        new Uint8Array([...bytes('at'), ...u64(result.firstPosition + (i % 9))]),
      )
      ranges.push([result.firstPosition, result.firstPosition + append.length])
    }
    ranges.sort(([a], [b]) => a - b)
    let at = start
    for (const [from, to] of ranges) {
      assert.equal(from, at)
      at = to
    }
    assert.equal(await stores.store.logSize(), at)
  })

  it('returns its size to a commit that appends nothing', async () => {
    const size = await stores.store.logSize()
    assert.equal((await stores.commitOk({ writes: [{ key: 'log/none', value: bytes('') }] })).firstPosition, size)
  })
}

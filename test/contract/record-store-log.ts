import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bytes, logEntries, type RecordStorePair } from './record-store-pair.ts'

/** Tests of the log. */
export function testLog(stores: RecordStorePair): void {
  describe('the log', () => {
    it('is dense for appends of every size, also across multiples of 256', async () => {
      const start = await stores.store.logSize()
      const sizes = [1, 1, 3, 250, 1, 1, 254, 2, 255, 256, 257, 512, 100, 700, 1, 31, 1024, 0, 5]
      let at = start
      for (const count of sizes) {
        const { firstPosition } = await stores.commitOk({ append: logEntries(at, count) })
        assert.equal(firstPosition, at)
        at += count
        assert.equal(await stores.store.logSize(), at)
      }
      const whole = logEntries(start, at - start)
      assert.deepEqual(new Uint8Array(await stores.store.readLog(start, at - start)), whole)
      const expected = (from: number, count: number): Uint8Array =>
        whole.slice((from - start) * 32, (from - start + count) * 32)
      for (const from of [start, start + 1, start + 255, start + 256, start + 257, start + 1000, at - 6, at - 1]) {
        for (const count of [0, 1, 2, 255, 256, 257, 600, at])
          assert.deepEqual(
            new Uint8Array(await stores.store.readLog(from, count)),
            expected(from, count),
            `from ${from}, count ${count}`,
          )
      }
    })

    it('returns fewer entries than requested only at its end', async () => {
      const size = await stores.store.logSize()
      assert.ok(size > 0)
      assert.equal((await stores.store.readLog(size - 1, 10)).length, 32)
      assert.equal((await stores.store.readLog(size, 10)).length, 0)
      assert.equal((await stores.store.readLog(size + 1000, 10)).length, 0)
      assert.equal((await stores.store.readLog(0, Number.MAX_SAFE_INTEGER)).length, size * 32)
      for (const [from, count] of [
        [-1, 1],
        [0, -1],
        [0.5, 1],
        [0, Infinity],
      ] as const)
        await assert.rejects(stores.store.readLog(from, count), RangeError)
    })

    it('finds positions, and the first one of equal entries', async () => {
      const size = await stores.store.logSize()
      const entry = (n: number): Uint8Array => logEntries(1_000_000 + n, 1)
      const append = Buffer.concat([entry(1), entry(2), entry(1)])
      await stores.commitOk({ append })
      await stores.commitOk({ append: entry(2) })
      await stores.commitOk({ append: entry(3) })
      const entries = [entry(3), entry(1), entry(4), entry(2), entry(2)]
      assert.deepEqual(await stores.store.positionsOf(entries), [size + 4, size, undefined, size + 1, size + 1])
      assert.deepEqual(await stores.store.positionsOf([]), [])
      assert.deepEqual(
        await stores.store.positionsOf(Array.from({ length: 20 }, () => entry(3))),
        Array.from({ length: 20 }, () => size + 4),
      )
    })

    it('keeps the entries of a commit together while others append', async () => {
      const commits = Array.from({ length: 60 }, (_, i) => ({ append: logEntries(2_000_000 + i * 100, (i % 9) + 1) }))
      const start = await stores.store.logSize()
      const results = await stores.commitAll(commits)
      const ranges: [number, number][] = []
      for (const [i, result] of results.entries()) {
        assert.ok(result.ok)
        const append = commits[i]?.append ?? new Uint8Array()
        assert.deepEqual(new Uint8Array(await stores.store.readLog(result.firstPosition, append.length / 32)), append)
        ranges.push([result.firstPosition, result.firstPosition + append.length / 32])
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
      const { firstPosition } = await stores.commitOk({ writes: [{ key: 'log/none', value: bytes('') }] })
      assert.equal(firstPosition, size)
    })
  })
}

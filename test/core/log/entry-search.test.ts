import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { EntrySearch } from '../../../core/log/entry-search.ts'

it('finds the first selected entry of any range, and reads no entry again in which there is none', () => {
  const logs = fc.array(fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1), { minLength: 100, maxLength: 100 })
  const ranges = fc.array(fc.tuple(fc.nat(110), fc.nat(100)), { minLength: 1, maxLength: 10 })
  return fc.assert(
    fc.asyncProperty(logs, ranges, async (log, asked) => {
      let read = 0
      const readPayloads = async (from: number, count: number) => {
        read += count
        return log.slice(from, from + count).map((each) => Uint8Array.of(each))
      }
      const search = new EntrySearch({ readPayloads }, ([selected]) => selected === 1)
      for (const [from, to] of asked) {
        const found = log.findIndex((each, i) => each === 1 && i >= from && i < to)
        assert.equal(await search.first(from, to), found === -1 ? undefined : found)
        read = 0
        await search.first(from, to)
        assert.ok(found === -1 ? read === 0 : read <= Math.max(16, found - from))
      }
    }),
  )
})

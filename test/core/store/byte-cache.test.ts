import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ByteCache } from '../../../core/store/byte-cache.ts'

describe('ByteCache', () => {
  it('keeps exactly the entries used last that fit, as a list does', () => {
    const step = fc.record({ key: fc.nat(8), bytes: fc.option(fc.nat(12), { nil: undefined }) })
    fc.assert(
      fc.property(fc.nat(20), fc.array(step, { maxLength: 80 }), (maxBytes, steps) => {
        const cache = new ByteCache<number, number>(maxBytes)
        // The entry used last is at the end.
        let list: { readonly key: number; readonly value: number; readonly bytes: number }[] = []
        const total = (): number => list.reduce((sum, { bytes }) => sum + bytes, 0)
        for (const [value, { key, bytes }] of steps.entries()) {
          const found = list.find((entry) => entry.key === key)
          if (bytes === undefined) {
            assert.equal(cache.get(key), found?.value)
            if (found !== undefined) list = [...list.filter((entry) => entry !== found), found]
          } else {
            cache.set(key, value, bytes)
            list = list.filter((entry) => entry !== found)
            if (bytes <= maxBytes) list.push({ key, value, bytes })
            while (total() > maxBytes) list.shift()
          }
          assert.equal(cache.bytes, total())
        }
        for (const { key, value } of list) assert.equal(cache.get(key), value)
      }),
    )
  })

  it('holds nothing after it was cleared', () => {
    const cache = new ByteCache<string, number>(10)
    cache.set('a', 1, 10)
    cache.clear()
    assert.equal(cache.get('a'), undefined)
    assert.equal(cache.bytes, 0)
  })
})

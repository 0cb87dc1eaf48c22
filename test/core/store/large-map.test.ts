import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LargeMap } from '../../../core/store/large-map.ts'

describe('a map for many keys', () => {
  it('has the entries of a Map in the same order, also with more keys than one part takes', () => {
    const [large, plain] = [new LargeMap<number, number>(), new Map<number, number>()]
    for (let i = 0; i < 12_000; i++) {
      // Every third one sets a key again that may be in a part before.
      const key = i % 3 === 0 ? Math.floor(i / 5) : i
      large.set(key, i)
      plain.set(key, i)
    }
    const entries: [number, number][] = []
    large.forEach((value, key) => entries.push([key, value]))
    assert.deepEqual(entries, [...plain])
    assert.equal(large.size, plain.size)
    for (let key = 0; key < 12_001; key++) {
      assert.equal(large.get(key), plain.get(key))
      assert.equal(large.has(key), plain.has(key))
    }
  })

  it('keeps null as a value, in every part', () => {
    const map = new LargeMap<number, number | null>()
    for (let i = 0; i < 9_000; i++) map.set(i, null)
    assert.deepEqual([map.get(0), map.get(8_999), map.get(9_000)], [null, null, undefined])
    map.set(0, 1)
    assert.deepEqual([map.get(0), map.size], [1, 9_000])
  })
})

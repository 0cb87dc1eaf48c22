import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SecondUseMap } from '../../../core/store/second-use-map.ts'

describe('SecondUseMap', () => {
  it('keeps a value from the second time on that its key is set', () => {
    const map = new SecondUseMap<string, number>(10)
    map.set('a', 1)
    assert.equal(map.get('a'), undefined)
    map.set('a', 2)
    assert.equal(map.get('a'), 2)
    map.set('a', 3)
    assert.equal(map.get('a'), 3)
    map.set('b', 4)
    assert.deepEqual([map.get('a'), map.get('b')], [3, undefined])
  })

  it('keeps nothing that is set again only after 16,384 other keys', () => {
    const map = new SecondUseMap<number, number>(1_000_000)
    for (let round = 0; round < 3; round++)
      for (let key = 0; key < 20_000; key++) {
        map.set(key, round)
        assert.equal(map.get(key), undefined)
      }
  })

  it('keeps no more than the size that it was given', () => {
    const map = new SecondUseMap<number, string>(20, (text) => text.length)
    for (const key of [1, 1, 2, 2, 3, 3]) map.set(key, 'x'.repeat(8))
    assert.deepEqual(
      [1, 2, 3].map((key) => map.get(key)?.length),
      [undefined, 8, 8],
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SecondUseMap } from '../../../core/store/bounded-map.ts'

describe('SecondUseMap', () => {
  it('keeps a value from the second time on that its key is set', () => {
    const map = new SecondUseMap<string, number>(10)
    map.set('a', () => 1)
    assert.equal(map.get('a'), undefined)
    map.set('a', () => 2)
    assert.equal(map.get('a'), 2)
    map.set('a', () => 3)
    assert.equal(map.get('a'), 3)
    map.set('b', () => 4)
    assert.deepEqual([map.get('a'), map.get('b')], [3, undefined])
  })

  it('makes no value before it is kept', () => {
    const map = new SecondUseMap<string, number>(10)
    map.set('a', () => assert.fail('the value was made'))
  })

  it('keeps few of the values that are set again only after many others', () => {
    const map = new SecondUseMap<string, number>(1_000_000)
    for (let round = 0; round < 3; round++) for (let key = 0; key < 100_000; key++) map.set(`key/${key}`, () => round)
    let kept = 0
    for (let key = 0; key < 100_000; key++) if (map.get(`key/${key}`) !== undefined) kept++
    assert.ok(kept < 2_000, `${kept} of 100,000`)
  })

  it('keeps most of the values that are set again after fewer others than it has slots', () => {
    const map = new SecondUseMap<string, number>(1_000_000, undefined, 65_536)
    for (let round = 0; round < 2; round++) for (let key = 0; key < 20_000; key++) map.set(`key/${key}`, () => round)
    let kept = 0
    for (let key = 0; key < 20_000; key++) if (map.get(`key/${key}`) !== undefined) kept++
    assert.ok(kept > 10_000, `${kept} of 20,000`)
  })

  it('never returns an older value, also if another key was remembered in its place', () => {
    const map = new SecondUseMap<string, number>(10)
    map.set('a', () => 0)
    map.set('a', () => 0)
    for (let i = 1; i < 100_000; i++) {
      map.set(`key/${i}`, () => i)
      map.set('a', () => i)
      assert.equal(map.get('a'), i)
    }
  })

  it('drops a value, and keeps the next one at once', () => {
    const map = new SecondUseMap<string, number>(10)
    for (const value of [1, 2]) map.set('a', () => value)
    map.delete('a')
    assert.equal(map.get('a'), undefined)
    map.set('a', () => 3)
    assert.equal(map.get('a'), 3)
  })

  it('keeps no more than the size that it was given', () => {
    const map = new SecondUseMap<string, string>(20, (text) => text.length)
    for (const key of ['1', '1', '2', '2', '3', '3']) map.set(key, () => 'x'.repeat(8))
    assert.deepEqual(
      ['1', '2', '3'].map((key) => map.get(key)?.length),
      [undefined, 8, 8],
    )
  })
})

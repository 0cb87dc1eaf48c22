import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from '../../../core/store/bounded-map.ts'

describe('BoundedMap', () => {
  it('never returns a wrong or an old value', () => {
    const key = fc.nat(12)
    const step = fc.oneof(fc.record({ key }), fc.record({ key, value: fc.nat() }))
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 9 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
        const bounded = new BoundedMap<number, number>(max)
        const all = new Map<number, number>()
        for (const { key: at, value } of steps as readonly { key: number; value?: number }[]) {
          if (value !== undefined) {
            bounded.set(at, value)
            all.set(at, value)
            assert.equal(bounded.get(at), value)
          } else assert.ok([undefined, all.get(at)].includes(bounded.get(at)))
        }
      }),
    )
  })

  it('keeps the entries that were used last: at least half of the maximum, and never more than it', () => {
    for (const max of [2, 3, 7, 8, 100]) {
      const map = new BoundedMap<number, number>(max)
      for (let i = 0; i < 5 * max; i++) {
        map.set(i, i)
        for (let recent = i; recent > i - Math.floor(max / 2) && recent >= 0; recent--)
          assert.equal(map.get(recent), recent)
      }
      let kept = 0
      for (let i = 5 * max - 1; i >= 0; i--) if (map.get(i) !== undefined) kept++
      assert.ok(kept <= max, `${kept} of ${max}`)
    }
  })

  it('keeps an entry that is read again and again', () => {
    const map = new BoundedMap<string, number>(4)
    map.set('hot', 1)
    for (let i = 0; i < 100; i++) {
      map.set(`cold ${i}`, i)
      assert.equal(map.get('hot'), 1)
    }
    assert.equal(map.get('cold 0'), undefined)
  })

  it('replaces a value without dropping another entry', () => {
    const map = new BoundedMap<string, number>(4)
    map.set('a', 1)
    map.set('b', 1)
    for (let i = 2; i < 20; i++) map.set('b', i)
    assert.deepEqual([map.get('a'), map.get('b')], [1, 19])
  })

  it('never returns an old value, nor keeps more than its size, if values differ in size', () => {
    const step = fc.record({ key: fc.nat(6), size: fc.option(fc.nat(12), { nil: undefined }) })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), fc.array(step, { maxLength: 80 }), (max, steps) => {
        const map = new BoundedMap<number, { readonly size: number }>(max, ({ size }) => size)
        const all = new Map<number, { readonly size: number }>()
        for (const { key, size } of steps)
          if (size === undefined) assert.ok([undefined, all.get(key)].includes(map.get(key)))
          else {
            const value = { size }
            map.set(key, value)
            all.set(key, value)
            assert.equal(map.get(key), size > Math.floor(max / 2) ? undefined : value)
          }
        const kept = [...all.keys()].map((key) => map.get(key)?.size ?? 0)
        assert.ok(kept.reduce((sum, size) => sum + size, 0) <= max + Math.max(...kept, 0))
      }),
    )
  })

  it('drops single entries, and has room for others then', () => {
    const map = new BoundedMap<string, number>(4)
    for (const key of ['a', 'b', 'c']) map.set(key, 1)
    for (const key of ['a', 'c', 'none']) map.delete(key)
    map.set('d', 1)
    const shown = ['a', 'b', 'c', 'd'].map((key) => map.get(key))
    assert.deepEqual(shown, [undefined, 1, undefined, 1])
  })

  it('needs room for two entries', () => {
    for (const max of [1, 0, -1, 2.5, Number.NaN]) assert.throws(() => new BoundedMap(max), RangeError)
  })
})

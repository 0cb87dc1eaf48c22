import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SortedKeys } from '../../../adapters/memory/sorted-keys.ts'

describe('SortedKeys', () => {
  it('holds the same keys as a sorted array, also over many chunks', () => {
    const name = fc.nat({ max: 2999 }).map((n) => `k/${n.toString(36)}`)
    const change = fc.record({ key: name, add: fc.boolean() })
    fc.assert(
      fc.property(
        fc.nat({ max: 3000 }),
        fc.array(change, { maxLength: 300 }),
        name,
        name,
        fc.nat({ max: 2000 }),
        (first, changes, a, b, count) => {
          const keys = new SortedKeys()
          const model = new Set<string>()
          for (let i = 0; i < first; i += 1)
            changes.push({ key: `k/${((i * 7919) % 3000).toString(36)}`, add: i % 5 !== 0 })
          for (const { key, add } of changes) {
            if (add) keys.add(key)
            else keys.delete(key)
            if (add) model.add(key)
            else model.delete(key)
          }
          const [gte, lt] = a < b ? [a, b] : [b, a]
          const inRange = [...model].filter((key) => key >= gte && key < lt).sort()
          assert.deepEqual(keys.slice({ gte, lt }, count), inRange.slice(0, count))
          assert.deepEqual(keys.slice({ gte, lt, reverse: true }, count), inRange.toReversed().slice(0, count))
          assert.deepEqual(keys.slice({ gte: '', lt: '~' }, Infinity), [...model].sort())
          assert.deepEqual(keys.slice({ gte: '', lt: '~', reverse: true }, Infinity), [...model].sort().reverse())
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is empty after its last key was deleted', () => {
    const keys = new SortedKeys()
    keys.delete('none')
    keys.add('a')
    keys.add('a')
    keys.delete('a')
    assert.deepEqual(keys.slice({ gte: '', lt: '~' }, 10), [])
    assert.deepEqual(keys.slice({ gte: '', lt: '~', reverse: true }, 10), [])
  })
})

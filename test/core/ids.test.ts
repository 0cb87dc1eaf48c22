import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createIdSource, isId } from '../../core/ids.ts'
import { ManualClock } from '../support/manual-clock.ts'

const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
const assertAscending = (ids: readonly string[]): void => {
  for (let i = 1; i < ids.length; i++)
    assert.ok((ids[i - 1] as string) < (ids[i] as string), `${ids[i - 1]}, ${ids[i]}`)
}

describe('createIdSource', () => {
  it('makes UUIDs of version 7 and variant 10 that begin with the time', () => {
    const clock = new ManualClock()
    const ids = createIdSource(clock)
    for (let i = 0; i < 100; i++) {
      const id = ids.next()
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.ok(isId(id))
      assert.equal(timeOf(id), clock.now())
    }
  })

  it('makes ascending ids, also more than 4,096 in one millisecond, with the time hardly ahead of the clock', () => {
    const clock = new ManualClock()
    const ids = createIdSource(clock)
    const drawn = Array.from({ length: 10_000 }, () => ids.next())
    assertAscending(drawn)
    assert.equal(new Set(drawn).size, drawn.length)
    assert.ok(timeOf(drawn.at(-1) as string) <= clock.now() + 3)
  })

  it('makes ascending ids, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -100_000, max: 100_000 }), { maxLength: 200 }), (jumps) => {
        const clock = new ManualClock()
        const ids = createIdSource(clock)
        const drawn = [ids.next()]
        for (const jump of jumps) {
          clock.set(clock.now() + jump)
          drawn.push(ids.next())
        }
        assertAscending(drawn)
      }),
    )
  })

  it('follows the clock again after the clock has caught up', () => {
    const clock = new ManualClock()
    const ids = createIdSource(clock)
    ids.next()
    clock.set(clock.now() - 5_000)
    ids.next()
    clock.set(clock.now() + 6_000)
    assert.equal(timeOf(ids.next()), clock.now())
  })

  it('makes ids that isId distinguishes from any other text', () => {
    const id = createIdSource(new ManualClock()).next()
    for (const other of ['', id.toUpperCase(), `${id} `, `${id}\n`, id.slice(1), id.replaceAll('-', ''), `x${id}`])
      assert.equal(isId(other), other === id, JSON.stringify(other))
  })
})

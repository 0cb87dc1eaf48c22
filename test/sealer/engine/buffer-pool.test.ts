import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BufferPool } from '../../../sealer/engine/buffer-pool.ts'

describe('slots', () => {
  it('are so many and no more, shared, each one person’s at a time, and go round in the order of asking', async () => {
    const slots = new BufferPool(2, 64)
    const [a, b] = [await slots.acquire(), await slots.acquire()]
    assert.notEqual(a.buffer, b.buffer)
    for (const slot of [a, b]) assert.ok(slot.buffer instanceof SharedArrayBuffer && slot.length === 64)
    const got: (readonly [string, Uint8Array])[] = []
    const waiting = ['first', 'second', 'third'].map(async (name) => {
      const slot = await slots.acquire()
      got.push([name, slot])
      return slot
    })
    await new Promise(setImmediate)
    assert.deepEqual(got, [])
    slots.release(b)
    await waiting[0]
    assert.deepEqual(got, [['first', b]])
    slots.release(a)
    slots.release(b)
    await Promise.all(waiting)
    assert.deepEqual(got.slice(1), [
      ['second', a],
      ['third', b],
    ])
    slots.release(a)
    assert.equal(await slots.acquire(), a)
  })
})

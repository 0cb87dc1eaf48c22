import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BufferPool } from '../../../sealer/engine/buffer-pool.ts'

describe('BufferPool', () => {
  it('hands out a fixed number of shared buffers, each to one caller, in the order of the calls', async () => {
    const pool = new BufferPool(2, 64)
    const [a, b] = [await pool.acquire(), await pool.acquire()]
    assert.notEqual(a.buffer, b.buffer)
    for (const buffer of [a, b]) assert.ok(buffer.buffer instanceof SharedArrayBuffer && buffer.length === 64)
    const acquired: (readonly [string, Uint8Array])[] = []
    const waiting = ['first', 'second', 'third'].map(async (name) => {
      const buffer = await pool.acquire()
      acquired.push([name, buffer])
      return buffer
    })
    await new Promise(setImmediate)
    assert.deepEqual(acquired, [])
    pool.release(b)
    await waiting[0]
    assert.deepEqual(acquired, [['first', b]])
    pool.release(a)
    pool.release(b)
    await Promise.all(waiting)
    assert.deepEqual(acquired.slice(1), [
      ['second', a],
      ['third', b],
    ])
    pool.release(a)
    assert.equal(await pool.acquire(), a)
  })
})

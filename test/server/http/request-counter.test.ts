import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WindowCounter } from '../../../server/http/request-counter.ts'

describe('WindowCounter', () => {
  const counterAt = (maxSenders?: number) => {
    const time = { nowMs: 1_000 }
    const counter = new WindowCounter({ nowMs: () => time.nowMs, ...(maxSenders !== undefined && { maxSenders }) })
    return { time, counter }
  }

  it('counts each sender, in a window that starts with its first request', async () => {
    const { time, counter } = counterAt()
    assert.deepEqual(await counter.countRequest('a', 60_000), { requests: 1, resetsInMs: 60_000 })
    time.nowMs += 20_000
    assert.deepEqual(await counter.countRequest('a', 60_000), { requests: 2, resetsInMs: 40_000 })
    assert.deepEqual(await counter.countRequest('b', 60_000), { requests: 1, resetsInMs: 60_000 })
    time.nowMs += 39_999
    assert.deepEqual(await counter.countRequest('a', 60_000), { requests: 3, resetsInMs: 1 })
    time.nowMs += 1
    assert.deepEqual(await counter.countRequest('a', 60_000), { requests: 1, resetsInMs: 60_000 })
    assert.deepEqual(await counter.countRequest('b', 60_000), { requests: 2, resetsInMs: 20_000 })
  })

  it('forgets windows that have ended', async () => {
    const { time, counter } = counterAt()
    for (let i = 0; i < 1_000; i++) await counter.countRequest(`sender ${i}`, 60_000)
    assert.equal(counter.size, 1_000)
    time.nowMs += 60_000
    await counter.countRequest('another', 60_000)
    assert.equal(counter.size, 1)
  })

  it('holds a bounded number of windows and drops the oldest', async () => {
    const { time, counter } = counterAt(3)
    for (const sender of ['a', 'b', 'c', 'd']) {
      await counter.countRequest(sender, 60_000)
      time.nowMs += 1
    }
    assert.equal(counter.size, 3)
    assert.equal((await counter.countRequest('b', 60_000)).requests, 2)
    assert.equal((await counter.countRequest('a', 60_000)).requests, 1)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { backoffMs, systemClock, untilAborted } from '../../core/clock.ts'

describe('backoffMs', () => {
  const pauses = (random: number): readonly number[] =>
    [0, 1, 2, 3, 4, 50].map((attempt) => backoffMs({ attempt, firstMs: 10, maxMs: 100 }, random))

  it('doubles up to the maximum', () => {
    assert.deepEqual(pauses(1), [10, 20, 40, 80, 100, 100])
  })

  it('is at least half of the limit', () => {
    assert.deepEqual(pauses(0), [5, 10, 20, 40, 50, 50])
  })

  it('is random by default', () => {
    const drawn = new Set(Array.from({ length: 50 }, () => backoffMs({ attempt: 0, firstMs: 1000, maxMs: 1000 })))
    assert.ok(drawn.size > 1)
    for (const ms of drawn) assert.ok(ms >= 500 && ms < 1000)
  })
})

describe('untilAborted', () => {
  it('settles as the promise if there is no abort', async () => {
    assert.equal(await untilAborted(Promise.resolve(1), undefined), 1)
    assert.equal(await untilAborted(Promise.resolve(2), new AbortController().signal), 2)
    await assert.rejects(untilAborted(Promise.reject(new Error('failed')), new AbortController().signal), /failed/)
  })

  it('rejects with the reason if the signal comes first, also if it was aborted before', async () => {
    const controller = new AbortController()
    const waiting = untilAborted(new Promise(() => {}), controller.signal)
    controller.abort(new Error('closing'))
    await assert.rejects(waiting, /closing/)
    await assert.rejects(untilAborted(Promise.resolve(1), controller.signal), /closing/)
  })
})

describe('systemClock.sleep', () => {
  it('resolves for no time and negative times', async () => {
    await systemClock.sleep(0)
    await systemClock.sleep(-5)
  })

  it('sleeps longer than a timer can, also if it is aborted then', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const timerMs = 2 ** 31 - 1
    const controller = new AbortController()
    let hasEnded = false
    const sleeping = systemClock.sleep(timerMs + 1_000).then(() => (hasEnded = true))
    const aborted = systemClock.sleep(2 * timerMs, controller.signal)
    t.mock.timers.tick(timerMs)
    t.mock.timers.tick(999)
    await setImmediate()
    assert.equal(hasEnded, false)
    t.mock.timers.tick(1)
    await sleeping
    controller.abort(new Error('closing'))
    await assert.rejects(aborted, /closing/)
  })

  it('rejects with the reason of the signal, before and during the sleep', async () => {
    const controller = new AbortController()
    const sleeping = systemClock.sleep(2 ** 40, controller.signal)
    controller.abort(new Error('closing'))
    await assert.rejects(sleeping, /closing/)
    await assert.rejects(systemClock.sleep(0, controller.signal), /closing/)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClockWatch } from '../../../server/startup/clock-watch.ts'
import { settle } from '../../support/manual-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const MINUTE_MS = 60_000

/** A watch over clocks that only move when they are told to. */
function watchedClocks() {
  const times = { wall: 1e12, monotonic: 0 }
  const warnings: object[] = []
  const watch = new ClockWatch({
    logger: { ...silentLogger, warn: (fields) => void warnings.push(fields) },
    now: () => times.wall,
    monotonicMs: () => times.monotonic,
  })
  const pass = (ms: number): void => {
    times.wall += ms
    times.monotonic += ms
    watch.tick()
  }
  return { watch, times, warnings, pass }
}

describe('the watch over the clock', () => {
  it('notices that it was set while the server runs, until it is set back', () => {
    const { watch, times, warnings, pass } = watchedClocks()
    pass(365 * 24 * 60 * MINUTE_MS)
    times.wall += MINUTE_MS
    pass(10)
    assert.deepEqual([watch.problem, warnings], [undefined, []])
    times.wall -= 2 * MINUTE_MS
    pass(10)
    assert.match(watch.problem ?? '', /set by -120 s/)
    assert.deepEqual(warnings, [{ seconds: -120 }])
    times.wall += 2 * MINUTE_MS
    pass(10)
    assert.equal(watch.problem, undefined)
  })

  it('compares it with clocks that are not ours, of which a chain may stand still', async () => {
    const { watch, times, warnings, pass } = watchedClocks()
    const stopping = new AbortController()
    const outside = { time: times.wall + 6 * MINUTE_MS }
    const broken = { readTime: () => Promise.reject(new Error('unreachable')) }
    watch.start([{}, undefined, broken, { readTime: async () => outside }], stopping.signal)
    await settle()
    stopping.abort()
    assert.match(watch.problem ?? '', /360 s behind that of the object store/)
    assert.equal(warnings.length, 1)
    watch.note('the object store', { time: times.wall - 5 * MINUTE_MS })
    assert.equal(watch.problem, undefined)
    watch.note('tsa.example', { time: times.wall - 5 * MINUTE_MS - 1 })
    assert.match(watch.problem ?? '', /300 s ahead of that of tsa.example/)
    watch.note('tsa.example', { time: times.wall })
    watch.note('the chain', { time: times.wall - 60 * MINUTE_MS, isLeast: true })
    assert.equal(watch.problem, undefined)
    watch.note('the chain', { time: times.wall + 60 * MINUTE_MS, isLeast: true })
    assert.match(watch.problem ?? '', /behind that of the chain/)
    watch.note('the chain', { time: times.wall, isLeast: true })

    // Another clock that agrees says that the one before was wrong.
    times.wall += 60 * MINUTE_MS
    pass(0)
    assert.match(watch.problem ?? '', /set by 3600 s/)
    watch.note('tsa.example', { time: times.wall })
    assert.equal(watch.problem, undefined)
  })
})

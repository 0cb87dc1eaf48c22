import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClockWatch } from '../../../server/startup/clock-watch.ts'
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

  it('compares it with clocks that are not ours', () => {
    const { watch, times, warnings, pass } = watchedClocks()
    watch.note('tsa.example', times.wall + 6 * MINUTE_MS)
    assert.match(watch.problem ?? '', /360 s behind that of tsa.example/)
    assert.equal(warnings.length, 1)
    watch.note('tsa.example', times.wall - 5 * MINUTE_MS)
    assert.equal(watch.problem, undefined)
    watch.note('tsa.example', times.wall - 5 * MINUTE_MS - 1)
    assert.match(watch.problem ?? '', /300 s ahead of that of tsa.example/)
    watch.note('tsa.example', times.wall)
    assert.equal(watch.problem, undefined)

    // Another clock that agrees says that the one before was wrong.
    times.wall += 60 * MINUTE_MS
    pass(0)
    assert.match(watch.problem ?? '', /set by 3600 s/)
    watch.note('tsa.example', times.wall)
    assert.equal(watch.problem, undefined)
  })
})

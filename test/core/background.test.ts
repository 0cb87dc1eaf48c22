import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Background } from '../../core/clock.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'

/** A task that runs 1 s after a request, and again 5 s after a failure. `runs` has the times at which it ran. */
function backgroundTask(run: (signal: AbortSignal) => Promise<boolean> = async () => false) {
  const clock = new ManualClock(0)
  const runs: number[] = []
  const warnings: string[] = []
  const warn = (_: object, message: string): void => void warnings.push(message)
  const background = new Background({
    clock,
    logger: { debug() {}, info() {}, warn, error() {} },
    failure: 'it failed',
    delayMs: 1_000,
    retryMs: 5_000,
    run(signal) {
      runs.push(clock.now())
      return run(signal)
    },
  })
  return { background, clock, runs, warnings }
}

describe('a task in the background', () => {
  it('runs once for all requests before it, and again as long as it asks for it', async () => {
    let left = 2
    const { background, clock, runs } = backgroundTask(async () => --left > 0)
    background.request()
    await clock.advance(500)
    background.request()
    await clock.advance(10_000)
    assert.deepEqual(runs, [1_000, 2_000])
    background.request()
    await background.runNow()
    assert.deepEqual(runs, [1_000, 2_000, 10_500])
  })

  it('is logged and repeated later if it fails', async () => {
    let left = 2
    const { background, clock, runs, warnings } = backgroundTask(async () => {
      if (--left > 0) throw new Error('injected')
      return false
    })
    await background.runNow()
    await clock.advance(60_000)
    assert.deepEqual(runs, [0, 5_000])
    assert.deepEqual(warnings, ['it failed'])
  })

  it('is aborted and waited for when it stops, and does not run after that', async () => {
    let isEnded = false
    const { background, clock, runs, warnings } = backgroundTask(async (signal) => {
      await clock.sleep(3_000, signal).finally(() => (isEnded = true))
      return true
    })
    background.request()
    await clock.advance(1_000)
    background.request()
    await background.stop()
    assert.ok(isEnded)
    background.request()
    await settle()
    await clock.advance(60_000)
    assert.deepEqual([runs, warnings, clock.sleeping], [[1_000], [], 0])
  })
})

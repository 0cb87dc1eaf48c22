import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Background } from '../../core/background.ts'
import { RegistryError } from '../../core/errors.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'

/** Work that runs again 5 s after a failure. `runs` has the times at which it ran. */
function backgroundWork(run: (signal: AbortSignal) => Promise<number | undefined> = async () => undefined) {
  const clock = new ManualClock(0)
  const runs: number[] = []
  const warnings: string[] = []
  const warn = (_: object, message: string): void => void warnings.push(message)
  const background = new Background({
    clock,
    logger: { debug() {}, info() {}, warn, error() {} },
    failure: 'it failed',
    retryMs: () => 5_000,
    run(signal) {
      runs.push(clock.now())
      return run(signal)
    },
  })
  return { background, clock, runs, warnings }
}

describe('work in the background', () => {
  it('runs once for all requests before it, and again as long as it asks for it', async () => {
    let left = 2
    const { background, clock, runs } = backgroundWork(async () => (--left > 0 ? 1_000 : undefined))
    background.request(1_000)
    await clock.advance(500)
    background.request(1_000)
    await clock.advance(10_000)
    assert.deepEqual(runs, [1_000, 2_000])
    background.request(1_000)
    await background.runNow()
    assert.deepEqual(runs, [1_000, 2_000, 10_500])
  })

  it('is logged and repeated later if it fails', async () => {
    let left = 2
    const { background, clock, runs, warnings } = backgroundWork(async () => {
      if (--left > 0) throw new Error('injected')
      return undefined
    })
    await background.runNow()
    await clock.advance(60_000)
    assert.deepEqual(runs, [0, 5_000])
    assert.deepEqual(warnings, ['it failed'])
  })

  it('is not repeated before the time for which a service outside asks', async () => {
    const asked = [9_000, 1_000]
    const { background, clock, runs } = backgroundWork(async () => {
      const retryAfterMs = asked.shift()
      if (retryAfterMs !== undefined) throw new RegistryError('AUTHORITY_FAILED', 'injected', { retryAfterMs })
      return undefined
    })
    await background.runNow()
    await clock.advance(60_000)
    assert.deepEqual(runs, [0, 9_000, 14_000])
  })

  it('runs at once if it is woken, but not before the end of a pause after a failure', async () => {
    const outcomes = [async () => 60_000, async () => Promise.reject(new Error('injected')), async () => 60_000]
    const { background, clock, runs } = backgroundWork(async () => outcomes.shift()?.())
    background.request()
    await clock.advance(1_000)
    background.wake()
    await clock.advance(1_000)
    background.wake()
    await clock.advance(10_000)
    assert.deepEqual(runs, [0, 1_000, 6_000])
  })

  it('runs again without a pause if it is woken during a run', async () => {
    const { background, clock, runs } = backgroundWork(async () => {
      if (runs.length === 1) background.wake()
      return clock.sleep(100).then(() => 60_000)
    })
    background.request()
    await clock.advance(1_000)
    assert.deepEqual(runs, [0, 100])
  })

  it('never overlaps with another run', async () => {
    const { background, clock, runs } = backgroundWork(() => clock.sleep(100).then(() => undefined))
    const both = Promise.all([background.runNow(), background.runNow()])
    await clock.advance(1_000)
    await both
    assert.deepEqual(runs, [0, 100])
  })

  it('is aborted and waited for when it stops, and does not run after that', async () => {
    let isEnded = false
    const { background, clock, runs, warnings } = backgroundWork(async (signal) => {
      await clock.sleep(3_000, signal).finally(() => (isEnded = true))
      return 0
    })
    background.request(1_000)
    await clock.advance(1_000)
    background.request(1_000)
    await background.stop()
    assert.ok(isEnded)
    background.request(1_000)
    await settle()
    await clock.advance(60_000)
    assert.deepEqual([runs, warnings, clock.sleeping], [[1_000], [], 0])
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ManualClock } from './manual-clock.ts'

it('the manual clock shows whole milliseconds, also while sleeps with a random length end', async () => {
  const clock = new ManualClock(1_000)
  const times: number[] = []
  const sleeps = [0.25, 1.5, 2].map((ms) => clock.sleep(ms).then(() => times.push(clock.now())))
  await clock.advance(3)
  await Promise.all(sleeps)
  assert.deepEqual(times, [1_001, 1_002, 1_002])
})

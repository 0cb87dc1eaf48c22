import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Overdue } from '../../sealer/overdue.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { silentLogger } from '../support/silent-logger.ts'

const INTERVAL_MS = 60_000

it('an anchor that gets confirmations is on its way, but not one that has 128 and is not confirmed', async () => {
  const clock = new ManualClock()
  const batch = { id: 'b', start: 1, end: 2, root: 'ab'.repeat(32), createdAt: clock.now(), previous: null }
  let blocks = 118
  const overdue = new Overdue({
    step: 'anchor',
    intervalMs: INTERVAL_MS,
    reader: { oldestUnattested: async () => batch },
    clock,
    logger: silentLogger,
    sealedSize: () => 2,
    coveredSize: () => 1,
    confirmations: () => blocks,
  })
  overdue.start()
  const code = async (intervals: number): Promise<string | undefined> => {
    for (let i = 0; i < intervals; i++, blocks++) await clock.advance(INTERVAL_MS)
    return overdue.code
  }
  assert.deepEqual([await code(10), await code(4)], [undefined, 'ANCHOR_OVERDUE'])
  await overdue.stop()
})

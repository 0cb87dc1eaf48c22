import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { LastUses } from '../../../core/registry/last-uses.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import { readOne } from '../../../core/store/read.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const MINUTE_MS = 60_000

it('a last use is known while it is being written, and replaces no later one that another server wrote', async () => {
  const [stored, clock] = [new MemoryRecords(), new ManualClock()]
  const known: (number | undefined)[] = []
  const records = decorateRecords(stored, {
    commit: (commit) => (known.push(uses.noted('share')), stored.commit(commit)),
  })
  const key = keys.shareUse('acme', 'share')
  const uses = new LastUses({ records, clock, logger: silentLogger, isReadOnly: false }, () => key)
  const now = clock.now()
  uses.note('acme', 'share')
  await clock.advance(MINUTE_MS)
  assert.deepEqual([known, (await readOne(stored, key))?.at], [[now], now])
  const later = now + 10 * MINUTE_MS
  await stored.commit({ writes: [putRecord(key, { at: later })] })
  uses.note('acme', 'share')
  await clock.advance(MINUTE_MS)
  assert.equal((await readOne(stored, key))?.at, later)
})

it('a last use is not noted in a read-only registry', async () => {
  const [records, clock] = [new MemoryRecords(), new ManualClock()]
  const key = keys.shareUse('acme', 'share')
  const uses = new LastUses({ records, clock, logger: silentLogger, isReadOnly: true }, () => key)
  uses.note('acme', 'share')
  assert.equal(uses.noted('share'), undefined)
  await uses.stop()
  assert.equal(await readOne(records, key), undefined)
})

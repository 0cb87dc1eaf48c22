import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { Check } from '../../../core/ops/check/check.ts'
import type { Difference } from '../../../core/ops/index.ts'
import { DamagedValueError } from '../../../core/store/checksum.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { arrayOf } from '../../support/array-of.ts'

const damaged = decorateRecords(new MemoryRecords(), {
  async get([key]) {
    if (key !== undefined) throw new DamagedValueError(key)
    return []
  },
  async positionsOf() {
    throw new DamagedValueError('')
  },
})

/** What `Check` remembers, by how each is reported about a key. */
const REPORTS: Readonly<Record<string, (check: Check, key: string) => unknown>> = {
  'a missing record': (check, key) => check.reportMissing(key, 'ev/1'),
  'a record that cannot be read': (check, key) =>
    check.guard('file', key, () => {
      throw new TypeError('it has no id')
    }),
  'a damaged record': (check, key) => check.records.get([key]),
  'a damaged position': (check, key) => check.records.positionsOf([new TextEncoder().encode(key)]),
}

describe('the differences of a check', () => {
  for (const [what, report] of Object.entries(REPORTS))
    it(`reports ${what} once, but remembers a limited number`, async () => {
      const reported: Difference[] = []
      const check = new Check(damaged, { onDifference: (difference) => reported.push(difference) })
      await report(check, 'fi/first')
      await report(check, 'fi/first')
      assert.equal(reported.length, 1)
      for (let i = 0; i < 10_000; i++) await report(check, `fi/${i}`)
      assert.equal(reported.length, 10_001)
      await report(check, 'fi/first')
      assert.equal(reported.length, 10_002)
    })
})

it('a listing fails if it meets damage outside of its range, behind which it cannot go on', async () => {
  let lists = 0
  const stored = new MemoryRecords()
  const records = decorateRecords(stored, {
    async *list(range) {
      if (lists++ === 0) throw new DamagedValueError('a')
      yield* stored.list(range)
    },
  })
  const check = new Check(records, { onDifference: () => undefined })
  await assert.rejects(arrayOf(check.records.list({ gte: 'b', lt: 'c' })), DamagedValueError)
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idlePeriodCounter } from '../../../server/http/idle-client.ts'

describe('the idle periods of a client', () => {
  const counts = (reports: readonly (readonly [nowMs: number, bytesWritten: number])[]): readonly number[] => {
    const count = idlePeriodCounter(1_000)
    return reports.map((report) => count(...report))
  }

  it('are counted while nothing is accepted, also if the timer is late', () => {
    const reports = [
      [1_000, 7],
      [2_000, 7],
      [3_001, 7],
      [4_400, 7],
      [5_400, 7],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 3, 4, 5])
  })

  it('begin again after a period in which a part was accepted, which Node does not report', () => {
    const reports = [
      [2_000, 7],
      [3_000, 7],
      [5_000, 7],
      [6_000, 7],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 1, 2])
  })

  it('begin again if more was written', () => {
    const reports = [
      [1_000, 7],
      [2_000, 7],
      [3_100, 8],
      [4_100, 8],
    ] as const
    assert.deepEqual(counts(reports), [1, 2, 1, 2])
  })
})

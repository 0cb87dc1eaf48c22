import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  isLocalTimeOnly,
  notLaterThanOf,
  type BundleAnchorClaim,
  type TimestampClaim,
} from '../../../core/verify/claims.ts'

describe('the time of an event', () => {
  const stamp = (notLaterThan: number, isLocalTest: boolean): TimestampClaim => ({
    notLaterThan,
    isLocalTest,
    authorities: [],
  })
  const block = (blockTime: number, isLocalTest: boolean, isBlockFinal = true): BundleAnchorClaim => ({
    type: 'chain',
    network: 'chain',
    chainId: 1,
    txHash: '',
    blockNumber: 1,
    blockHash: '',
    account: '',
    blockTime,
    isLocalTest,
    isBlockFinal,
  })

  it("is the operator's own only if no independent source states one", () => {
    const cases: readonly (readonly [TimestampClaim[], BundleAnchorClaim[], number | undefined, boolean])[] = [
      [[], [], undefined, false],
      [[], [block(1, false, false)], undefined, false],
      [[stamp(1, true)], [], 1, true],
      [[], [block(1, true)], 1, true],
      [[stamp(2, true)], [block(1, true)], 1, true],
      [[stamp(2, true)], [block(1, false, false)], 2, true],
      [[stamp(1, true)], [block(2, false)], 2, false],
      [[stamp(2, false)], [block(1, true)], 2, false],
      [[stamp(1, true), stamp(2, false)], [block(3, false)], 2, false],
    ]
    for (const [timestamps, anchors, time, isLocal] of cases)
      assert.deepEqual(
        [notLaterThanOf({ timestamps, anchors }), isLocalTimeOnly({ timestamps, anchors })],
        [time, isLocal],
        JSON.stringify({ timestamps, anchors }),
      )
  })
})

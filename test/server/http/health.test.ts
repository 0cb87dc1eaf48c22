import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ErrorCode, WritesRefused } from '../../../core/index.ts'
import { Health } from '../../../server/http/health.ts'

interface State {
  readonly writesRefused?: WritesRefused
  /** Code of the last failure of the sealer's step `seal`. */
  readonly sealFailure?: ErrorCode
}

function healthOf({ writesRefused, sealFailure }: State, sources?: ConstructorParameters<typeof Health>[1]): Health {
  const none = { count: 0, lastCode: null }
  const seal = { count: 1, lastCode: sealFailure ?? null }
  const status = () => ({ writesRefused: writesRefused ?? null, failures: { seal, stamp: none, anchor: none } })
  return new Health({ status }, sources)
}

describe('the readiness of a server', () => {
  it('says why writes are refused: the clock, or a missing signed head', () => {
    assert.equal(healthOf({}).problem(), undefined)
    assert.equal(healthOf({ writesRefused: 'CLOCK' }).problem(), 'CLOCK')
    assert.match(healthOf({ writesRefused: 'CLOCK' }).refusedText() ?? '', /clock is wrong/)
    assert.equal(healthOf({ writesRefused: 'NO_SIGNED_HEAD' }).problem(), 'NO_SIGNED_HEAD')
    const readOnly = healthOf({ writesRefused: 'READ_ONLY' })
    assert.deepEqual([readOnly.problem(), readOnly.isReadOnly()], [undefined, true])
  })

  it('ends with the poison of a store that opens again by itself', () => {
    let isPoisoned = true
    const health = healthOf({ sealFailure: 'STORE_POISONED' }, { isStorePoisoned: () => isPoisoned })
    assert.equal(health.problem(), 'STORE_POISONED')
    isPoisoned = false
    assert.equal(health.problem(), undefined)
    assert.equal(healthOf({ sealFailure: 'LOG_BEHIND_SIGNED' }).problem(), 'LOG_BEHIND_SIGNED')
  })

  it('is not affected by damage that the scrub found', () => {
    const status = { readBytes: 1, checked: { log: 1, records: 1, blobs: 1 }, lastCompleteAt: null, failures: 0 }
    const health = healthOf({}, { scrubStatus: () => ({ ...status, differences: 2 }) })
    assert.deepEqual([health.problem(), health.damage()], [undefined, 2])
    assert.equal(healthOf({}).damage(), 0)
  })
})

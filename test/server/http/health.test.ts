import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RegistryError, type ErrorCode, type WritesRefused } from '../../../core/index.ts'
import { Health } from '../../../server/http/health.ts'

interface State {
  readonly writesRefused?: WritesRefused
  /** Codes of the sealer's steps that fail now. */
  readonly sealFailures?: readonly ErrorCode[]
}

function healthOf({ writesRefused, sealFailures }: State, sources?: ConstructorParameters<typeof Health>[1]): Health {
  const status = () => ({ writesRefused: writesRefused ?? null, currentFailures: sealFailures ?? [] })
  return new Health({ status }, sources)
}

describe('the readiness of a server', () => {
  it('says why writes are refused: the clock, or a missing signed head', () => {
    assert.equal(healthOf({}).problem(), undefined)
    assert.equal(healthOf({ writesRefused: 'CLOCK' }).problem(), 'CLOCK')
    assert.equal(healthOf({ writesRefused: 'LOG_BEHIND_SIGNED' }).problem(), 'LOG_BEHIND_SIGNED')
    assert.match(healthOf({ writesRefused: 'CLOCK' }).refusedText() ?? '', /clock is behind/)
    const readOnly = healthOf({ writesRefused: 'READ_ONLY' })
    assert.deepEqual([readOnly.problem(), readOnly.readiness().writes], [undefined, 'READ_ONLY'])
  })

  it('depends on what fails now, not on what failed before', () => {
    assert.equal(healthOf({ sealFailures: ['CORRUPT'] }).problem(), 'CORRUPT')
    const health = healthOf({ sealFailures: ['AUTHORITY_FAILED', 'ENGINE_FAILED', 'ENGINE_FAILED'] })
    assert.equal(health.problem(), undefined)
    assert.deepEqual(health.readiness().failures, ['AUTHORITY_FAILED', 'ENGINE_FAILED'])
    assert.equal(healthOf({ sealFailures: [] }).problem(), undefined)
  })

  it('names a store that accepts no more writes, before a request fails and after', () => {
    let isPoisoned = false
    const health = healthOf({}, { isStorePoisoned: () => isPoisoned })
    assert.equal(health.problem(), undefined)
    isPoisoned = true
    assert.equal(health.problem(), 'STORE_POISONED')
    const other = healthOf({})
    other.note(new RegistryError('STORE_POISONED', 'x'))
    assert.equal(other.problem(), 'STORE_POISONED')
    assert.equal(healthOf({ sealFailures: ['UNAVAILABLE', 'LOG_BEHIND_SIGNED'] }).problem(), 'LOG_BEHIND_SIGNED')
  })

  it('is not affected by damage that the scrub found', () => {
    const status = { readBytes: 1, checked: { log: 1, records: 1, blobs: 1 }, lastCompleteAt: null, failures: 0 }
    const health = healthOf({}, { scrubStatus: () => ({ ...status, differences: 2 }) })
    assert.deepEqual([health.problem(), health.readiness().differences], [undefined, 2])
    assert.equal(healthOf({}).readiness().differences, undefined)
  })
})

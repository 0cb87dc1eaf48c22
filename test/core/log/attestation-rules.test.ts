import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { claimOf, distinctTokens } from '../../../core/log/attestation-rules.ts'
import { stampToken } from '../../support/stamp-token.ts'

const tokens = fc
  .array(fc.record({ genTime: fc.nat(50), assurance: fc.constantFrom('operator', 'independent') }), { minLength: 1 })
  .map((all) => all.map((each, i) => stampToken({ ...each, authority: `a${i}`, trustAnchors: [`${i}`] })))

describe('claimOf', () => {
  it('returns nothing for less than the quorum, and before it what all say that have stamped', () => {
    assert.equal(claimOf({ tokens: [] }), undefined)
    assert.equal(claimOf({ tokens: [stampToken({})], quorum: 2 }), undefined)
    const [a, b] = (['independent', 'operator'] as const).map((assurance, i) =>
      stampToken({ assurance, authority: `a${i}`, trustAnchors: [`${i}`], genTime: i }),
    )
    assert.ok(a && b)
    assert.deepEqual(claimOf({ tokens: [a] }), { token: a, assurance: 'independent' })
    assert.deepEqual(claimOf({ tokens: [b, a] }), { token: b, assurance: 'operator' })
  })

  it('returns the earliest time by which k of the eligible authorities say that the checkpoint existed', () => {
    fc.assert(
      fc.property(tokens, fc.nat(), (all, n) => {
        const quorum = 1 + (n % all.length)
        const claim = claimOf({ tokens: all, quorum })
        assert.ok(claim)
        const independent = all.filter(({ assurance }) => assurance === 'independent')
        const eligible = claim.assurance === 'independent' ? independent : all
        assert.equal(claim.assurance === 'independent', independent.length >= quorum)
        assert.ok(eligible.filter(({ genTime }) => genTime <= claim.token.genTime).length >= quorum)
        assert.ok(eligible.filter(({ genTime }) => genTime < claim.token.genTime).length < quorum)
        assert.ok(eligible.includes(claim.token))
      }),
    )
  })

  it('counts authorities once that share a trust anchor, or have none and the same name', () => {
    const [a, b, c] = [['1', '2'], ['2', '3'], ['3']].map((trustAnchors, i) => stampToken({ trustAnchors, genTime: i }))
    assert.ok(a && b && c)
    assert.deepEqual(distinctTokens([a, b, c]), [a, c])
    assert.equal(claimOf({ tokens: [a, b], quorum: 2 }), undefined)
    assert.equal(claimOf({ tokens: [a, c], quorum: 2 })?.token, c)
    const [x, y, z] = ['x', 'x', 'z'].map((authority) => stampToken({ authority }))
    assert.ok(x && y && z)
    assert.deepEqual(distinctTokens([x, y, z]), [x, z])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { StampToken } from '../../../core/log/records.ts'
import { claimOf, distinctTokens } from '../../../core/log/stamp-claim.ts'

const tokenOf = (some: Partial<StampToken>): StampToken => ({
  authority: 'a',
  assurance: 'operator',
  genTime: 0,
  serialNumber: '01',
  policy: '1.2',
  hashAlgorithm: 'sha256',
  imprint: '',
  token: '',
  trustAnchors: [],
  evidence: [],
  ...some,
})

const tokens = fc
  .array(fc.record({ genTime: fc.nat(50), assurance: fc.constantFrom('operator', 'independent') }), { minLength: 1 })
  .map((all) => all.map((each, i) => tokenOf({ ...each, authority: `a${i}`, trustAnchors: [`${i}`] })))

describe('what a stamp claims', () => {
  it('is nothing without a quorum', () => {
    assert.equal(claimOf({ tokens: [tokenOf({})] }), undefined)
    assert.equal(claimOf({ tokens: [tokenOf({})], quorum: 2 }), undefined)
  })

  it('is a time that exactly k of those asked do not contradict, and that no smaller one has', () => {
    fc.assert(
      fc.property(tokens, fc.nat(), (all, n) => {
        const quorum = 1 + (n % all.length)
        const claim = claimOf({ tokens: all, quorum })
        assert.ok(claim)
        const independent = all.filter(({ assurance }) => assurance === 'independent')
        const asked = claim.assurance === 'independent' ? independent : all
        assert.equal(claim.assurance === 'independent', independent.length >= quorum)
        assert.ok(asked.filter(({ genTime }) => genTime <= claim.token.genTime).length >= quorum)
        assert.ok(asked.filter(({ genTime }) => genTime < claim.token.genTime).length < quorum)
        assert.ok(asked.includes(claim.token))
      }),
    )
  })

  it('counts authorities that share an anchor, or have none and one name, once', () => {
    const [a, b, c] = [['1', '2'], ['2', '3'], ['3']].map((trustAnchors, i) => tokenOf({ trustAnchors, genTime: i }))
    assert.ok(a && b && c)
    assert.deepEqual(distinctTokens([a, b, c]), [a, c])
    assert.equal(claimOf({ tokens: [a, b], quorum: 2 }), undefined)
    assert.equal(claimOf({ tokens: [a, c], quorum: 2 })?.token, c)
    const [x, y, z] = ['x', 'x', 'z'].map((authority) => tokenOf({ authority }))
    assert.ok(x && y && z)
    assert.deepEqual(distinctTokens([x, y, z]), [x, z])
  })
})

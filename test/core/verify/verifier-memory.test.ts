import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MAX_COST, SignatureBudget, type VerifierMemory } from '../../../core/verify/untrusted.ts'

it('a memory of several bundles never forgets the root of a tree', () => {
  const memory: VerifierMemory = new Map()
  const budget = new SignatureBudget(MAX_COST, memory)
  assert.equal(budget.firstRoot('a log', 1, 'first'), 'first')
  for (let i = 0; i < 10_000; i++) budget.onceForAll(['number', i], () => i)
  assert.ok(memory.size < 10_000, 'it forgets what can be computed again')
  assert.equal(new SignatureBudget(MAX_COST, memory).firstRoot('a log', 1, 'second'), 'first')
})

it('a memory of several bundles holds no check that only one of them cannot afford', () => {
  const memory: VerifierMemory = new Map()
  const check = (limit: number): string => {
    const budget = new SignatureBudget(limit, memory)
    return budget.onceForAll(['a check'], () => (budget.spend(2), 'verified'))
  }
  assert.throws(() => check(1), { code: 'VERIFICATION_FAILED' })
  assert.equal(check(2), 'verified')
})

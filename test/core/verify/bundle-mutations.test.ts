import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/api/bundle.ts'
import { verifyBundle, type Policy } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { factsOf } from '../../support/bundle-facts.ts'
import { openBundleRegistry, type BundleRegistryOptions } from '../../support/bundle-fixture.ts'
import { mutate, randomFrom } from '../../support/bundle-mutations.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

/**
 * One tenth of them are over bundles with tokens. BUNDLE_MUTATIONS=1000000 runs the long form. 50,000 take about five
 * minutes of one core.
 */
const TOTAL = Number(process.env['BUNDLE_MUTATIONS'] ?? (process.env['CI'] === undefined ? 5_000 : 50_000))
const SEED = Number(process.env['BUNDLE_SEED'] ?? 1)

/** Bundles of every kind, of one registry with two checkpoint keys. */
async function makeBundles(options: BundleRegistryOptions): Promise<{ bundles: readonly Bundle[]; policy: Policy }> {
  const registry = await openBundleRegistry(options)
  const { evidence, stage, scope, settle } = registry
  await evidence({ owner: 'Ada', files: [await stage('first'), await stage('second')] })
  await evidence({ externalId: 'e-2' })
  await settle()
  await registry.rotate()
  await registry.registry.evidences.update(scope, 'e-1', { owner: 'Grace', meta: { a: [1] } })
  const [file, other] = (await registry.registry.evidences.files(scope, 'e-1')).evidence
  await registry.registry.files.delete(scope, { fileId: other?.id ?? '' })
  await settle()
  const bundles = [
    await registry.history(),
    await registry.history('none', 'none'),
    await registry.registry.proofs.bundle(scope, { externalId: 'e-1', fields: 'all', files: 'all', history: true }),
    await registry.history('all', 'all', 'e-2'),
    await registry.anyone('e-1'),
    await registry.anyone('e-1', file?.id),
    await registry.anyone('e-1', other?.id),
  ]
  await evidence({ externalId: 'e-3' })
  bundles.push(await registry.history('all', 'all', 'e-3'))
  const policy = registry.policy()
  await registry.close()
  return { bundles, policy }
}

describe('mutations of bundles', () => {
  let directory: string
  before(async () => {
    directory = await makeTemporary()
  })
  after(() => removeTemporary(directory))

  async function assertNoForgery(count: number, options: Omit<BundleRegistryOptions, 'directory'>): Promise<void> {
    const name = `${options.anchor}-${options.authorities?.length ?? 1}`
    const { bundles, policy } = await makeBundles({ ...options, directory: `${directory}/${name}` })
    const truth = new Set<string>()
    for (const bundle of bundles) {
      const result = verifyBundle(JSON.stringify(bundle), { policy, tokens })
      assert.notEqual(result.state, 'refuted')
      for (const fact of factsOf(result)) truth.add(fact)
    }
    const random = randomFrom(SEED)
    const states = { proven: 0, unpinned: 0, pending: 0, refuted: 0 }
    for (let i = 0; i < count; i++) {
      const text = mutate(random, bundles)
      const result = verifyBundle(text, { policy, tokens })
      states[result.state] += 1
      for (const fact of factsOf(result)) assert.ok(truth.has(fact), `seed ${SEED}, mutation ${i}: ${fact}\n${text}`)
    }
    assert.ok(states.refuted > count / 3, JSON.stringify(states))
    assert.equal(states.unpinned, 0)
  }
  const without = Math.ceil((TOTAL * 9) / 30)

  it('never prove anything new: no anchor', () => assertNoForgery(without, { anchor: 'none', authorities: [] }))
  it('never prove anything new: local ledger', () => assertNoForgery(without, { anchor: 'local', authorities: [] }))
  it('never prove anything new: EVM chain', () => assertNoForgery(without, { anchor: 'evm', authorities: [] }))
  it('never prove anything new: tokens of a quorum', () =>
    assertNoForgery(Math.ceil(TOTAL / 10), {
      anchor: 'local',
      authorities: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
      quorum: 2,
    }))
})

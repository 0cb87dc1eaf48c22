import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, toBase64 } from '../../../core/bytes.ts'
import type { Bundle } from '../../../core/schemas/bundle.ts'
import { parsePolicy, verifyBundle, type BundleResult, type Policy } from '../../../core/verify/index.ts'
import { openBundleRegistry, type BundleRegistry, type BundleRegistryOptions } from '../../support/bundle-fixture.ts'
import { openAuthorities, type LocalAuthorityOptions } from '../../support/local-authorities.ts'
import { present } from '../../support/present.ts'
import { Stores } from '../../support/registry-fixture.ts'
import { rememberingTokens } from '../../support/remembering-tokens.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

/** A change of what vouches for the log leaves everything proven that was proven before. */

const directory = temporaryOfSuite()

const tokens = rememberingTokens()
const verify = (bundle: Bundle, policy: Policy, require: readonly ('timestamp' | 'anchor')[] = []): BundleResult =>
  verifyBundle(JSON.stringify(bundle), { policy, tokens, require })
const rankOf = ({ state }: BundleResult): number => ['refuted', 'retired-key', 'requirement', 'proven'].indexOf(state)

/** The bundle without one of its tokens or anchors, without all of them, and without validation data or renewals. */
function* poorer(bundle: Bundle): Generator<Bundle> {
  for (const [i, { tokens: list, anchors }] of bundle.checkpoints.entries())
    for (const change of [
      ...list.map((_, at) => ({ tokens: list.toSpliced(at, 1) })),
      ...anchors.map((_, at) => ({ anchors: anchors.toSpliced(at, 1) })),
      { tokens: [] },
    ])
      yield { ...bundle, checkpoints: bundle.checkpoints.map((one, at) => (at === i ? { ...one, ...change } : one)) }
  yield { ...bundle, checkpoints: bundle.checkpoints.map((one) => ({ ...one, tokens: [], anchors: [] })) }
  yield { ...bundle, validationData: [] }
  const { renewals: _, ...without } = bundle
  yield without
}

/** Removing something never improves a verdict, and never makes a time earlier. */
function assertNeverImproved(bundle: Bundle, policy: Policy): void {
  const timeOf = (result: BundleResult): number =>
    ('claims' in result ? result.claims.events[0]?.notLaterThan : undefined) ?? Infinity
  for (const require of [[], ['timestamp'], ['timestamp', 'anchor']] as const) {
    const whole = verify(bundle, policy, require)
    for (const less of poorer(bundle)) {
      const result = verify(less, policy, require)
      assert.ok(rankOf(result) <= rankOf(whole) && timeOf(result) >= timeOf(whole), `${whole.state}, ${result.state}`)
    }
  }
}

const A: LocalAuthorityOptions = { name: 'a' }
const B: LocalAuthorityOptions = { name: 'b', assurance: 'independent' }
const C: LocalAuthorityOptions = { name: 'c' }
type Stage = Omit<BundleRegistryOptions, 'directory' | 'stores'>

/** Runs a registry with each of these settings after the other, each with two events of its own. */
async function runStages(
  stages: readonly Stage[],
  use: (registry: BundleRegistry, ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const stores = new Stores()
  const ids: string[] = []
  for (const [i, stage] of stages.entries()) {
    const registry = await openBundleRegistry({ directory, stores, anchor: 'none', ...stage })
    for (const part of [1, 2]) {
      ids.push(await registry.evidence({ externalId: `${i}-${part}` }))
      await registry.settle()
      await stores.clock.advance(60_000)
    }
    if (i === stages.length - 1) await use(registry, ids)
    await registry.close()
  }
}

const CHANGES: Readonly<Record<string, readonly Stage[]>> = {
  'from the trial to a real authority': [{ authorities: [A] }, { authorities: [B] }],
  'one more authority and a higher quorum': [{ authorities: [A] }, { authorities: [A, B], quorum: 2 }],
  'the quorum raised': [
    { authorities: [A, B, C], quorum: 1 },
    { authorities: [A, B, C], quorum: 3 },
  ],
  'a lower quorum and an authority less': [{ authorities: [A, B], quorum: 2 }, { authorities: [B] }],
  'there and back': [{ authorities: [A] }, { authorities: [B] }, { authorities: [A] }],
  'another list of CAs of one authority': [
    { authorities: [{ ...A, trusts: ['b'] }] },
    { authorities: [{ ...A, trusts: ['c', 'd'] }] },
  ],
  'another chain': [
    { authorities: [A], anchor: 'local' },
    { authorities: [A], anchor: 'evm' },
  ],
}

describe('a change of authorities and chains', () => {
  for (const [what, stages] of Object.entries(CHANGES))
    it(`leaves older events proven, with their times: ${what}`, () =>
      runStages(stages, async (registry, ids) => {
        const policy = await registry.policy()
        for (const id of ids) {
          const bundle = await registry.history('all', 'all', id)
          const result = verify(bundle, policy, ['timestamp'])
          assert.equal(result.state, 'proven', JSON.stringify(result))
          const own = parsePolicy(JSON.stringify(bundle.claimedPolicy))
          assert.deepEqual(own, policy)
        }
        assertNeverImproved(await registry.history('all', 'all', ids[0]), policy)
      }))

  it('is a history in the policy', () =>
    runStages([{ authorities: [A] }, { authorities: [A, B], quorum: 2 }, { authorities: [B] }], async (registry) => {
      const policy = await registry.policy()
      const [quorumOf1, quorumOf2] = present(policy.timestampQuorums)
      const [a, b] = present(policy.authorities)
      assert.deepEqual([a?.name, b?.name, policy.timestampQuorum], ['a', 'b', 1])
      const [second] = present(quorumOf2?.ranges)
      const [first, third] = present(quorumOf1?.ranges)
      assert.deepEqual([first?.from, first?.until, third?.until], [1, present(second).from - 1, null])
      assert.equal(third?.from, (second?.until ?? 0) + 1)
      assert.deepEqual(b?.ranges, [{ from: second?.from, until: null }])
      const [range] = present(a?.ranges)
      assert.ok(range?.from === 1 && (range.until ?? 0) >= present(third).from)
    }))

  it('shows each certificate of an authority once', () =>
    runStages(
      [{ authorities: [{ ...A, trusts: ['b'] }] }, { authorities: [{ ...A, trusts: ['c'] }] }],
      async (registry) => {
        const { authorities } = await registry.policy()
        assert.deepEqual(
          present(authorities).map(({ name, trustAnchors }) => [name, trustAnchors.length]),
          [
            ['a', 1],
            ['a', 1],
            ['a', 1],
          ],
        )
      },
    ))

  it('lets no thief stamp old trees with an authority that is not in use any more', () =>
    runStages([{ authorities: [A] }, { authorities: [B] }], async (registry, [id]) => {
      const policy = await registry.policy()
      const bundle = await registry.history('all', 'all', id)
      const skewMs = -86_400_000
      const [thief] = await openAuthorities(directory, registry.clock, [{ ...A, skewMs }])
      const [checkpoint] = bundle.checkpoints
      const token = await present(thief).stamp(encodeUtf8(present(checkpoint).note))
      present(checkpoint).tokens = [toBase64(token)]
      const result = verify(bundle, policy)
      assert.ok('claims' in result && result.unchecked.some(({ rule }) => rule === 'timestamp.not-in-use'))
      assert.equal(result.claims.events[0]?.notLaterThan, undefined)
    }))
})

describe('a rotation of the checkpoint key', () => {
  it('leaves bundles proven that were stamped before, unless others may know the key', async () => {
    for (const found of ['never', 'before', 'after'] as const) {
      const registry = await openBundleRegistry({ directory, anchor: 'none', authorities: [A] })
      await registry.evidence()
      await registry.settle()
      const old = await registry.history()
      await registry.clock.advance(1_000)
      await registry.rotate({ compromised: found === 'before' })
      await registry.evidence({ externalId: 'e-2' })
      await registry.settle()
      const { checkpointKeys } = registry.registry
      const [first, second] = await checkpointKeys.list()
      await assert.rejects(checkpointKeys.markCompromised(present(second).vkey), { code: 'CONFIG_ERROR' })
      if (found === 'after') await checkpointKeys.markCompromised(present(first).vkey)
      const compromised = found !== 'never'
      const policy = await registry.policy()
      const [key] = policy.keys
      assert.ok(key?.root !== undefined && key.retiredAt !== undefined && key.compromised === compromised)
      assert.equal(verify(old, policy).state, compromised ? 'retired-key' : 'proven')
      assert.equal(verify(await registry.history(), policy).state, 'proven')
      assertNeverImproved(old, policy)
      await registry.close()
    }
  })
})

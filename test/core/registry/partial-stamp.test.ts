import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LogReader } from '../../../core/log/reader.ts'
import { verifyBundle } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry, type BundleRegistry } from '../../support/bundle-fixture.ts'
import { present } from '../../support/present.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { differencesIn } from '../../support/whole-store.ts'

describe('a stamp that has no quorum yet', () => {
  const directory = temporaryOfSuite()

  /** A sealed evidence that one of two authorities has stamped, while the other one is down. */
  async function openPartial(): Promise<BundleRegistry> {
    const authorities = [{ name: 'a' }, { name: 'b' }]
    const registry = await openBundleRegistry({ directory, anchor: 'none', authorities, quorum: 2 })
    present(registry.authorities[1]).isDown = true
    await registry.evidence()
    await registry.registry.sealNow()
    await registry.clock.advanceUntil(
      2_000,
      async () => (await new LogReader(registry.records).latestPartialStamp()) !== undefined,
    )
    return registry
  }
  /** What proofs, lists and a bundle show of stamps. */
  async function shownBy({ registry, scope, history }: BundleRegistry) {
    const { tsa, assurance } = withStatus(await registry.proofs.evidence({ evidenceId: 'e-1' }), 'ok')
    const { items } = await registry.log.batches({})
    const { checkpoints } = await history()
    return {
      tsa: tsa?.authority,
      time: assurance.time,
      batches: items.map(({ stamp }) => stamp?.authority),
      overview: (await registry.evidences.overview(scope)).log.stamped,
      tokens: checkpoints.map((checkpoint) => checkpoint.tokens.length),
    }
  }

  it('is shown from one token on, but proves no time', async () => {
    const registry = await openPartial()
    const { overview, ...shown } = await shownBy(registry)
    assert.deepEqual(shown, { tsa: 'a', time: 'operator', batches: ['a'], tokens: [1] })
    assert.deepEqual([overview.size, overview.authority], [registry.registry.status().sealedSize, 'a'])
    const result = verifyBundle(JSON.stringify(await registry.history()), { policy: await registry.policy(), tokens })
    assert.equal(result.state, 'proven')
    assert.deepEqual('claims' in result && result.claims.events.map(({ notLaterThan }) => notLaterThan), [undefined])
    const { records, blobs, secret } = registry
    assert.deepEqual(await differencesIn({ records, blobs, secret }), [])
    await registry.close()
  })

  it('gives way to the first one with a quorum, also a later one, as soon as there is one', async () => {
    const registry = await openPartial()
    const before = await shownBy(registry)
    present(registry.authorities[1]).isDown = false
    await registry.evidence({ externalId: 'e-2' })
    await registry.settle()
    const { overview, ...shown } = await shownBy(registry)
    assert.ok(overview.size > before.overview.size)
    assert.equal(shown.tokens.at(-1), 2)
    assert.ok((await registry.history()).checkpoints.every((checkpoint) => checkpoint.tokens.length === 2))
    assert.ok(shown.batches.every((authority) => authority !== undefined))
    await registry.close()
  })
})

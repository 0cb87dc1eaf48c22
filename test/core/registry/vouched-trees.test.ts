import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openLogIdentity } from '../../../core/log/identity.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { VouchedTrees } from '../../../core/registry/proof/vouched-trees.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { present } from '../../support/present.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { testSigner } from '../../support/test-signer.ts'

const directory = temporaryOfSuite()

it('shows of a tree only the stamp or the anchor that it was found by, also from its cache', async () => {
  const { records, secret, clock, evidence, settle, close } = await openBundleRegistry({ directory })
  await evidence()
  await settle()
  const identity = await openLogIdentity({ records, secret, clock, signer: testSigner() })
  const trust = { quorum: 1, authorities: [], chain: undefined }
  const trees = new VouchedTrees(new LogReader(records), { identity, trust })
  const [stamped, anchored] = [present(await trees.stampedFrom(1)), present(await trees.anchoredFrom(1))]
  assert.equal(stamped.size, anchored.size)
  for (const _ of ['read', 'cached'])
    for (const [tree, tokens, anchors] of [
      [stamped, 1, 0],
      [anchored, 0, 1],
      [{ ...stamped, ...anchored }, 1, 1],
    ] as const) {
      const [checkpoint] = (await trees.vouchersOf([tree])).checkpoints
      assert.deepEqual([checkpoint?.tokens.length, checkpoint?.anchors.length], [tokens, anchors])
    }
  assert.equal(await trees.vouchersOf([stamped]), await trees.vouchersOf([stamped]))
  await close()
})

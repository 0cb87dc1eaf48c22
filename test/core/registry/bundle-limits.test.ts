import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { extentOf, isReadable, MAX_BUNDLE_LENGTH } from '../../../core/commitment/bundle-format.ts'
import { fitted } from '../../../core/registry/proof/bundle-limits.ts'
import type { Bundle, BundleEvent } from '../../../core/schemas/bundle.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const HASH = '0'.repeat(64)

/** A bundle of so many events with two proofs and a meta of so many characters each. */
function bundleOf(count: number, pathLength: number, metaLength: number): Bundle {
  const path = Array.from({ length: pathLength }, () => HASH)
  const fields = { action: { text: '', salt: HASH }, meta: { text: 'x'.repeat(metaLength), salt: HASH } }
  const event = (_: unknown, position: number): BundleEvent => ({
    opening: HASH,
    position,
    inclusion: [1, 2].map((n) => ({ treeSize: n * count, path })),
    fields,
  })
  const events = Array.from({ length: count }, event)
  const subject = { type: 'evidence', txId: HASH } as const
  const others = { keys: [], checkpoints: [], validationData: [] }
  return { format: 'evidence-registry.bundle', version: 1, origin: 'o', subject, events, ...others }
}

describe('the limits of a bundle', () => {
  it('leave out values of the oldest events, and of long histories also second proofs', async () => {
    for (const [count, pathLength, metaLength, isLong] of [
      [1_000, 4, 40_000, false],
      [900, 300, 40_000, true],
    ] as const) {
      const bundle = bundleOf(count, pathLength, metaLength)
      await rejectsWith('BUNDLE_TOO_LARGE', fitted(bundle))
      const { events, ...others } = await fitted(bundle, ['action'])
      const { length, separators } = extentOf(JSON.stringify({ ...others, events }))
      assert.ok(isReadable({ length, separators }))
      assert.ok(MAX_BUNDLE_LENGTH - length < metaLength + 200, `${length} characters`)
      assert.deepEqual(events.at(-1), bundle.events.at(-1))
      const { inclusion = [], fields } = events[0] ?? {}
      assert.deepEqual([inclusion.length, Object.keys(fields ?? {})], [isLong ? 1 : 2, ['action']])
      assert.deepEqual(inclusion[0], bundle.events[0]?.inclusion[0])
    }
  })

  it('refuse a history whose proofs alone are too long, and leave one that fits as it is', async () => {
    await rejectsWith('BUNDLE_TOO_LARGE', fitted(bundleOf(900, 600, 0), ['action']))
    const bundle = bundleOf(500, 4, 50_000)
    assert.deepEqual(await fitted(bundle, ['action']), bundle)
    assert.equal(JSON.stringify(await fitted(bundle, ['action'])), JSON.stringify(bundle))
  })
})

import assert from 'node:assert/strict'
import { decodeRecords, encodeRecords, planListed, storedErasureLines } from '../../../core/ops/index.ts'
import { collect } from '../../contract/blob-bodies.ts'
import { arrayOf } from '../../support/array-of.ts'
import { it } from '../../support/registry-fixture.ts'

it('of an evidence, only the events of which something is listed change', async (fixture) => {
  const { clock, evidences, scope, stores } = fixture
  await fixture.evidence({ owner: 'Ada' })
  for (const owner of ['Bo', 'Cy']) await evidences.update(scope, 'e-1', { owner })
  const copy = await collect(encodeRecords(stores.records))
  await evidences.erase(scope, 'e-1', { fields: ['owner'], versions: [2], reason: 'request' })
  const lines = await arrayOf(storedErasureLines(stores.records))
  const planOf = (bytes: Uint8Array) => planListed(() => decodeRecords(encodedBy(bytes)), lines, clock.now())
  const { leftOut, commits } = await planOf(copy)
  assert.deepEqual(
    [...leftOut].filter((key) => key.startsWith('vh/')).map((key) => key.slice(-1)),
    ['2'],
  )
  assert.equal(commits.length, 1)
  const erased = await planOf(await collect(encodeRecords(stores.records)))
  assert.deepEqual([erased.leftOut.size, erased.commits.length], [0, 0], 'it is not erased again')
})

async function* encodedBy(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import type { AnchorHeadRecord, StampRecord } from '../../../core/log/records.ts'
import { BatchAttestations } from '../../../core/registry/proof/log-proof.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { present } from '../../support/present.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { openFilledRegistry, type FilledRegistry } from '../../support/sealed-registry.ts'

/** Counts the lists that are read from now on. */
function countLists({ records }: FilledRegistry): { lists: number } {
  const list = records.list.bind(records)
  const count = { lists: 0 }
  records.list = (range) => {
    count.lists += 1
    return list(range)
  }
  return count
}

const prove = async ({ registry }: FilledRegistry) =>
  withStatus(await registry.proofs.evidence({ evidenceId: 'plain', companyId: 'acme' }), 'ok')

describe('the attestations of a batch', () => {
  it('are read once for all proofs, until a stamp or an anchor changes', async (t) => {
    const sealed = await openFilledRegistry(t)
    const first = await prove(sealed)
    assert.ok(first.tsa && first.merkle.anchor)
    const count = countLists(sealed)
    assert.deepEqual(await prove(sealed), first)
    assert.equal(count.lists, 0)
    const { records } = sealed
    await records.commit({ writes: [putRecord(logKeys.stampHead(), { size: 1 })] })
    assert.deepEqual(await prove(sealed), first)
    assert.ok(count.lists > 0)
  })

  it('change as soon as another server changes an anchor or a stamp', async (t) => {
    const sealed = await openFilledRegistry(t)
    const { records } = sealed
    const reader = new LogReader(records)
    const before = await prove(sealed)
    const size = before.merkle.treeSize
    const anchor = present(await reader.anchorCovering(size))
    const head: AnchorHeadRecord = {
      confirmedSize: 0,
      sentSize: anchor.size,
      outstanding: anchor.size,
      unsettled: [],
      accounts: [],
    }
    await records.commit({
      writes: [{ key: logKeys.confirmedAnchor(anchor.size), value: null }, putRecord(logKeys.anchorHead(), head)],
    })
    const reorged = await prove(sealed)
    assert.notEqual(reorged.merkle.anchor?.treeSize, anchor.size)
    assert.deepEqual(reorged.tsa, before.tsa)
    const stamp = present(await reader.stampCovering(size))
    const renamed: StampRecord = { ...stamp, tokens: stamp.tokens.map((token) => ({ ...token, authority: 'another' })) }
    await records.commit({
      writes: [putRecord(logKeys.stamp(stamp.size), renamed), putRecord(logKeys.stampHead(), { size: stamp.size })],
    })
    assert.equal((await prove(sealed)).tsa?.authority, 'another')
  })

  it('assure nothing by an anchor that a reorganization removes while they are read', async (t) => {
    const { records } = await openFilledRegistry(t)
    const reader = new LogReader(records)
    const batch = present(await reader.batchOf(0))
    const { confirmation: _, ...anchor } = present(await reader.anchorCovering(batch.end))
    const read = () => new BatchAttestations(reader).of(batch)
    assert.equal((await read())?.assurance.anchor, 'operator')
    // The second read finds an anchor that is not confirmed any more.
    await records.commit({ writes: [putRecord(logKeys.anchor(anchor.size), { ...anchor, state: 'sent' })] })
    const attestation = present(await read())
    assert.deepEqual([attestation.anchor, attestation.assurance.anchor], [undefined, 'none'])
  })

  it('are not kept beyond their size', async (t) => {
    const sealed = await openFilledRegistry(t)
    const reader = new LogReader(sealed.records)
    const batch = present(await reader.batchOf(0))
    const listsFor = async (attestations: BatchAttestations): Promise<number> => {
      const read = present(await attestations.of(batch))
      const count = countLists(sealed)
      assert.deepEqual(await attestations.of(batch), read)
      return count.lists
    }
    assert.equal(await listsFor(new BatchAttestations(reader)), 0)
    assert.ok((await listsFor(new BatchAttestations(reader, 100))) > 0)
  })

  it('cannot be changed by who reads a proof, because all proofs of a batch share them', async (t) => {
    const sealed = await openFilledRegistry(t)
    const { tsas } = await prove(sealed)
    assert.throws(() => present(tsas).pop(), TypeError)
    assert.equal((await prove(sealed)).tsas?.length, present(tsas).length)
  })
})

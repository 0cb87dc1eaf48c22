import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryCheckpointKeys } from '../../../adapters/memory/index.ts'
import { toHex } from '../../../core/bytes.ts'
import { txIdOf } from '../../../core/commitment/event-format.ts'
import { parseCheckpoint, verifyCheckpoint } from '../../../core/log/checkpoint.ts'
import { parseTlogProof } from '../../../core/log/tlog-proof.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { verifyInclusion } from '../../../core/log/tree/proof.ts'
import { openFixture } from '../../support/registry-fixture.ts'
import { present } from '../../support/present.ts'

describe('the proof of a txId as text', () => {
  it('is under the smallest checkpoint that a key which is not retired signed', async (t) => {
    const signer = new MemoryCheckpointKeys()
    const { registry, scope, evidence } = await openFixture({ t, registry: { checkpointSigner: signer } })
    await evidence()
    const { txId } = (await registry.evidences.get(scope, 'e-1')).evidence
    assert.equal(await registry.proofs.tlogProof(txId), undefined)
    /** Verifies the proof, and returns the size of its tree. */
    const provenSize = async (): Promise<number> => {
      const { extra, index, path, checkpoint } = parseTlogProof(present(await registry.proofs.tlogProof(txId)))
      const entry = txIdOf(present(extra))
      assert.equal(toHex(entry), txId)
      const { size, root } = parseCheckpoint(checkpoint)
      verifyInclusion({ leafHash: leafHash(entry), leafIndex: index, treeSize: size, root, proof: path })
      return size
    }
    for (const externalId of ['e-2', 'e-3']) {
      await registry.sealNow()
      assert.equal(await provenSize(), 2)
      await evidence({ externalId })
    }

    const old = registry.log.verifierKey
    signer.add()
    await registry.checkpointKeys.rotate()
    // The old key is not retired until a signed tree holds the new one.
    assert.equal(await provenSize(), 2)
    await registry.sealNow()
    const size = await provenSize()
    assert.equal(size, 5)
    const { checkpoint } = parseTlogProof(present(await registry.proofs.tlogProof(txId)))
    assert.equal(verifyCheckpoint(checkpoint, registry.log.verifierKey).size, size)
    assert.notEqual(registry.log.verifierKey, old)
    await evidence({ externalId: 'e-4' })
    await registry.sealNow()
    assert.equal(await provenSize(), size)
  })
})

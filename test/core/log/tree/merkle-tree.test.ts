import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leafHash } from '../../../../core/log/tree/hash.ts'
import { MerkleTree } from '../../../../core/log/tree/merkle-tree.ts'
import { nodeTable, sampleEntries } from '../../../support/node-table.ts'
import { referenceConsistencyProof, referenceInclusionProof, referenceRoot } from './reference.ts'

describe('MerkleTree', () => {
  it('has the root and the proofs of RFC 9162 at every size that it ever had', () => {
    const entries = sampleEntries(40)
    const tree = new MerkleTree()
    assert.deepEqual(tree.root(), referenceRoot([]))
    for (const [i, entry] of entries.entries()) {
      assert.equal(tree.add(entry), i)
      assert.equal(tree.size, i + 1)
      assert.deepEqual(tree.root(), referenceRoot(entries.slice(0, i + 1)))
    }
    for (let size = 1; size <= entries.length; size++) {
      const first = entries.slice(0, size)
      assert.deepEqual(tree.root(size), referenceRoot(first))
      for (let i = 0; i < size; i++) {
        assert.deepEqual(tree.inclusionProof(i, size), referenceInclusionProof(i, first))
        assert.deepEqual(tree.consistencyProof(i + 1, size), referenceConsistencyProof(i + 1, first))
      }
    }
    assert.deepEqual(tree.consistencyProof(0), [])
  })

  it('has every complete node around the sizes of tiles', () => {
    for (const size of [255, 256, 257]) {
      const entries = sampleEntries(size)
      const [tree, reference] = [new MerkleTree(), nodeTable(entries)]
      for (const entry of entries) tree.addLeafHash(leafHash(entry))
      for (let level = 0; 2 ** level <= size; level++)
        for (let index = 0; (index + 1) * 2 ** level <= size; index++)
          assert.deepEqual(tree.node({ level, index }), reference({ level, index }))
      assert.deepEqual(tree.root(), referenceRoot(entries))
    }
  })

  it('hashes entries of any length', () => {
    const tree = new MerkleTree()
    tree.add(new Uint8Array())
    tree.add(new Uint8Array(1_000))
    assert.deepEqual(tree.root(), referenceRoot([new Uint8Array(), new Uint8Array(1_000)]))
  })

  it('throws for leaves and sizes that it does not have', () => {
    const tree = new MerkleTree()
    tree.add(new Uint8Array(32))
    assert.throws(() => tree.root(2), RangeError)
    assert.throws(() => tree.inclusionProof(1), RangeError)
    assert.throws(() => tree.inclusionProof(0, 2), RangeError)
    assert.throws(() => tree.consistencyProof(2), RangeError)
    assert.throws(() => tree.consistencyProof(1, 2), RangeError)
    assert.throws(() => tree.node({ level: 1, index: 0 }), RangeError)
  })
})

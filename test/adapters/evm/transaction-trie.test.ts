import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { keccak256 } from 'ethers/crypto'
import { buildTransactionTrie, transactionByProof } from '../../../core/verify/chain/trie.ts'

describe('the trie of transactions', () => {
  test('has the root of an empty block', () => {
    // The transactionsRoot of every block without transactions.
    assert.equal(buildTransactionTrie([]).root, '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  })

  test('proves each of its transactions at its own index only', () => {
    const raw = fc.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
    fc.assert(
      fc.property(fc.array(raw, { minLength: 1, maxLength: 300 }), fc.nat(), (raws, seed) => {
        const trie = buildTransactionTrie(raws)
        const index = seed % raws.length
        const proof = trie.proof(index)
        assert.equal(transactionByProof(trie.root, index, proof), raws[index])
        const other = (index + 1) % (raws.length + 1)
        // Nodes below 32 bytes are embedded in their parents, so a proof may also show a tiny neighbour.
        assert.ok([undefined, raws[other]].includes(transactionByProof(trie.root, other, proof)))
        assert.equal(transactionByProof(trie.root, index, [...proof, proof.at(-1) as string]), undefined)
        assert.equal(transactionByProof(trie.root, index, proof.slice(0, -1)), undefined)
        assert.equal(transactionByProof(keccak256('0x'), index, proof), undefined)
      }),
      { numRuns: 60 },
    )
  })

  test('has another root for another transaction', () => {
    const raws = Array.from({ length: 20 }, (_, i) => `0x${(i + 1).toString(16).padStart(80, '0')}`)
    const changed = raws.with(7, `0x${'ff'.repeat(40)}`)
    assert.notEqual(buildTransactionTrie(changed).root, buildTransactionTrie(raws).root)
  })
})

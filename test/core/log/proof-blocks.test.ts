import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { logKeys } from '../../../core/log/keys.ts'
import { readProofBlocks, type ProofBlock, type ProofRange } from '../../../core/log/proof-blocks.ts'
import { StoredTiles } from '../../../core/log/tiles.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { inclusionProof, verifyInclusion } from '../../../core/log/tree/proof.ts'
import { nodeAt } from '../../../core/log/tree/tile.ts'
import { storeTree, type StoredTree } from '../../support/stored-tree.ts'
import { referenceInclusionProof } from './tree/reference.ts'
import { arrayOf } from '../../support/array-of.ts'

const corrupt = { name: 'RegistryError', code: 'CORRUPT' }

const open = ({ records }: StoredTree, range: ProofRange): AsyncGenerator<readonly ProofBlock[], void, undefined> =>
  readProofBlocks(new StoredTiles(records, 100), range)

const blocksOf = async (tree: StoredTree, range: ProofRange): Promise<readonly ProofBlock[]> =>
  (await arrayOf(open(tree, range))).flat()

/** The inclusion proof of a leaf, put together from its block. */
function proofFrom({ tile, levels, above }: ProofBlock, leaf: number): readonly Uint8Array[] {
  const lower = Array.from({ length: levels }, (_, row) => nodeAt(tile, row, ((leaf % 256) >> row) ^ 1) as Uint8Array)
  const upper = Array.from({ length: above.length / 32 }, (_, i) => above.subarray(32 * i, 32 * i + 32))
  return [...lower, ...upper]
}

/** Checks that the blocks cover the range in order, and returns the proof of each leaf. */
function proofsFrom(
  blocks: readonly ProofBlock[],
  from: number,
  to: number,
): ReadonlyMap<number, readonly Uint8Array[]> {
  const proofs = new Map<number, readonly Uint8Array[]>()
  let next = from
  for (const block of blocks) {
    assert.equal(block.first, next)
    assert.ok(block.end > block.first)
    for (let leaf = block.first; leaf < block.end; leaf++) proofs.set(leaf, proofFrom(block, leaf))
    next = block.end
  }
  assert.equal(next, Math.max(from, to))
  return proofs
}

describe('readProofBlocks', () => {
  it('makes the proofs of the reference for every leaf of whole trees', async () => {
    for (const size of [1, 2, 3, 7, 255, 256, 257]) {
      const tree = await storeTree(size)
      const blocks = await blocksOf(tree, { from: 0, to: size, treeSize: size })
      for (const [leaf, proof] of proofsFrom(blocks, 0, size))
        assert.deepEqual(proof, referenceInclusionProof(leaf, tree.entries), `leaf ${leaf} of ${size}`)
    }
  })

  it('makes them for any range of larger trees, in which several reads follow each other', async () => {
    const tree = await storeTree(9_000)
    const cut = fc.oneof(fc.nat(9_000), fc.constantFrom(0, 255, 256, 257, 4_095, 4_096, 4_097, 8_192, 8_193))
    await fc.assert(
      fc.asyncProperty(cut, cut, cut, async (a, b, c) => {
        const [from, to, treeSize] = [a, b, c].sort((x, y) => x - y) as [number, number, number]
        const blocks = await blocksOf(tree, { from, to, treeSize })
        for (const [leaf, proof] of proofsFrom(blocks, from, to))
          if (leaf % 97 === 0 || leaf === from || leaf === to - 1)
            assert.deepEqual(proof, inclusionProof(leaf, treeSize, tree.nodes), `leaf ${leaf} of ${treeSize}`)
      }),
      { numRuns: 25 },
    )
  })

  it('makes proofs that verify, around the size at which a third level of tiles begins', async () => {
    const tree = await storeTree(65_537)
    const range = { from: 65_280, to: 65_537, treeSize: 65_537 }
    for (const [leaf, proof] of proofsFrom(await blocksOf(tree, range), range.from, range.to)) {
      const claim = { leafHash: leafHash(tree.entries[leaf] as Uint8Array), leafIndex: leaf, proof }
      verifyInclusion({ ...claim, treeSize: 65_537, root: tree.root })
    }
  })

  it('yields nothing for an empty range', async () => {
    const tree = await storeTree(3)
    for (const at of [0, 3]) assert.deepEqual(await blocksOf(tree, { from: at, to: at, treeSize: 3 }), [])
    assert.equal(tree.records.gets.length, 0)
  })

  it('reads at most 16 leaf tiles together, and no tile twice', async () => {
    const tree = await storeTree(40 * 256)
    await blocksOf(tree, { from: 0, to: 40 * 256, treeSize: 40 * 256 })
    const leafTiles = new Set(Array.from({ length: 40 }, (_, index) => logKeys.tile(0, index)))
    const reads = tree.records.gets.map((keys) => keys.filter((key) => leafTiles.has(key)).length)
    assert.ok(Math.max(...reads) <= 16)
    assert.equal(
      reads.reduce((sum, count) => sum + count, 0),
      40,
    )
  })

  it('reads nothing after it was left early', async () => {
    const tree = await storeTree(40 * 256)
    const blocks = open(tree, { from: 0, to: 40 * 256, treeSize: 40 * 256 })
    assert.equal((await blocks.next()).done, false)
    await blocks.return()
    const reads = tree.records.gets.length
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(tree.records.gets.length, reads)
    assert.ok(tree.records.gets.flat().length < 40)
  })

  it('throws CORRUPT for a damaged tile, after the blocks before it', async () => {
    const tree = await storeTree(40 * 256)
    await tree.records.commit({ writes: [{ key: logKeys.tile(0, 20), value: new Uint8Array(33) }] })
    const ends: number[] = []
    await assert.rejects(async () => {
      for await (const blocks of open(tree, { from: 0, to: 40 * 256, treeSize: 40 * 256 }))
        ends.push(blocks.at(-1)?.end ?? 0)
    }, corrupt)
    assert.deepEqual(ends, [16 * 256])
  })

  it('throws CORRUPT for a missing tile above', async () => {
    const tree = await storeTree(300)
    await tree.records.commit({ writes: [{ key: logKeys.tile(1, 0), value: null }] })
    await assert.rejects(blocksOf(tree, { from: 256, to: 300, treeSize: 300 }), corrupt)
  })
})

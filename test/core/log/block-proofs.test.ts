import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BlockProofs } from '../../../core/log/block-proofs.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import type { SealedTree } from '../../../core/log/sealed-tree.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { rootFromNodes } from '../../../core/log/tree/proof.ts'
import { storeTree, type StoredTree } from '../../support/stored-tree.ts'

const SIZE = 700

/** What a proof of a leaf claims. */
const claimOf = ({ entries, nodes }: StoredTree, leafIndex: number, treeSize = SIZE) => ({
  leafHash: leafHash(entries[leafIndex] as Uint8Array),
  leafIndex,
  treeSize,
  root: rootFromNodes(treeSize, nodes),
})

/** The proof, or the code of the error. */
const outcomeOf = async (
  proofs: Pick<SealedTree, 'proveInclusion'>,
  claim: ReturnType<typeof claimOf>,
): Promise<unknown> => proofs.proveInclusion(claim).catch((error: unknown) => (error as { code: unknown }).code)

/** Counts the proofs that the log makes one by one. */
function counted(tree: SealedTree) {
  const counts = { single: 0 }
  const blocks = new BlockProofs({
    proofBlocks: (range) => tree.proofBlocks(range),
    proveInclusion: (claim) => {
      counts.single++
      return tree.proveInclusion(claim)
    },
  })
  return { counts, blocks }
}

describe('BlockProofs', () => {
  it('makes the proofs of the log, all but the first of each tile from blocks', async () => {
    const tree = await storeTree(SIZE)
    const log = new LogReader(tree.records)
    for (const treeSize of [SIZE, 513, 512, 300, 256, 3, 1]) {
      const { counts, blocks } = counted(log.tree)
      for (let leaf = 0; leaf < treeSize; leaf++) {
        const claim = claimOf(tree, leaf, treeSize)
        assert.deepEqual(
          await blocks.proveInclusion(claim),
          await log.tree.proveInclusion(claim),
          `${leaf} of ${treeSize}`,
        )
      }
      assert.equal(counts.single, Math.ceil(treeSize / 256))
    }
  })

  it('makes them in any order, and for several trees in turns', async () => {
    const tree = await storeTree(SIZE)
    const log = new LogReader(tree.records)
    const { blocks } = counted(log.tree)
    for (let i = 0; i < 2_000; i++) {
      const claim = claimOf(tree, (i * 241) % 600, i % 2 === 0 ? SIZE : 600)
      assert.deepEqual(await blocks.proveInclusion(claim), await log.tree.proveInclusion(claim))
    }
  })

  it('refuses the same leaves as the log if a node of a tile or of a tile above is damaged', async () => {
    for (const { key, at } of [
      { key: logKeys.tile(0, 1), at: 3 * 32 },
      { key: logKeys.tile(0, 1), at: (256 + 128 + 5) * 32 },
      { key: logKeys.tile(1, 0), at: 0 },
    ]) {
      const tree = await storeTree(SIZE)
      const [stored] = await tree.records.get([key])
      const value = Uint8Array.from(stored?.value ?? [])
      value[at] = (value[at] ?? 0) ^ 1
      await tree.records.commit({ writes: [{ key, value }] })
      const log = new LogReader(tree.records)
      const blocks = new BlockProofs(log.tree)
      const outcomes = new Set<string>()
      for (let leaf = 0; leaf < SIZE; leaf++) {
        const claim = claimOf(tree, leaf)
        const expected = await outcomeOf(log.tree, claim)
        assert.deepEqual(await outcomeOf(blocks, claim), expected, `leaf ${leaf} with a damaged ${key} at ${at}`)
        outcomes.add(typeof expected)
      }
      assert.deepEqual(outcomes, new Set(['object', 'string']))
    }
  })

  it('refuses a leaf that the tile does not hold, and another root', async () => {
    const tree = await storeTree(SIZE)
    const { blocks } = counted(new LogReader(tree.records).tree)
    for (const leaf of [0, 1, 2]) await blocks.proveInclusion(claimOf(tree, leaf))
    const corrupt = { name: 'RegistryError', code: 'CORRUPT' }
    await assert.rejects(blocks.proveInclusion({ ...claimOf(tree, 3), leafHash: new Uint8Array(32) }), corrupt)
    await assert.rejects(blocks.proveInclusion({ ...claimOf(tree, 4), root: new Uint8Array(32) }), corrupt)
    await assert.rejects(blocks.proveInclusion({ ...claimOf(tree, 300), root: new Uint8Array(32) }), corrupt)
    await assert.rejects(blocks.proveInclusion({ ...claimOf(tree, 301), root: new Uint8Array(32) }), corrupt)
  })
})

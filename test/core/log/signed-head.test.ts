import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { emptyRoot } from '../../../core/log/tree/hash.ts'
import type { SignedHead } from '../../../core/ports/index.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import { storeTree, type StoredTree } from '../../support/stored-tree.ts'
import { referenceRoot } from './tree/reference.ts'

const behind = { name: 'RegistryError', code: 'LOG_BEHIND_SIGNED' }
const corrupt = { name: 'RegistryError', code: 'CORRUPT' }

const check = ({ records }: StoredTree, signed: SignedHead | undefined): Promise<void> =>
  new LogReader(records).tree.assertHolds(signed)

const signedAt = ({ entries }: StoredTree, size: number): SignedHead => ({
  size,
  root: referenceRoot(entries.slice(0, size)),
})

describe('SealedTree.assertHolds', () => {
  it('accepts every size that the tree has had, and returns the root of the head', async () => {
    for (const size of [0, 1, 255, 256, 257, 513]) {
      const tree = await storeTree(size)
      const reader = new LogReader(tree.records)
      const head = await reader.tree.head()
      await check(tree, undefined)
      for (const signedSize of [0, 1, 2, 254, 255, 256, 257, 512, 513].filter((each) => each <= size)) {
        await check(tree, signedAt(tree, signedSize))
        assert.deepEqual(await reader.tree.rootHolding(head, signedAt(tree, signedSize)), tree.root)
      }
    }
  })

  it('reads only the tiles at the right edge', async () => {
    const tree = await storeTree(65_537)
    await check(tree, { size: 65_537, root: tree.root })
    const keys = new Set(tree.records.gets.flat())
    assert.deepEqual([...keys].sort(), [logKeys.treeHead(), logKeys.tile(0, 256), logKeys.tile(2, 0)].sort())
  })

  it('throws LOG_BEHIND_SIGNED if the tree is smaller than the signed one', async () => {
    for (const size of [0, 1, 255, 256]) {
      const tree = await storeTree(size)
      await assert.rejects(check(tree, { size: size + 1, root: tree.root }), behind)
    }
  })

  it('throws LOG_BEHIND_SIGNED if the tree has another root at the signed size', async () => {
    const tree = await storeTree(300)
    for (const size of [0, 1, 255, 256, 257, 300]) {
      const { root } = signedAt(tree, size)
      root[31] = (root[31] ?? 0) ^ 1
      await assert.rejects(check(tree, { size, root }), behind, `size ${size}`)
    }
    await assert.rejects(check(tree, { size: 300, root: emptyRoot() }), behind)
  })

  it('throws CORRUPT if the tiles do not produce the root of the head', async () => {
    const tree = await storeTree(300)
    const signed = signedAt(tree, 300)
    const head = { size: 300, root: toHex(tree.root.map((byte) => byte ^ 1)), batchId: null, time: 0 }
    await tree.records.commit({ writes: [{ key: logKeys.treeHead(), value: encodeRecord(head) }] })
    for (const each of [undefined, signed]) await assert.rejects(check(tree, each), corrupt)

    const damaged = await storeTree(300)
    const [tile] = await damaged.records.get([logKeys.tile(1, 0)])
    const value = tile?.value.map((byte) => byte ^ 1) ?? null
    await damaged.records.commit({ writes: [{ key: logKeys.tile(1, 0), value }] })
    await assert.rejects(check(damaged, undefined), corrupt)
    await damaged.records.commit({ writes: [{ key: logKeys.tile(1, 0), value: null }] })
    await assert.rejects(check(damaged, undefined), corrupt)
  })

  it('throws CORRUPT if the log is shorter than the tree', async () => {
    const tree = await storeTree(300)
    Object.assign(tree.records, { logSize: () => Promise.resolve(299) })
    await assert.rejects(check(tree, signedAt(tree, 300)), corrupt)
    Object.assign(tree.records, { logSize: () => Promise.resolve(301) })
    await check(tree, signedAt(tree, 300))
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { concatBytes, toHex } from '../../../core/bytes.ts'
import type { ProofBlock } from '../../../core/log/proof-blocks.ts'
import { inclusionProof } from '../../../core/log/tree/proof.ts'
import { proofSpans } from '../../../core/log/tree/proof-span.ts'
import { rangeHash } from '../../../core/log/tree/range.ts'
import { splitTiles } from '../../../core/log/tree/tile.ts'
import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import { ProofWriter } from '../../../sealer/kernel/proofs.ts'
import { nodeTable, sampleEntries } from '../../support/node-table.ts'
import { PAGE_BYTES, WORKSPACE_AT } from '../../../sealer/kernel/layout.ts'
import { TestMemory } from '../../support/kernel-memory.ts'
import { plainTiles } from '../../support/plain-tiles.ts'
import { present } from '../../support/present.ts'

const LEAVES = 2100
const entries = sampleEntries(LEAVES)
const source = nodeTable(entries)
const packed = concatBytes(...entries)

/** The blocks of a range in a tree of `size`, with tiles stored when the log had `stored` leaves. */
function* blocksOf(from: number, to: number, size: number, stored: number): Generator<ProofBlock> {
  const tiles = splitTiles(plainTiles(packed.subarray(0, stored * 32), 'entries'), stored)
  for (const { first, end, levels, above } of proofSpans(from, to, size))
    yield {
      first,
      end,
      entries: packed.subarray(first * 32, end * 32),
      tile: present(tiles[Math.floor(first / 256)]),
      levels,
      above: concatBytes(...above.map((range) => rangeHash(range, source))),
    }
}

describe('ProofWriter', async () => {
  const writer = new ProofWriter(await compileKernel())

  /** Compares the proofs of each leaf with one made alone, in both formats. */
  function check(block: ProofBlock, size: number): void {
    const proofs = []
    for (let leaf = block.first; leaf < block.end; leaf++) proofs.push(inclusionProof(leaf, size, source))
    const what = `leaves ${block.first}..${block.end} of ${size}`
    assert.equal(Buffer.compare(writer.write(block, 'packed'), concatBytes(...proofs.flat())), 0, what)
    const lines = proofs.map((proof, i) =>
      JSON.stringify({
        leafIndex: block.first + i,
        entry: toHex(present(entries[block.first + i])),
        proof: proof.map(toHex),
      }),
    )
    assert.equal(Buffer.from(writer.write(block, 'ndjson')).toString('latin1'), `${lines.join('\n')}\n`, what)
  }

  function checkRange(from: number, to: number, size: number, stored: number): void {
    for (const block of blocksOf(from, to, size, stored)) check(block, size)
  }

  it('writes the proofs of the slow reference, for whole trees around the edges of subtrees and tiles', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 31, 33, 99, 100, 101, 255, 256, 257, 300, 511, 512, 513, 1025])
      checkRange(0, size, size, size)
  })

  it('does so for any range of any tree, also if its last tile has grown since', () => {
    const size = fc.integer({ min: 1, max: LEAVES })
    fc.assert(
      fc.property(size, size, fc.nat(), fc.nat(), (a, b, x, y) => {
        const [tree, stored] = [Math.min(a, b), Math.max(a, b)]
        const [from, to] = [x % (tree + 1), y % (tree + 1)].sort((l, r) => l - r) as [number, number]
        checkRange(from, to, tree, stored)
      }),
      { numRuns: 10 },
    )
  })

  it('writes leaf indexes of any length, also of more than 32 bits and if they become longer', () => {
    const [block] = blocksOf(0, 256, 256, 256)
    assert.ok(block)
    const limits = [10 ** 6, 10 ** 9, 2 ** 32, 10 ** 10, 10 ** 15, Number.MAX_SAFE_INTEGER]
    for (const near of limits) {
      const moved = near - (near % 256)
      const written = writer.write({ ...block, first: moved, end: moved + 256 }, 'ndjson')
      const lines = Buffer.from(written).toString('latin1').trimEnd().split('\n')
      const leaves = lines.map((line) => (JSON.parse(line) as { leafIndex: number }).leafIndex)
      assert.deepEqual(
        leaves,
        Array.from({ length: 256 }, (_, i) => moved + i),
      )
    }
  })

  it('writes the longest proofs', () => {
    const [block] = blocksOf(0, 256, 256, 256)
    assert.ok(block)
    const above = concatBytes(...entries.slice(0, 64))
    const longest = { ...block, above }
    assert.equal(writer.write(longest, 'packed').length, 256 * 72 * 32)
    const lines = Buffer.from(writer.write(longest, 'ndjson')).toString('latin1').trimEnd().split('\n')
    assert.equal(lines.length, 256)
    for (const line of lines)
      assert.deepEqual((JSON.parse(line) as { proof: string[] }).proof.slice(8), entries.slice(0, 64).map(toHex))
  })

  it('rejects a tile that does not hold the proofs, parts of wrong lengths, and ndjson without entries', () => {
    const [block] = blocksOf(0, 200, 300, 300)
    const [narrow] = blocksOf(0, 100, 100, 100)
    assert.ok(block && narrow)
    const wrong: readonly Partial<ProofBlock>[] = [
      { tile: narrow.tile },
      { tile: new Uint8Array(31) },
      { levels: 9 },
      { levels: -1 },
      { above: new Uint8Array(31) },
      { above: new Uint8Array(65 * 32) },
      { entries: packed.subarray(0, 32) },
      { end: block.first },
      { end: 257 },
      { first: -1 },
    ]
    for (const part of wrong)
      for (const format of ['packed', 'ndjson'] as const)
        assert.throws(() => writer.write({ ...block, ...part }, format), RangeError, JSON.stringify(part))
    // A partial tile of 44 leaves holds no complete subtree of 64.
    const [last] = blocksOf(256, 257, 300, 300)
    assert.ok(last)
    assert.throws(() => writer.write({ ...last, levels: 6 }, 'packed'), RangeError)
    const { entries: _, ...without } = block
    assert.throws(() => writer.write(without, 'ndjson'), RangeError)
    assert.equal(writer.write(without, 'packed').length, 200 * 9 * 32)
  })
})

describe('writeItems', () => {
  it('writes hashes as JSON items in hex, and nothing else', async () => {
    const memory = await TestMemory.create(4)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 600 }), fc.nat({ max: 70 }), (count, shift) => {
        const [from, to] = [WORKSPACE_AT + shift, WORKSPACE_AT + 2 * PAGE_BYTES - 33 * shift]
        memory.bytes.set(randomBytes(count * 32), from)
        const hashes = Buffer.from(memory.bytes.slice(from, from + count * 32))
        const written = memory.writtenBy(() => memory.kernel.writeItems(from, count, to), to, count * 67)
        let expected = ''
        for (let i = 0; i < count; i++) expected += `"${hashes.toString('hex', i * 32, i * 32 + 32)}",`
        assert.equal(Buffer.from(written).toString('latin1'), expected)
      }),
      { numRuns: 30 },
    )
  })
})

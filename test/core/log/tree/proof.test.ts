import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fromHex, toHex } from '../../../../core/bytes.ts'
import { emptyRoot, leafHash, nodeHash, nodesOfRange } from '../../../../core/log/tree/hash.ts'
import {
  consistencyProof,
  consistencyRanges,
  inclusionProof,
  inclusionRanges,
  rootFromInclusionProof,
  rootFromNodes,
  rootFromSides,
  sidesOf,
  verifyConsistency,
  verifyInclusion,
} from '../../../../core/log/tree/proof.ts'
import { referenceConsistencyProof, referenceInclusionProof, referenceRoot } from './reference.ts'
import { nodeTable, sampleEntries } from '../../../support/node-table.ts'

const bytes = (hex: string): Uint8Array => fromHex(hex) as Uint8Array
const hexes = (hashes: readonly Uint8Array[]): readonly string[] => hashes.map(toHex)
const withItem = (proof: readonly Uint8Array[], at: number, item: Uint8Array): readonly Uint8Array[] =>
  proof.with(at, item)

const assertRejected = (verify: () => void): void => assert.throws(verify, { code: 'VERIFICATION_FAILED' })

function flipped(hash: Uint8Array, bit: number): Uint8Array {
  const out = hash.slice()
  out[bit >> 3] = (out[bit >> 3] as number) ^ (1 << (bit & 7))
  return out
}

describe('the test vectors of Certificate Transparency', () => {
  // The eight leaves and roots that every implementation of RFC 6962 is tested with.
  const leaves = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ].map(bytes)
  const roots = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]

  it('have these roots, computed by the reference and from nodes', () => {
    for (const [size, root] of roots.entries()) {
      assert.equal(toHex(referenceRoot(leaves.slice(0, size))), root)
      assert.equal(toHex(rootFromNodes(size, nodeTable(leaves))), root)
    }
    assert.equal(toHex(emptyRoot()), roots[0])
  })

  it('have this inclusion proof of leaf 0 in the tree of 8', () => {
    assert.deepEqual(hexes(inclusionProof(0, 8, nodeTable(leaves))), [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ])
  })
})

describe('proofs equal the reference', () => {
  it('for every inclusion proof of trees up to 70', () => {
    for (let n = 1; n <= 70; n++) {
      const entries = sampleEntries(n)
      const root = referenceRoot(entries)
      for (let m = 0; m < n; m++) {
        const proof = inclusionProof(m, n, nodeTable(entries))
        assert.deepEqual(hexes(proof), hexes(referenceInclusionProof(m, entries)), `leaf ${m} of ${n}`)
        const leaf = leafHash(entries[m] as Uint8Array)
        verifyInclusion({ leafHash: leaf, leafIndex: m, treeSize: n, proof, root })
      }
    }
  })

  it('for every consistency proof of trees up to 70', () => {
    const all = sampleEntries(70)
    const roots = Array.from({ length: 71 }, (_, n) => referenceRoot(all.slice(0, n)))
    for (let n = 1; n <= 70; n++) {
      const entries = all.slice(0, n)
      for (let m = 1; m <= n; m++) {
        const proof = consistencyProof(m, n, nodeTable(entries))
        assert.deepEqual(hexes(proof), hexes(referenceConsistencyProof(m, entries)), `${m} to ${n}`)
        const [fromRoot, toRoot] = [roots[m] as Uint8Array, roots[n] as Uint8Array]
        verifyConsistency({ fromSize: m, fromRoot, toSize: n, toRoot, proof })
      }
    }
  })

  it('for random leaves of trees up to some thousands', () => {
    const all = sampleEntries(5000)
    const source = nodeTable(all)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 0.999_999, noNaN: true }), (n, share) => {
        const entries = all.slice(0, n)
        const m = Math.floor(share * n)
        assert.deepEqual(hexes(inclusionProof(m, n, source)), hexes(referenceInclusionProof(m, entries)))
        if (m > 0) assert.deepEqual(hexes(consistencyProof(m, n, source)), hexes(referenceConsistencyProof(m, entries)))
      }),
      { numRuns: 15 },
    )
  })

  it('in the side of each sibling', () => {
    const entries = sampleEntries(37)
    for (let m = 0; m < 37; m++) {
      const proof = inclusionProof(m, 37, nodeTable(entries))
      const sides = sidesOf(m, 37)
      const items = proof.map((hash, i) => ({ hash, side: sides[i] as 'left' | 'right' }))
      assert.equal(toHex(rootFromSides(leafHash(entries[m] as Uint8Array), items)), toHex(referenceRoot(entries)))
    }
  })

  it('beyond 32 bits: ranges are aligned and adjacent, and every node is complete', () => {
    const size = fc.integer({ min: 1, max: 2 ** 50 })
    fc.assert(
      fc.property(size, size, (a, b) => {
        const [m, n] = a <= b ? [a, b] : [b, a]
        const leaf = m - 1
        const ranges = [...inclusionRanges(leaf, n), { start: leaf, end: leaf + 1 }].sort((x, y) => x.start - y.start)
        assert.equal(ranges[0]?.start, 0)
        assert.equal(ranges.at(-1)?.end, n)
        for (const [i, range] of ranges.entries()) {
          if (i > 0) assert.equal(range.start, ranges[i - 1]?.end)
          const nodes = nodesOfRange(range)
          assert.equal(
            (nodes[0] as { level: number; index: number }).index * 2 ** (nodes[0]?.level as number),
            range.start,
          )
          assert.ok(nodes.every(({ index }) => Number.isSafeInteger(index)))
        }
        assert.ok(ranges.length <= 54)
        for (const { start, end } of consistencyRanges(m, n))
          assert.ok(end <= m || start >= m, `${start} to ${end} crosses ${m}`)
      }),
    )
  })
})

describe('proofs that do not hold', () => {
  const entries = sampleEntries(23)
  const source = nodeTable(entries)
  const roots = Array.from({ length: 24 }, (_, n) => referenceRoot(entries.slice(0, n)))
  const root = roots[23] as Uint8Array
  const leafIndexes = fc.integer({ min: 0, max: 22 })
  const bit = fc.integer({ min: 0, max: 255 })

  it('are rejected for any flipped bit, other index or size, and for a missing or an additional item', () => {
    fc.assert(
      fc.property(leafIndexes, leafIndexes, bit, fc.nat(), (leafIndex, otherIndex, flip, pick) => {
        const leaf = leafHash(entries[leafIndex] as Uint8Array)
        const proof = inclusionProof(leafIndex, 23, source)
        const claim = { leafHash: leaf, leafIndex, treeSize: 23, proof, root }
        const at = pick % proof.length
        verifyInclusion(claim)
        for (const change of [
          { proof: withItem(proof, at, flipped(proof[at] as Uint8Array, flip)) },
          { leafHash: flipped(leaf, flip) },
          { root: flipped(root, flip) },
          { proof: proof.slice(1) },
          { proof: proof.slice(0, -1) },
          { proof: [...proof, root] },
          { treeSize: leafIndex },
          ...(otherIndex === leafIndex ? [] : [{ leafIndex: otherIndex }]),
        ])
          assertRejected(() => verifyInclusion({ ...claim, ...change }))
      }),
    )
  })

  it('are rejected between sizes for any flipped bit, other size, and for a missing or an additional item', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 22 }), bit, fc.nat(), (fromSize, flip, pick) => {
        const fromRoot = roots[fromSize] as Uint8Array
        const proof = consistencyProof(fromSize, 23, source)
        const claim = { fromSize, fromRoot, toSize: 23, toRoot: root, proof }
        const at = pick % proof.length
        verifyConsistency(claim)
        for (const change of [
          { proof: withItem(proof, at, flipped(proof[at] as Uint8Array, flip)) },
          { fromRoot: flipped(fromRoot, flip) },
          { toRoot: flipped(root, flip) },
          { proof: proof.slice(1) },
          { proof: proof.slice(0, -1) },
          { proof: [...proof, root] },
          { fromSize: 23, fromRoot: root, toSize: fromSize, toRoot: fromRoot },
        ])
          assertRejected(() => verifyConsistency({ ...claim, ...change }))
      }),
    )
  })

  it('follow their own rules for equal sizes and for the empty tree', () => {
    const to = { toSize: 23, toRoot: root }
    const [equal, empty] = [
      { ...to, fromSize: 23, fromRoot: root, proof: [] },
      { ...to, fromSize: 0, fromRoot: emptyRoot(), proof: [] },
    ]
    verifyConsistency(equal)
    assertRejected(() => verifyConsistency({ ...equal, fromRoot: roots[22] as Uint8Array }))
    assertRejected(() => verifyConsistency({ ...equal, proof: [root] }))
    verifyConsistency(empty)
    assertRejected(() => verifyConsistency({ ...empty, fromRoot: root }))
    assertRejected(() => verifyConsistency({ ...empty, proof: [root] }))
  })

  it('name the root to which they lead, and the expected one', () => {
    const leaf = leafHash(entries[3] as Uint8Array)
    const claim = { leafHash: leaf, leafIndex: 3, treeSize: 23, proof: inclusionProof(3, 23, source) }
    assert.throws(() => verifyInclusion({ ...claim, root: leaf }), {
      message: [
        `The inclusion proof of leaf 3 in the tree of 23 leads to ${toHex(root)},`,
        `not to the root ${toHex(leaf)}`,
      ].join(' '),
      cause: { computed: root, expected: leaf },
    })
    const proof = consistencyProof(5, 23, source)
    const trees = { fromSize: 5, fromRoot: roots[5] as Uint8Array, toSize: 23, toRoot: root, proof }
    assert.throws(() => verifyConsistency({ ...trees, toRoot: leaf }), { cause: { computed: root, expected: leaf } })
    assert.throws(() => verifyConsistency({ ...trees, fromRoot: leaf }), {
      cause: { computed: roots[5], expected: leaf },
    })
  })

  it('do not mistake a leaf for a node: their prefixes differ', () => {
    const [left, right] = [entries[0] as Uint8Array, entries[1] as Uint8Array]
    assert.notEqual(toHex(leafHash(new Uint8Array([...left, ...right]))), toHex(nodeHash(left, right)))
  })

  it('are rejected if an index, a size or a hash is not valid', () => {
    const leaf = leafHash(entries[0] as Uint8Array)
    for (const [leafIndex, treeSize] of [
      [-1, 5],
      [5, 5],
      [0.5, 5],
      [0, 2 ** 53],
      [Number.NaN, 5],
      [0, 0],
    ] as const)
      assert.equal(rootFromInclusionProof({ leafHash: leaf, leafIndex, treeSize, proof: [] }), undefined)
    const first = { leafHash: leaf, leafIndex: 0, treeSize: 2 }
    assert.equal(rootFromInclusionProof({ ...first, proof: [new Uint8Array(31)] }), undefined)
    assert.equal(rootFromInclusionProof({ ...first, proof: Array.from({ length: 100 }, () => root) }), undefined)
    assertRejected(() => verifyConsistency({ fromSize: 1.5, fromRoot: root, toSize: 3, toRoot: root, proof: [] }))
    assert.throws(() => inclusionRanges(3, 3), RangeError)
    assert.throws(() => inclusionRanges(-1, 3), RangeError)
    assert.throws(() => consistencyRanges(4, 3), RangeError)
    assert.throws(() => nodeHash(new Uint8Array(31), leaf), RangeError)
  })
})

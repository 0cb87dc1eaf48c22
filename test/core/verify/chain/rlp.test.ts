import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeRlp as referenceDecode, encodeRlp as reference } from 'ethers/utils'
import fc from 'fast-check'
import { decodeRlp, encodeRlp, keccak256, type RlpItem } from '../../../../core/verify/chain/rlp.ts'

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const text = fc.uint8Array({ maxLength: 80 }).map(hex)
const { item } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof({ maxDepth: 4 }, text, fc.array(tie('item'), { maxLength: 6 })),
}))

/**
 * What ethers returns for a list of single bytes, from its encoding of the same bytes as a string: they differ only in
 * the first byte. The time of ethers for a list grows with the square of its length.
 */
function referenceOfBytes(items: readonly string[]): string {
  const string = reference(`0x${items.map((each) => each.slice(2)).join('')}`)
  return `0x${(Number(string.slice(0, 4)) + LIST - STRING).toString(16)}${string.slice(4)}`
}

/** The first bytes of the shortest string and list. */
const [STRING, LIST] = [0x80, 0xc0]

describe('RLP', () => {
  test('encodes as ethers does, and decodes what it encoded', () => {
    fc.assert(
      fc.property(item, (value) => {
        const encoded = encodeRlp(value)
        assert.equal(encoded, reference(value as Parameters<typeof reference>[0]))
        assert.deepEqual(decodeRlp(encoded), value)
        assert.deepEqual(decodeRlp(Buffer.from(encoded.slice(2), 'hex')), value)
      }),
    )
  })

  test('encodes long strings and lists with a length of several bytes', () => {
    for (const length of [55, 56, 255, 256, 65_535, 65_536, 70_000]) {
      const long = `0x${'ab'.repeat(length)}`
      const bytes = Array.from({ length }, () => '0x05')
      if (length < 1_000) assert.equal(referenceOfBytes(bytes), reference(bytes))
      for (const [value, expected] of [
        [long, reference(long)],
        [[long], reference([long])],
        [bytes, referenceOfBytes(bytes)],
      ] as const) {
        assert.equal(encodeRlp(value), expected)
        assert.deepEqual(decodeRlp(encodeRlp(value), Infinity), value)
        assert.deepEqual(referenceDecode(encodeRlp(value)), value)
      }
    }
  })

  test('rejects more items than a transaction or a node has', () => {
    const encoded = encodeRlp(Array.from({ length: 1_023 }, () => '0x05'))
    assert.equal(decodeRlp(encoded).length, 1_023)
    assert.throws(() => decodeRlp(encodeRlp(['0x05', decodeRlp(encoded)])), { message: 'RLP has too many items' })
  })

  test('rejects every encoding that is not canonical', () => {
    for (const encoded of [
      '0x',
      '0x8105', // a single byte with a length
      '0xb80105', // a long form for a short string
      `0xb90038${'ab'.repeat(56)}`, // a length with a leading zero
      '0x82ab', // cut short
      '0xc2ab', // a list that is cut short
      '0xc182abcd', // an item that exceeds its list
      '0x0505', // bytes after the item
      `0xbf${'ff'.repeat(8)}`, // a length beyond the input
      'zz',
    ])
      assert.throws(() => decodeRlp(encoded), TypeError, encoded)
  })

  test('accepts only what encodes to the same bytes, and everything of it that ethers accepts', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (bytes) => {
        let decoded: RlpItem
        try {
          decoded = decodeRlp(bytes)
        } catch {
          let canonical: string | undefined
          try {
            canonical = reference(referenceDecode(hex(bytes)))
          } catch {
            return
          }
          assert.notEqual(canonical, hex(bytes))
          return
        }
        assert.equal(encodeRlp(decoded), hex(bytes))
      }),
      { numRuns: 1000 },
    )
  })
})

test('Keccak-256 returns the published digests, of bytes and of hex', () => {
  assert.equal(keccak256('0x'), '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
  const bytes = new TextEncoder().encode('The quick brown fox jumps over the lazy dog')
  for (const data of [bytes, hex(bytes), hex(bytes).toUpperCase()])
    assert.equal(keccak256(data), '0x4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15')
  assert.throws(() => keccak256('0x1'), TypeError)
})

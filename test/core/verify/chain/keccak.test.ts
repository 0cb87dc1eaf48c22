import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keccak256 as reference } from 'ethers/crypto'
import fc from 'fast-check'
import { keccak256 } from '../../../../core/verify/chain/keccak.ts'

describe('Keccak-256', () => {
  test('returns the published digests', () => {
    assert.equal(keccak256('0x'), '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
    const text = new TextEncoder().encode('The quick brown fox jumps over the lazy dog')
    assert.equal(keccak256(text), '0x4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15')
  })

  test('returns the digest of ethers for every length around the block size', () => {
    for (let length = 0; length <= 300; length++) {
      const bytes = new Uint8Array(length).fill(length)
      assert.equal(keccak256(bytes), reference(bytes))
    }
  })

  test('returns the digest of ethers for any bytes, also as hex', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        assert.equal(keccak256(bytes), reference(bytes))
        assert.equal(keccak256(`0x${Buffer.from(bytes).toString('hex').toUpperCase()}`), reference(bytes))
      }),
    )
  })
})

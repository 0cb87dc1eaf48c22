import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  encodeUtf8,
  fromHex,
  hmacSha256,
  readU64,
  sha256,
  sha256HexOfText,
  sha256Of,
  sha256OfText,
  toHex,
  u64,
} from '../../core/bytes.ts'

const reference = (...parts: readonly (Uint8Array | string)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

const wellFormed = fc.string({ unit: 'grapheme', maxLength: 3_000 })
const someBytes = fc.uint8Array({ maxLength: 200 })

describe('SHA-256', () => {
  it('equals node:crypto for bytes, parts, and a text after parts', () => {
    fc.assert(
      fc.property(someBytes, someBytes, wellFormed, (a, b, text) => {
        assert.equal(toHex(sha256(a)), reference(a))
        assert.equal(toHex(sha256Of(a, b)), reference(a, b))
        assert.equal(toHex(sha256OfText(text, a, b)), reference(a, b, text))
        assert.equal(sha256HexOfText(text, a, b), reference(a, b, text))
      }),
    )
  })

  it('hashes texts of any length, up to and beyond the reused buffer', () => {
    const before = new Uint8Array(48).fill(1)
    for (const unit of ['a', 'é', '水', '💡'])
      for (const count of [0, 1, 674, 675, 676, 1_348, 1_349, 1_350, 1_351, 5_000]) {
        const text = unit.repeat(count)
        assert.equal(toHex(sha256OfText(text, before)), reference(before, text), `${unit} × ${count}`)
      }
    const large = new Uint8Array(5_000).fill(2)
    assert.equal(toHex(sha256OfText('x', large)), reference(large, 'x'))
  })

  it('returns each digest in new memory', () => {
    const first = sha256(new Uint8Array(1))
    const copy = first.slice()
    sha256OfText('another')
    assert.deepEqual(first, copy)
  })
})

describe('HMAC-SHA-256', () => {
  it('equals node:crypto, for keys shorter than, as long as, and longer than a block', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), wellFormed, (key, text) => {
        assert.equal(hmacSha256(key)(text), createHmac('sha256', key).update(text).digest('hex'))
      }),
    )
    for (const length of [0, 63, 64, 65])
      assert.equal(
        hmacSha256(new Uint8Array(length).fill(9))('x'),
        createHmac('sha256', new Uint8Array(length).fill(9)).update('x').digest('hex'),
      )
  })
})

describe('u64', () => {
  it('writes and reads numbers like a DataView', () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), someBytes, (value, before) => {
        const view = new DataView(new ArrayBuffer(8))
        view.setBigUint64(0, BigInt(value))
        assert.deepEqual(u64(value), new Uint8Array(view.buffer))
        assert.equal(readU64(new Uint8Array([...before, ...u64(value), 9]), before.length), value)
      }),
    )
  })

  it('throws for numbers outside the safe integers, and for missing bytes', () => {
    for (const value of [-1, 1.5, 2 ** 53, Number.NaN]) assert.throws(() => u64(value), RangeError)
    assert.throws(() => readU64(Uint8Array.of(0, 0x20, 0, 0, 0, 0, 0, 0)), RangeError)
    assert.throws(() => readU64(new Uint8Array(8), 1), RangeError)
  })
})

describe('encodeUtf8', () => {
  it('returns plain Uint8Arrays, the same as TextEncoder', () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        assert.deepEqual(encodeUtf8(text), new TextEncoder().encode(text))
        assert.deepEqual(fromHex(toHex(encodeUtf8(text))), encodeUtf8(text))
      }),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { concatBytes, encodeUtf8 } from '../../../core/bytes.ts'
import { checked, withChecksum } from '../../../core/store/checksum.ts'

const anyKey = fc.oneof(fc.string({ unit: 'grapheme' }), fc.uint8Array({ maxLength: 40 }))
const anyPart = fc.uint8Array({ maxLength: 40 })

const bytesOf = (key: string | Uint8Array): Uint8Array => (typeof key === 'string' ? encodeUtf8(key) : key)

describe('the checksum of a value', () => {
  it('begins with the CRC-32 of key and value, for short and long parts', () => {
    fc.assert(
      fc.property(anyKey, fc.array(anyPart, { maxLength: 3 }), (key, parts) => {
        const value = concatBytes(...parts)
        const sealed = withChecksum(key, ...parts)
        const crc = new DataView(sealed.buffer, sealed.byteOffset).getUint32(0)
        assert.equal(crc, crc32(concatBytes(bytesOf(key), value)))
        assert.deepEqual(checked(key, sealed), value)
      }),
    )
  })

  it('rejects any changed byte, and the value of another key', () => {
    const someValue = fc.uint8Array({ maxLength: 40 })
    fc.assert(
      fc.property(someValue, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, at, change) => {
        const sealed = withChecksum('key', value)
        assert.throws(() => checked('other key', sealed), { code: 'CORRUPT' })
        const index = at % sealed.length
        sealed[index] = (sealed[index] ?? 0) ^ change
        assert.throws(() => checked('key', sealed), { code: 'CORRUPT' })
      }),
    )
  })
})

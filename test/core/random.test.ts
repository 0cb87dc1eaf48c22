import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../../core/bytes.ts'
import { randomBytes } from '../../core/platform/node.ts'

describe('randomBytes', () => {
  it('never returns the same bytes twice, over many refills of the pool', () => {
    const seen = new Set(Array.from({ length: 10_000 }, () => toHex(randomBytes(32))))
    assert.equal(seen.size, 10_000)
  })

  it('returns as many bytes as requested, in new memory', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4096 }), (count) => {
        const bytes = randomBytes(count)
        assert.equal(bytes.length, count)
        assert.equal(bytes.buffer.byteLength, count)
      }),
    )
  })

  it('erases from the pool what it returns', (t) => {
    const { mock } = t.mock.method(crypto, 'randomFillSync')
    syncBuiltinESMExports()
    randomBytes(4096)
    const bytes = randomBytes(32)
    const [pool] = mock.calls.at(-1)?.arguments ?? []
    t.mock.restoreAll()
    syncBuiltinESMExports()
    assert.ok(pool instanceof Uint8Array && !Buffer.from(pool).includes(Buffer.from(bytes)))
  })

  it('never returns the zeros of an erased part of the pool', () => {
    for (const count of [4096, 32, 4064, 32, 1000, 4096]) assert.notDeepEqual(randomBytes(count), new Uint8Array(count))
  })

  it('throws for a number that is not valid or larger than the pool', () => {
    for (const count of [-1, 1.5, 4097, Number.NaN]) assert.throws(() => randomBytes(count), RangeError)
  })
})

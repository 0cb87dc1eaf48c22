import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { partBytesFor, partsOf } from '../../../adapters/s3/upload.ts'
import { concatBytes } from '../../../core/bytes.ts'
import { assertSame, throughOneBuffer } from '../../contract/index.ts'

const MIB = 1024 * 1024

async function collectParts(chunks: readonly Uint8Array[], partBytes: number) {
  const parts: { readonly bytes: Uint8Array; readonly isLast: boolean }[] = []
  for await (const { bytes, isLast } of partsOf(throughOneBuffer(chunks), partBytes))
    parts.push({ bytes: new Uint8Array(bytes), isLast })
  return parts
}

describe('parts of a body', () => {
  test('have exactly partBytes whatever the chunks are; the last is marked, and empty only if the body is', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }),
        fc.integer({ min: 1, max: 64 }),
        async (chunks, partBytes) => {
          const whole = concatBytes(...chunks)
          const parts = await collectParts(chunks, partBytes)
          assertSame(concatBytes(...parts.map(({ bytes }) => bytes)), whole)
          assert.equal(parts.length, Math.max(1, Math.ceil(whole.length / partBytes)))
          for (const [index, { bytes, isLast }] of parts.entries()) {
            assert.equal(isLast, index === parts.length - 1)
            if (!isLast) assert.equal(bytes.length, partBytes)
          }
        },
      ),
    ))

  test('keep their bytes when the buffer grows', async () => {
    const steps = [64 * 1024 - 1, 2, MIB - 64 * 1024 - 2, 2, 2 * MIB, 3 * MIB]
    const chunks = steps.map((size, n) => new Uint8Array(size).fill(n + 1))
    const parts = await collectParts(chunks, 5 * MIB)
    const lengths = parts.map(({ bytes }) => bytes.length)
    assert.deepEqual(lengths, [5 * MIB, MIB + 1])
    assertSame(concatBytes(...parts.map(({ bytes }) => bytes)), concatBytes(...chunks))
  })

  test('are large enough that the largest body needs at most 10,000', () => {
    assert.equal(partBytesFor(100 * MIB, 8 * MIB), 8 * MIB)
    assert.equal(partBytesFor(80_000 * MIB, 8 * MIB), 8 * MIB)
    assert.equal(partBytesFor(80_000 * MIB + 1, 8 * MIB), 8 * MIB + 1)
    assert.equal(partBytesFor(2 ** 40, 8 * MIB), Math.ceil(2 ** 40 / 10_000))
    // An object has at most 5 TiB.
    assert.equal(partBytesFor(Infinity, 8 * MIB), Math.ceil((5 * 2 ** 40) / 10_000))
  })
})

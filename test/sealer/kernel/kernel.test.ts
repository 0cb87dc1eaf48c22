import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sha256Of } from '../../../core/bytes.ts'
import { WORKSPACE_AT } from '../../../sealer/kernel/layout.ts'
import { TestMemory } from '../../support/kernel-memory.ts'

const HASH_BYTES = 32
/** Every remainder of a group of four, and the edges of tiles and of larger rows. */
const counts = [0, ...Array.from({ length: 17 }, (_, i) => i + 1), 255, 256, 257, 1023, 1024, 1025]

/** The hashes of the inputs, one at a time by node:crypto. */
function expected(prefix: number, inputs: Uint8Array, inputBytes: number): Uint8Array {
  const out = new Uint8Array((inputs.length / inputBytes) * HASH_BYTES)
  for (let i = 0; i * inputBytes < inputs.length; i++)
    out.set(sha256Of(Uint8Array.of(prefix), inputs.subarray(i * inputBytes, (i + 1) * inputBytes)), i * HASH_BYTES)
  return out
}

const functions = [
  { name: 'hashLeaves', prefix: 0x00, inputBytes: HASH_BYTES },
  { name: 'hashNodes', prefix: 0x01, inputBytes: 2 * HASH_BYTES },
] as const

for (const { name, prefix, inputBytes } of functions)
  describe(name, async () => {
    const memory = await TestMemory.create(5)

    /** Hashes random inputs from `inputAt` to `outAt`: exactly the hashes are written, and the inputs do not change. */
    function check(inputAt: number, outAt: number, count: number): void {
      const inputs = new Uint8Array(randomBytes(count * inputBytes))
      memory.bytes.set(inputs, inputAt)
      const written = memory.writtenBy(() => memory.kernel[name](inputAt, outAt, count), outAt, count * HASH_BYTES)
      assert.deepEqual(written, expected(prefix, inputs, inputBytes), `${count} at ${inputAt} to ${outAt}`)
    }

    it('writes the hashes of node:crypto, and nothing else, at every edge', () => {
      for (const count of counts) check(WORKSPACE_AT + 1024, WORKSPACE_AT + 1024 + count * inputBytes, count)
    })

    it('does so for any count and alignment, with the output before or after the input', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 600 }),
          fc.integer({ min: 0, max: 63 }),
          fc.integer({ min: 0, max: 63 }),
          fc.boolean(),
          (count, shift, gap, outFirst) => {
            const first = WORKSPACE_AT + 1 + shift
            const second = first + count * (outFirst ? HASH_BYTES : inputBytes) + gap
            check(outFirst ? second : first, outFirst ? first : second, count)
          },
        ),
        { numRuns: 40 },
      )
    })

    it('works up to the last byte of the memory, and throws beyond', () => {
      for (const count of [1, 2, 3, 4, 5, 8]) {
        check(memory.bytes.length - count * inputBytes, WORKSPACE_AT, count)
        check(WORKSPACE_AT + 1, memory.bytes.length - count * HASH_BYTES, count)
      }
      for (const count of [1, 4])
        assert.throws(() => memory.kernel[name](memory.bytes.length - count * inputBytes + 1, WORKSPACE_AT, count), {
          name: 'RuntimeError',
        })
    })
  })

describe('the kernel', async () => {
  const memory = await TestMemory.create(5)
  const inputAt = WORKSPACE_AT + 1
  const outAt = inputAt + 256 * 64

  it('is correct for each value of the last byte, which is in the second block of a node', () => {
    const pairs = new Uint8Array(randomBytes(256 * 64))
    for (let byte = 0; byte < 256; byte++) pairs[byte * 64 + 63] = byte
    memory.bytes.set(pairs, inputAt)
    memory.kernel.hashNodes(inputAt, outAt, 256)
    assert.deepEqual(memory.bytes.slice(outAt, outAt + 256 * 32), expected(0x01, pairs, 64))
  })

  it('is correct for the extreme byte values', () => {
    for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
      const pairs = new Uint8Array(5 * 64).fill(byte)
      memory.bytes.set(pairs, inputAt)
      memory.kernel.hashNodes(inputAt, outAt, 5)
      assert.deepEqual(memory.bytes.slice(outAt, outAt + 5 * 32), expected(0x01, pairs, 64))
      memory.kernel.hashLeaves(inputAt, outAt, 5)
      assert.deepEqual(memory.bytes.slice(outAt, outAt + 5 * 32), expected(0x00, pairs.subarray(0, 5 * 32), 32))
    }
  })

  it('does not depend on the byte before its input', () => {
    const hashed = (before: number): Uint8Array => {
      memory.bytes[inputAt - 1] = before
      memory.kernel.hashLeaves(inputAt, outAt, 4)
      memory.kernel.hashNodes(inputAt, outAt + 4 * 32, 2)
      return memory.bytes.slice(outAt, outAt + 6 * 32)
    }
    const expectedHashes = hashed(0)
    for (const before of [1, 0x80, 0xff]) assert.deepEqual(hashed(before), expectedHashes)
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { concatBytes } from '../../../core/bytes.ts'
import { encodeLog, FIRST, LAST, recordsOf, WHOLE } from '../../../adapters/level/log-format.ts'

/** The records of a log, whose parts must be sound and in order. */
function decodeLog(log: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  let parts: Uint8Array[] = []
  for (const { type, data } of recordsOf(log)) {
    assert.ok(data !== undefined, 'it is sound')
    assert.equal(parts.length === 0, type === WHOLE || type === FIRST)
    parts.push(data)
    if (type !== WHOLE && type !== LAST) continue
    found.push(concatBytes(...parts))
    parts = []
  }
  return found
}

it('a log that is written has each record whole, or in parts that begin and end it', () => {
  // A block has 32,768 bytes, and a header 7: the first record ends before, at and behind the end of a block.
  for (let first = 32_740; first <= 32_790; first += 1)
    for (const second of [0, 1, 100_000]) {
      const records = [first, second, 5].map((length, i) => new Uint8Array(length).fill(i + 1))
      assert.ok(Buffer.concat(decodeLog(encodeLog(records))).equals(Buffer.concat(records)), `${first}, ${second}`)
      assert.equal(decodeLog(encodeLog(records)).length, records.length)
    }
})

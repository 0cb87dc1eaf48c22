import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeUtf8, encodeUtf8 } from '../../../core/bytes.ts'
import { versionOf } from '../../../core/store/commit-plan.ts'
import { DecodeCache } from '../../../core/store/decode-cache.ts'
import type { Entry } from '../../../core/ports/index.ts'

const entry = (key: string, version: number, record: object): Entry => ({
  key,
  value: encodeUtf8(JSON.stringify(record)),
  version: versionOf(version),
})

const decode = ({ value }: Entry) => JSON.parse(decodeUtf8(value)) as { n: number }

describe('DecodeCache', () => {
  it('parses each version of a key once', () => {
    const decoded = new DecodeCache(2, decode)
    const first = decoded.of(entry('a', 1, { n: 1 }))
    assert.deepEqual(first, { n: 1 })
    assert.equal(decoded.of(entry('a', 1, { n: 1 })), first)
    assert.deepEqual(decoded.of(entry('a', 2, { n: 2 })), { n: 2 })
    assert.deepEqual(decoded.of(entry('a', 1, { n: 1 })), { n: 1 })
  })

  it('keeps keys apart, and no more of them than it may', () => {
    const decoded = new DecodeCache(2, decode)
    const [a, b] = [decoded.of(entry('a', 1, { n: 1 })), decoded.of(entry('b', 1, { n: 2 }))]
    assert.deepEqual([a, b], [{ n: 1 }, { n: 2 }])
    assert.equal(decoded.of(entry('a', 1, { n: 1 })), a)
    decoded.of(entry('c', 1, { n: 3 }))
    const again = decoded.of(entry('b', 1, { n: 2 }))
    assert.notEqual(again, b)
    assert.deepEqual(again, b)
  })

  it('throws for what is no JSON, and knows nothing of it', () => {
    const decoded = new DecodeCache(2, decode)
    assert.throws(() => decoded.of({ key: 'a', value: encodeUtf8('{'), version: versionOf(1) }), SyntaxError)
    assert.deepEqual(decoded.of(entry('a', 1, { n: 1 })), { n: 1 })
  })
})

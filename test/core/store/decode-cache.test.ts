import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeUtf8, encodeUtf8 } from '../../../core/bytes.ts'
import { versionOf } from '../../../core/store/stored-form.ts'
import { DecodeCache } from '../../../core/store/cache.ts'
import type { Stored } from '../../../core/ports/index.ts'

const entry = (key: string, version: number, record: object): Stored => ({
  key,
  value: encodeUtf8(JSON.stringify(record)),
  version: versionOf(version),
})

const decode = ({ value }: Stored) => JSON.parse(decodeUtf8(value)) as { n: number }

describe('DecodeCache', () => {
  it('decodes each version of a key once', () => {
    const cache = new DecodeCache(2, decode)
    const first = cache.of(entry('a', 1, { n: 1 }))
    assert.deepEqual(first, { n: 1 })
    assert.equal(cache.of(entry('a', 1, { n: 1 })), first)
    assert.deepEqual(cache.of(entry('a', 2, { n: 2 })), { n: 2 })
    assert.deepEqual(cache.of(entry('a', 1, { n: 1 })), { n: 1 })
  })

  it('distinguishes keys, and keeps a bounded number of them', () => {
    const cache = new DecodeCache(2, decode)
    const [a, b] = [cache.of(entry('a', 1, { n: 1 })), cache.of(entry('b', 1, { n: 2 }))]
    assert.deepEqual([a, b], [{ n: 1 }, { n: 2 }])
    assert.equal(cache.of(entry('a', 1, { n: 1 })), a)
    cache.of(entry('c', 1, { n: 3 }))
    const again = cache.of(entry('b', 1, { n: 2 }))
    assert.notEqual(again, b)
    assert.deepEqual(again, b)
  })

  it('throws what decoding throws, and does not cache it', () => {
    const cache = new DecodeCache(2, decode)
    assert.throws(() => cache.of({ key: 'a', value: encodeUtf8('{'), version: versionOf(1) }), SyntaxError)
    assert.deepEqual(cache.of(entry('a', 1, { n: 1 })), { n: 1 })
  })
})

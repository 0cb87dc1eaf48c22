import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { EntryCache } from '../../../adapters/level/entry-cache.ts'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import { versionOf } from '../../../core/store/commit-plan.ts'
import type { Entry } from '../../../core/ports.ts'

const entry = (key: string, version: number, bytes = 3): Entry => ({
  key,
  value: new Uint8Array(bytes).fill(version),
  version: versionOf(version),
})

describe('HotEntries', () => {
  it('gives what was noted last, or nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 999 }), fc.nat({ max: 255 }), fc.boolean())), (steps) => {
        const hot = new EntryCache()
        const noted = new Map<string, Entry>()
        for (const [number, version, drop] of steps) {
          const key = `k/${number}`
          if (drop) hot.drop(key)
          else hot.note(entry(key, version))
          if (drop) noted.delete(key)
          else noted.set(key, entry(key, version))
          const found = hot.get(key)
          assert.deepEqual(found, noted.get(key))
        }
        for (let number = 0; number <= 999; number++) {
          const found = hot.get(`k/${number}`)
          if (found !== undefined) assert.deepEqual(found, noted.get(`k/${number}`))
        }
      }),
    )
  })

  it('holds bytes that nobody else has, and no large ones', () => {
    const hot = new EntryCache()
    const given = entry('a', 1)
    hot.note(given)
    given.value.fill(9)
    hot.get('a')?.value.fill(8)
    assert.deepEqual(hot.get('a'), entry('a', 1))
    hot.note(entry('b', 1, 513))
    assert.equal(hot.get('b'), undefined)
  })
})

describe('reads while groups are written', () => {
  const directories: string[] = []
  after(async () => {
    for (const directory of directories) await rm(directory, { recursive: true })
  })

  it('never go back, whichever key they ask for', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'er-hot-'))
    directories.push(directory)
    const store = await openLevelRecords(directory)
    let acknowledged = 0
    let writing = true
    const write = async () => {
      for (let n = 1; n <= 200; n++) {
        const value = encodeUtf8(String(n))
        assert.ok((await store.commit({ writes: ['x', 'y'].map((key) => ({ key, value })) })).ok)
        acknowledged = n
      }
      writing = false
    }
    const numberOf = (found: Entry | undefined) => Number(found === undefined ? 0 : Buffer.from(found.value).toString())
    const read = async () => {
      let [last, rounds] = [0, 0]
      for (; writing; rounds++) {
        for (const key of ['x', 'y', 'x']) {
          const least = Math.max(last, acknowledged)
          const [found] = await store.get([key])
          last = numberOf(found)
          assert.ok(last >= least, `${key} went back from ${least} to ${last}`)
        }
        const [x, y] = await store.get(['x', 'y'])
        assert.equal(numberOf(x), numberOf(y))
        if (rounds % 3 === 0) await new Promise(setImmediate)
      }
      return rounds
    }
    const [, rounds] = await Promise.all([write(), read()])
    assert.ok(rounds > 200, `${rounds} rounds of reading`)
    assert.equal(numberOf((await store.get(['x']))[0]), 200)
    assert.ok((await store.commit({ writes: [{ key: 'x', value: null }] })).ok)
    assert.deepEqual(await store.get(['x']), [undefined])
    await store.close()
  })
})

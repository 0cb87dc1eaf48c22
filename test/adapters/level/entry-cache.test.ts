import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EntryCache } from '../../../adapters/level/reader.ts'
import { MemoryLevel } from 'memory-level'
import { LevelRecords, openLevelRecords, type LevelDatabase } from '../../../adapters/level/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import { versionOf } from '../../../core/store/commit-plan.ts'
import type { Stored } from '../../../core/ports/index.ts'
import { temporaryFor } from '../../support/temporary.ts'

const entry = (key: string, version: number, bytes = 3): Stored => ({
  key,
  value: new Uint8Array(bytes).fill(version),
  version: versionOf(version),
})

describe('EntryCache', () => {
  it('returns the entry that was set last, from the second time on', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 255 }), fc.boolean())), (steps) => {
        const cache = new EntryCache()
        const latest = new Map<string, Stored>()
        const wasSet = new Set<string>()
        for (const [number, version, isDeleted] of steps) {
          const key = `k/${number}`
          if (isDeleted) cache.delete(key)
          else cache.set(entry(key, version))
          if (isDeleted) latest.delete(key)
          else latest.set(key, entry(key, version))
          assert.deepEqual(cache.get(key), wasSet.has(key) ? latest.get(key) : undefined)
          if (!isDeleted) wasSet.add(key)
        }
        for (const [key, expected] of latest) assert.ok([undefined, expected.version].includes(cache.get(key)?.version))
      }),
    )
  })

  it('keeps an entry from the second time on, as a copy', () => {
    const cache = new EntryCache()
    const original = entry('a', 1)
    cache.set(original)
    assert.equal(cache.get('a'), undefined)
    cache.set(original)
    original.value.fill(9)
    cache.get('a')?.value.fill(8)
    assert.deepEqual(cache.get('a'), entry('a', 1))
  })
})

describe('reads while groups are written', () => {
  it('never return an older value, whichever keys they request', async (t) => {
    const store = await openLevelRecords(await temporaryFor(t))
    let acknowledged = 0
    let isWriting = true
    const write = async () => {
      for (let n = 1; n <= 200; n++) {
        const value = encodeUtf8(String(n))
        assert.ok((await store.commit({ writes: ['x', 'y'].map((key) => ({ key, value })) })).ok)
        acknowledged = n
      }
      isWriting = false
    }
    const numberOf = (current: Stored | undefined) =>
      Number(current === undefined ? 0 : Buffer.from(current.value).toString())
    const read = async () => {
      let [last, rounds] = [0, 0]
      for (; isWriting; rounds++) {
        for (const key of ['x', 'y', 'x']) {
          const minimum = Math.max(last, acknowledged)
          const [current] = await store.get([key])
          last = numberOf(current)
          assert.ok(last >= minimum, `${key} went back from ${minimum} to ${last}`)
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

  it('need a getMany only for several keys that the group changes', async () => {
    const calls: string[] = []
    const text = ([...entries]: readonly (Stored | undefined)[]) =>
      entries.map((current) => (current === undefined ? '-' : Buffer.from(current.value).toString()))
    const writes = (value: string) => ['x', 'y'].map((key) => ({ key, value: encodeUtf8(value) }))
    const read = async (...keys: string[]) => {
      calls.length = 0
      return [text(await store.get(keys)), calls.includes('getMany')]
    }
    let checks = 0
    const store = await LevelRecords.open(
      watchedLevel(calls, async (apply) => {
        if (checks === 0) return apply()
        for (const state of ['1', '2']) {
          if (state === '2') await apply()
          assert.deepEqual(await read('z', 'none'), [['0', '-'], false])
          assert.deepEqual(await read('x', 'z'), [[state, '0'], false])
          assert.deepEqual(await read('x', 'y'), [[state, state], true])
          checks += 1
        }
      }),
    )
    await store.commit({ writes: [...writes('1'), { key: 'z', value: encodeUtf8('0') }] })
    assert.deepEqual(await read('x', 'y', 'z'), [['1', '1', '0'], false])
    checks = 1
    await store.commit({ writes: writes('2') })
    assert.equal(checks, 3)
    assert.deepEqual(await read('x', 'y', 'z'), [['2', '2', '0'], false])
    await store.close()
  })
})

/** A database that notes its reads, and in which `during` decides when each batch is applied. */
function watchedLevel(calls: string[], during: (apply: () => Promise<void>) => Promise<void>): LevelDatabase {
  const db = new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })
  const batch = () => {
    const real = db.batch()
    const write = real.write.bind(real)
    real.write = (options?: object) => during(() => write(options ?? {}))
    return real
  }
  return new Proxy(db, {
    get(target, name) {
      if (name === 'batch') return batch
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        calls.push(String(name))
        return Reflect.apply(member, target, args)
      }
    },
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords, type LevelDatabase } from '../../../adapters/level/index.ts'
import { BY_TEXT, HEAD_KEY, positionKey, rowKey, ENTRY_ROWS, PAYLOAD_ROWS } from '../../../adapters/level/layout.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { STORE_FORMAT } from '../../../core/store/format.ts'
import { withChecksum } from '../../../core/store/checksum.ts'
import { appendsOf } from '../../contract/index.ts'
import { listEntries } from '../../../core/store/read.ts'

type Fault = 'not applied' | 'applied'

/** The calls that fail next, each once. */
interface PlannedFaults {
  /** The next write fails before or after it is applied. */
  write?: Fault
  /** The next read fails. */
  read?: true
}

const memoryLevel = (): LevelDatabase =>
  new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })

/** The database, with calls that fail as planned. */
function faultyLevel(db: LevelDatabase, faults: PlannedFaults): LevelDatabase {
  const batch = () => {
    const real = db.batch()
    const write = real.write.bind(real)
    real.write = async (options?: object) => {
      const fault = faults.write
      delete faults.write
      if (fault !== 'not applied') await write(options ?? {})
      if (fault !== undefined) throw new Error('IO error: db/000003.log: No space left on device')
    }
    return real
  }
  const faultyRead =
    (read: Function) =>
    (...args: unknown[]): unknown => {
      const fails = faults.read
      delete faults.read
      if (fails === true) throw new Error('IO error: too many open files')
      return Reflect.apply(read, db, args)
    }
  return new Proxy(db, {
    get(target, name) {
      if (name === 'batch') return batch
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return name === 'getMany' || name === 'getSync' ? faultyRead(member) : member.bind(target)
    },
  })
}

const put = (store: RecordStore, key: string) =>
  store.commit({
    checks: [{ key, version: null }],
    writes: [{ key, value: Buffer.from(key) }],
    adds: [{ key: 'n', delta: 1 }],
    append: appendsOf(new Uint8Array(32).fill(key.charCodeAt(0))),
  })

const keysOf = async (store: RecordStore): Promise<string[]> =>
  (await listEntries(store, { gte: 'a', lt: 'z' })).map(({ key }) => key)

describe('a write that fails', () => {
  for (const fault of ['not applied', 'applied'] as const) {
    it(`and was ${fault} poisons the store until it is opened again`, async () => {
      const db = memoryLevel()
      const faults: PlannedFaults = {}
      const lines: string[] = []
      const logger = { error: (_: object, message: string) => void lines.push(message) }
      const heads: number[] = []
      const afterGroup = ({ lastVersion }: { readonly lastVersion: number }): void => void heads.push(lastVersion)
      const store = await LevelRecords.open(faultyLevel(db, faults), { logger, afterGroup })
      assert.ok((await put(store, 'a')).ok)
      assert.ok(!store.isPoisoned())

      faults.write = fault
      const group = [put(store, 'b'), put(store, 'c')]
      for (const commit of group) await assert.rejects(commit, { code: 'UNKNOWN_OUTCOME' })
      const message = /the disk is full; free some space \(ENOSPC\)/
      for (const key of ['d', 'e']) await assert.rejects(put(store, key), { code: 'STORE_POISONED', message })
      assert.ok(store.isPoisoned())
      assert.equal(heads.length, 1, 'only what is durable is reported')
      assert.equal(lines.length, 1)
      assert.match(lines.join(), message)
      assert.ok((await keysOf(store)).includes('a'), 'reads still work')
      assert.equal((await store.readLog(0, 1))[0], 'a'.charCodeAt(0))

      await store.close()
      const again = await LevelRecords.open(db)
      const kept = fault === 'applied' ? ['a', 'b', 'c'] : ['a']
      assert.deepEqual(await keysOf(again), [...kept, 'n'])
      assert.deepEqual(
        [...(await again.readLog(0, 100))].filter((_, i) => i % 32 === 0),
        kept.map((key) => key.charCodeAt(0)),
      )
      const next = await put(again, 'f')
      assert.ok(next.ok)
      assert.equal(next.firstPosition, kept.length)
      await again.close()
    })
  }

  it('also rejects the commits that wait for the next group', async () => {
    const faults: PlannedFaults = {}
    const store = await LevelRecords.open(faultyLevel(memoryLevel(), faults))
    faults.write = 'not applied'
    // More commits than fit in one group.
    const codes = await Promise.all(
      Array.from({ length: 2000 }, (_, i) =>
        store.commit({ writes: [{ key: `k/${i}`, value: new Uint8Array() }] }).then(
          () => 'ok',
          (error: { code: string }) => error.code,
        ),
      ),
    )
    assert.deepEqual([...new Set(codes)], ['UNKNOWN_OUTCOME', 'STORE_POISONED'])
    assert.equal(codes.lastIndexOf('UNKNOWN_OUTCOME') + 1, codes.indexOf('STORE_POISONED'))
    await store.close()
  })
})

describe('an error before anything is written', () => {
  it('changes nothing, and the next commit succeeds', async () => {
    const faults: PlannedFaults = {}
    const store = await LevelRecords.open(faultyLevel(memoryLevel(), faults))
    faults.read = true
    await assert.rejects(put(store, 'a'), { code: 'UNAVAILABLE' })
    faults.read = true
    await assert.rejects(store.get(['a']), { code: 'UNAVAILABLE' })
    assert.ok((await put(store, 'a')).ok)
    assert.equal(await store.logSize(), 1)
    await store.close()
  })

  it('is CLOSED if something else closed the database', async () => {
    const db = memoryLevel()
    const store = await LevelRecords.open(db)
    await db.close()
    await assert.rejects(put(store, 'a'), { code: 'CLOSED' })
    await assert.rejects(store.get(['a']), { code: 'CLOSED' })
    await assert.rejects(store.readLog(0, 1), { code: 'CLOSED' })
  })
})

describe('opening checks that the last group is complete', () => {
  const entry = (n: number): Uint8Array => new Uint8Array(32).fill(n)

  /** A closed store of 600 log entries: two full rows, and smaller rows of an unfinished block. */
  async function writeDatabase(): Promise<LevelDatabase> {
    const db = memoryLevel()
    const store = await LevelRecords.open(db)
    const append = Buffer.alloc(590 * 32)
    for (let i = 0; i < 590; i += 1) append.writeUInt32BE(i + 1, i * 32)
    await store.commit({ append: appendsOf(new Uint8Array(append)), writes: [{ key: 'a', value: entry(0) }] })
    for (let i = 0; i < 10; i += 1) await store.commit({ append: appendsOf(entry(i)) })
    await store.close()
    await db.open()
    return db
  }

  /** Replaces a row of entries, with a correct CRC-32. */
  const putRow = (db: LevelDatabase, start: number, entries: Uint8Array): Promise<void> =>
    db.put(rowKey(ENTRY_ROWS, start), withChecksum(rowKey(ENTRY_ROWS, start), entries), BY_TEXT)

  const damages: readonly (readonly [string, (db: LevelDatabase) => Promise<void>])[] = [
    ['its head is missing', (db) => db.del(HEAD_KEY, BY_TEXT)],
    ['its head cannot be decoded', (db) => db.put(HEAD_KEY, new Uint8Array(33), BY_TEXT)],
    ['a full row is missing', (db) => db.del(rowKey(ENTRY_ROWS, 256), BY_TEXT)],
    ['the last row is missing', (db) => db.del(rowKey(ENTRY_ROWS, 599), BY_TEXT)],
    ['a row of the last block is missing', (db) => db.del(rowKey(ENTRY_ROWS, 595), BY_TEXT)],
    ['a row is cut short', (db) => putRow(db, 256, new Uint8Array(255 * 32))],
    ['a row is not a multiple of 32 bytes', (db) => putRow(db, 599, new Uint8Array(33))],
    ['the log runs beyond its head', (db) => putRow(db, 600, entry(9))],
    ['the payloads of a row of the last block are missing', (db) => db.del(rowKey(PAYLOAD_ROWS, 595), BY_TEXT)],
    ['the last payloads are missing', (db) => db.del(rowKey(PAYLOAD_ROWS, 599), BY_TEXT)],
    ['a position is missing', (db) => db.del(positionKey(entry(4)), BY_TEXT)],
  ]
  for (const [name, damage] of damages) {
    it(`and throws CORRUPT if ${name}`, async () => {
      const db = await writeDatabase()
      await damage(db)
      await assert.rejects(LevelRecords.open(db), { code: 'CORRUPT' })
    })
  }

  it('and reading throws CORRUPT for a row within a full row, also at the end of what is read', async () => {
    const db = await writeDatabase()
    const store = await LevelRecords.open(db)
    assert.equal(await store.logSize(), 600)
    await putRow(db, 100, entry(9))
    for (const [from, count] of [
      [0, 256],
      [0, 512],
      [200, 56],
    ] as const)
      await assert.rejects(store.readLog(from, count), { code: 'CORRUPT' })
    assert.equal((await store.readLog(256, 256)).length, 256 * 32)
    await store.close()
  })

  it('and throws CONFIG_ERROR for an older format, or that of a newer version', async () => {
    const [older, newer] = [STORE_FORMAT - 1, STORE_FORMAT + 1]
    const needs = `this version needs ${STORE_FORMAT}`
    for (const [head, remedy] of [
      [
        Uint8Array.of(older, ...new Uint8Array(32)),
        `^The record store has store format ${older}; ${needs}: no version`,
      ],
      [Uint8Array.of(newer, 1, 2), `format ${newer}; ${needs}: use a newer version$`],
    ] as const) {
      const db = await writeDatabase()
      await db.put(HEAD_KEY, head, BY_TEXT)
      await assert.rejects(LevelRecords.open(db), { code: 'CONFIG_ERROR', message: new RegExp(remedy) })
    }
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Level } from 'level'
import { openLevelRecords, type LevelRecords } from '../../../adapters/level/index.ts'
import type { LevelDatabase } from '../../../adapters/level/layout.ts'
import { forgetKeys, manifestName } from '../../../adapters/level/manifest.ts'
import { eventually } from '../../support/eventually.ts'
import { isOnDisk, temporaryFor } from '../../support/temporary.ts'

/** Without compression, so that a search of the files finds every value. */
const uncompressed = (folder: string): LevelDatabase =>
  new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view', compression: false })

const put = (records: LevelRecords, key: string, text: string | null) =>
  records.commit({ writes: [{ key, value: text === null ? null : Buffer.from(text) }] })

/** Fills several tables, so that old values reach lower levels. */
async function fill(records: LevelRecords, tables: number): Promise<void> {
  for (let i = 0; i < tables * 5; i += 1)
    await records.commit({
      writes: Array.from({ length: 16 }, (_, j) => ({ key: `k/${j}/${i}`, value: randomBytes(64 * 1024) })),
    })
}

async function open(t: TestContext) {
  const directory = await temporaryFor(t)
  let database: LevelDatabase | undefined
  const records = await openLevelRecords(directory, { database: (folder) => (database = uncompressed(folder)) })
  t.after(() => records.close())
  assert.ok(database)
  return { records, directory, database }
}

const secretText = (name: string): string => `${name}-${randomBytes(24).toString('hex')}`

describe('opening LevelDB', () => {
  it('removes keys from its files that no table holds any more', async (t) => {
    const { records, directory } = await open(t)
    // The last key of a table: LevelDB notes up to which key it has merged each level.
    const last = `z/${secretText('last')}`
    const texts = [`a/${secretText('first')}`, last]
    await fill(records, 2)
    for (const key of texts) await put(records, key, 'x')
    await fill(records, 1)
    for (const key of texts) await put(records, key, null)
    assert.equal(await records.eraseHistory(texts), true)
    await records.close()
    for (const key of texts) assert.ok(await isOnDisk(directory, key), 'LOG and the manifest hold it')
    const unguarded = join(await temporaryFor(t), 'copy')
    await cp(join(directory, 'db'), unguarded, { recursive: true })
    const opened = uncompressed(unguarded)
    await opened.open()
    await opened.close()
    for (const name of ['LOG', 'LOG.old']) await rm(join(unguarded, name))
    assert.ok(await isOnDisk(unguarded, last), 'LevelDB itself carries it over')

    for (const name of ['.MANIFEST-000004.0b9f.tmp', 'LOG.old'])
      await writeFile(join(directory, 'db', name), `left by a crash: ${texts[0]}`)
    const again = await openLevelRecords(directory, { database: uncompressed })
    for (const key of texts) assert.ok(!(await isOnDisk(directory, key)))
    const kept = await again.get(Array.from({ length: 16 }, (_, i) => `k/${i}/9`))
    assert.ok(kept.every((entry) => entry?.value.length === 64 * 1024))
    await again.close()
  })
})

it('leaves a manifest of LevelDB as it is if it is damaged', async (t) => {
  const { records, directory } = await open(t)
  await records.close()
  const database = join(directory, 'db')
  const path = join(database, (await manifestName(database)) ?? '')
  const manifest = await readFile(path)
  manifest.set([(manifest.at(-1) ?? 0) ^ 1], manifest.length - 1)
  await writeFile(path, manifest)
  await forgetKeys(database)
  assert.deepEqual(await readFile(path), manifest)
})

describe('eraseHistory of LevelDB', () => {
  for (const [where, before, after, others] of [
    ['only in the log', 0, 0, 0],
    ['in a table', 2, 0, 0],
    ['in a table below others', 2, 3, 0],
    ['in a table below others, with hundreds of other keys', 6, 6, 300],
  ] as const)
    it(`removes overwritten and deleted values that are ${where}`, async (t) => {
      const { records, directory, database } = await open(t)
      const [overwritten, deleted, kept] = [secretText('overwritten'), secretText('deleted'), secretText('kept')]
      await put(records, 'k/3/overwritten', overwritten)
      await put(records, 'k/7/deleted', deleted)
      await put(records, 'k/7/kept', kept)
      await fill(records, before)
      // Until it is closed, LevelDB drops no value that it sees when it merges tables.
      const reader = database.iterator()
      await put(records, 'k/3/overwritten', 'new')
      await put(records, 'k/7/deleted', null)
      await fill(records, after)
      await reader.close()
      assert.ok((await isOnDisk(directory, overwritten)) && (await isOnDisk(directory, deleted)), 'the search finds it')

      const filled = Array.from({ length: others }, (_, i) => `k/${i % 16}/${Math.floor(i / 16)}`)
      const erased = ['k/7/deleted', ...filled, 'k/3/overwritten']
      assert.equal(await records.eraseHistory(erased), true)
      assert.ok(!(await isOnDisk(directory, overwritten)), 'overwritten')
      assert.ok(!(await isOnDisk(directory, deleted)), 'deleted')
      assert.ok(await isOnDisk(directory, kept))
      const [present, absent, other] = await records.get(['k/3/overwritten', 'k/7/deleted', 'k/7/kept'])
      assert.equal(Buffer.from(present?.value ?? []).toString(), 'new')
      assert.equal(absent, undefined)
      assert.equal(Buffer.from(other?.value ?? []).toString(), kept)
    })

  it('also removes values that lie in one table with the newer ones', async (t) => {
    const { records, directory } = await open(t)
    const text = secretText('old')
    await put(records, 'k/1/x', text)
    await put(records, 'k/1/x', 'new')
    // Writes the memory to a table.
    await records.eraseHistory([])
    assert.ok(await isOnDisk(directory, text), 'it is in the table')
    assert.equal(await records.eraseHistory(['k/1/x']), true)
    assert.ok(!(await isOnDisk(directory, text)))
  })

  it('poisons the store if its write fails, as any other write', async (t) => {
    let fails = false
    const database = (folder: string): LevelDatabase => {
      const db = uncompressed(folder)
      const batch = db.batch.bind(db)
      const failing = () => {
        const made = batch()
        if (fails) made.write = () => Promise.reject(new Error('IO error: db/000003.log: No space left on device'))
        return made
      }
      return Object.defineProperty(db, 'batch', { value: failing })
    }
    const records = await openLevelRecords(await temporaryFor(t), { database })
    t.after(() => records.close())
    await put(records, 'k/1/x', 'text')
    fails = true
    await assert.rejects(records.eraseHistory(['k/1/x']), { code: 'UNKNOWN_OUTCOME' })
    await assert.rejects(records.eraseHistory(['k/1/x']), { code: 'STORE_POISONED' })
  })

  it('reports that it must be called again while a reader is open', async (t) => {
    const { records, directory } = await open(t)
    const text = secretText('old')
    await put(records, 'k/1/x', text)
    await fill(records, 1)
    const snapshot = await records.snapshot()
    await put(records, 'k/1/x', 'new')
    assert.equal(await records.eraseHistory(['k/1/x']), false)
    assert.ok(await isOnDisk(directory, text))
    await snapshot.close()
    const list = records.list({ gte: 'k', lt: 'l' })[Symbol.asyncIterator]()
    await list.next()
    assert.equal(await records.eraseHistory(['k/1/x']), false)
    await list.return?.()
    assert.equal(await records.eraseHistory(['k/1/x']), true)
    assert.ok(!(await isOnDisk(directory, text)))
  })

  it('reports that it must be called again if a reader that was opened during its merge is still open', async (t) => {
    let read = async (): Promise<unknown> => undefined
    const compactRange: unknown = Reflect.get(Level.prototype, 'compactRange')
    assert.ok(typeof compactRange === 'function')
    const database = (folder: string): LevelDatabase =>
      Object.assign(uncompressed(folder), {
        async compactRange(...args: unknown[]): Promise<void> {
          if (args[0] === 'k/1/x') await read()
          await Reflect.apply(compactRange, this, args)
        },
      })
    const records = await openLevelRecords(await temporaryFor(t), { database })
    t.after(() => records.close())
    await put(records, 'k/1/x', 'text')
    const list = records.list({ gte: 'k', lt: 'l' })[Symbol.asyncIterator]()
    read = () => list.next()
    assert.equal(await records.eraseHistory(['k/1/x']), false)
    await list.return?.()
    assert.equal(await records.eraseHistory(['k/1/x']), true)
  })

  it('loses nothing that is written, and finds nothing afterwards, while commits and reads go on', async (t) => {
    const { records, directory } = await open(t)
    const texts = Array.from({ length: 8 }, (_, i) => secretText(`old-${i}`))
    for (const [i, text] of texts.entries()) await put(records, `k/${i}/x`, text)
    await fill(records, 2)
    let isErasing = true
    let written = 0
    const write = async (): Promise<void> => {
      while (isErasing || written < 20) {
        written += 1
        await Promise.all(texts.map((_, i) => put(records, `k/${i}/x`, `${written}`)))
      }
    }
    const read = async (): Promise<void> => {
      while (isErasing) {
        await Promise.all([records.get(texts.map((_, i) => `k/${i}/x`)), records.readLog(0, 1)])
        // Reads of few keys never wait, so without this nothing else would run.
        await setImmediate()
      }
    }
    const erase = async (): Promise<void> => {
      try {
        await Promise.all(texts.map((_, i) => put(records, `k/${i}/x`, '0')))
        await eventually(() => records.eraseHistory(texts.map((_, i) => `k/${i}/x`)))
      } finally {
        isErasing = false
      }
    }
    await Promise.all([write(), read(), erase()])
    for (const text of texts) assert.ok(!(await isOnDisk(directory, text)))
    for (const entry of await records.get(texts.map((_, i) => `k/${i}/x`)))
      assert.equal(Buffer.from(entry?.value ?? []).toString(), `${written}`)
  })
})

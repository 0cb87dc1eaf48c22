import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { checkFiles } from '../../../adapters/level/file-check.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { temporaryFor } from '../../support/temporary.ts'

const ALL = { hasLogs: true, maxTableBytes: Infinity }

/** `FILE BYTE` of what is damaged. */
async function damageIn(database: string, options = ALL): Promise<readonly string[]> {
  const damage: string[] = []
  for await (const { file, damagedAt } of checkFiles(database, options))
    if (damagedAt !== undefined) damage.push(`${file} ${damagedAt}`)
  return damage
}

/** Bytes that cannot be compressed, the same in each run. */
const noise = (seed: number, bytes: number): Buffer =>
  createHash('shake256', { outputLength: bytes }).update(String(seed)).digest()

/** Writes tables with blocks of both kinds, and leaves a log with four writes. */
async function writeStore(directory: string, noiseBytes = 640): Promise<void> {
  for (const generation of [0, 1]) {
    const store = await openLevelRecords(directory)
    for (let i = 0; i < 4; i += 1) {
      const key = `k/${generation}/${i}`
      const texts = Array.from({ length: 200 }, (_, n) => ({
        key: `${key}/${n}`,
        value: Buffer.from('text'.repeat(9)),
      }))
      await store.commit({ writes: [{ key, value: noise(i, noiseBytes) }, ...texts] })
    }
    await store.close()
  }
}

const filesOf = async (database: string, ending: string): Promise<readonly string[]> =>
  (await readdir(database)).filter((name) => name.endsWith(ending))

async function onlyFile(database: string, ending: string): Promise<string> {
  const [name, ...others] = await filesOf(database, ending)
  assert.ok(name !== undefined && others.length === 0)
  return name
}

/** Calls `test` with each of these bytes changed by one bit in turn. */
async function flipEach(path: string, places: Iterable<number>, test: (at: number) => Promise<void>): Promise<void> {
  const intact = await readFile(path)
  for (const at of places) {
    const changed = Buffer.from(intact)
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
    await writeFile(path, changed)
    await test(at)
  }
  await writeFile(path, intact)
}

function* every(step: number, from: number, to: number): Generator<number> {
  for (let at = from; at < to; at += step) yield at
}

async function newStore(t: TestContext): Promise<{ directory: string; database: string }> {
  const directory = await temporaryFor(t)
  await writeStore(directory)
  return { directory, database: join(directory, 'db') }
}

describe('the check of a table', () => {
  it('finds a flipped bit wherever it is, in a block of either kind, the filter, the index or the footer', async (t) => {
    const { database } = await newStore(t)
    assert.deepEqual(await damageIn(database), [])
    const [name = ''] = await filesOf(database, '.ldb')
    const path = join(database, name)
    const { length } = await readFile(path)
    for (const places of [every(211, 0, length - 2_000), every(5, length - 400, length)])
      await flipEach(path, places, async (at) => {
        const [found = '', ...more] = await damageIn(database)
        const [file, damagedAt] = found.split(' ')
        assert.deepEqual([file, more], [name, []], `byte ${at}`)
        // The block, unless its place itself is damaged.
        if (at < length - 400) assert.ok(Number(damagedAt) <= at && at < Number(damagedAt) + 8_192, `byte ${at}`)
      })
  })

  it('reads a table of several parts', async (t) => {
    const directory = await temporaryFor(t)
    await writeStore(directory, 800_000)
    const database = join(directory, 'db')
    const [name = ''] = await filesOf(database, '.ldb')
    const path = join(database, name)
    const { length } = await readFile(path)
    assert.ok(length > 3_000_000)
    await flipEach(path, every(1_000_003, 0, length), async (at) =>
      assert.equal((await damageIn(database)).length, 1, `byte ${at}`),
    )
  })

  it('finds a table that was cut off, and leaves out one that is not finished or that LevelDB removes', async (t) => {
    const { database } = await newStore(t)
    await writeFile(join(database, '999999.ldb'), 'unfinished')
    assert.deepEqual(await damageIn(database), [])
    const [name = ''] = await filesOf(database, '.ldb')
    for (const length of [5_000, 20, 0]) {
      await truncate(join(database, name), length)
      assert.deepEqual(await damageIn(database), [`${name} ${Math.max(0, length - 48)}`])
      assert.deepEqual(await damageIn(database, { ...ALL, maxTableBytes: 100 }), [])
    }
  })
})

describe('the check of a log', () => {
  it('finds damage that has a later write behind it', async (t) => {
    const { database } = await newStore(t)
    const name = await onlyFile(database, '.log')
    const path = join(database, name)
    const { length } = await readFile(path)
    await flipEach(path, every(503, 0, Math.floor(length / 2)), async (at) =>
      assert.match((await damageIn(database)).join(), new RegExp(`^${name} \\d+$`), `byte ${at}`),
    )
  })

  it('accepts that a crash has cut off or damaged the last write', async (t) => {
    const { database } = await newStore(t)
    const path = join(database, await onlyFile(database, '.log'))
    const { length } = await readFile(path)
    await flipEach(path, [length - 1, length - 5_000], async () => assert.deepEqual(await damageIn(database), []))
    const intact = await readFile(path)
    for (const size of every(1_013, 0, length)) {
      for (const end of [Buffer.alloc(0), Buffer.alloc(10_000)]) {
        await writeFile(path, Buffer.concat([intact.subarray(0, size), end]))
        assert.deepEqual(await damageIn(database), [], `${size} bytes`)
      }
    }
  })

  it('finds a torn end if a later log follows, and leaves out logs that LevelDB does not read', async (t) => {
    const { database } = await newStore(t)
    const name = await onlyFile(database, '.log')
    const log = await readFile(join(database, name))
    await writeFile(join(database, '000001.log'), log.subarray(1))
    assert.deepEqual(await damageIn(database), [])
    await writeFile(join(database, '999999.log'), log)
    await writeFile(join(database, name), log.with(log.length - 1, 1))
    assert.equal((await damageIn(database)).length, 1)
  })

  it('finds damage in the manifest', async (t) => {
    const { database } = await newStore(t)
    const [name = ''] = (await readdir(database)).filter((each) => each.startsWith('MANIFEST'))
    await flipEach(join(database, name), [20], async () => assert.deepEqual(await damageIn(database), [`${name} 0`]))
  })
})

describe('an open of a damaged store', () => {
  it('is CORRUPT with the file and the byte, and LevelDB does not open it', async (t) => {
    const { directory, database } = await newStore(t)
    for (const ending of ['.ldb', '.log']) {
      const [name = ''] = await filesOf(database, ending)
      await flipEach(join(database, name), [3_000], () =>
        assert.rejects(openLevelRecords(directory, { database: () => assert.fail('it was opened') }), {
          code: 'CORRUPT',
          message: new RegExp(`${name} at byte \\d+\\. Restore a backup: see `),
        }),
      )
    }
    await (await openLevelRecords(directory)).close()
  })

  it('is possible to read what is left', async (t) => {
    const { directory, database } = await newStore(t)
    const [name = ''] = await filesOf(database, '.ldb')
    const { logger, lines } = recordingLogger()
    await flipEach(join(database, name), [3_000], async () =>
      (await openLevelRecords(directory, { acceptDamage: true, logger })).close(),
    )
    assert.match(String(lines[0]?.['damage']), new RegExp(`${name} at byte \\d+$`))
  })

  it('tells a handler about all damage first', async (t) => {
    const { directory, database } = await newStore(t)
    const [table = ''] = await filesOf(database, '.ldb')
    const log = await onlyFile(database, '.log')
    const damage: string[] = []
    const onCheckedPart = ({ file, damagedAt }: { file: string; damagedAt?: number }): void => {
      if (damagedAt !== undefined) damage.push(file)
    }
    await flipEach(join(database, table), [3_000], () =>
      flipEach(join(database, log), [3_000], () =>
        assert.rejects(openLevelRecords(directory, { onCheckedPart }), { code: 'CORRUPT' }),
      ),
    )
    assert.deepEqual(damage, [log, table])
  })

  it('says how far a long check is', async (t) => {
    const { directory } = await newStore(t)
    const { logger, lines } = recordingLogger()
    t.mock.timers.enable({ apis: ['Date'] })
    let bytes = 0
    const onCheckedPart = (part: { bytes: number }): void => {
      bytes += part.bytes
      t.mock.timers.tick(5_000)
    }
    await (await openLevelRecords(directory, { logger, onCheckedPart })).close()
    assert.equal(lines.at(-1)?.['checkedBytes'], bytes)
  })

  it('is noted until the store is closed, so that the next one checks all tables', async (t) => {
    const directory = await temporaryFor(t)
    const store = await openLevelRecords(directory)
    assert.ok(existsSync(join(directory, 'open')))
    await store.close()
    assert.ok(!existsSync(join(directory, 'open')))
  })
})

describe('the files of an open store', () => {
  it('can be checked while it is written to', async (t) => {
    const { directory, database } = await newStore(t)
    const store = await openLevelRecords(directory, { writeBufferBytes: 65_536 })
    t.after(() => store.close())
    const check = async (): Promise<readonly string[]> => {
      const damage: string[] = []
      for await (const { file, damagedAt } of store.fileChecker?.checkFiles() ?? [])
        if (damagedAt !== undefined) damage.push(file)
      return damage
    }
    for (let i = 0; i < 20; i += 1) {
      const [found] = await Promise.all([check(), store.commit({ writes: [{ key: 'k/a', value: noise(i, 64_000) }] })])
      assert.deepEqual(found, [])
    }
    const name = (await filesOf(database, '.ldb')).at(-1) ?? ''
    await flipEach(join(database, name), [3_000], async () => assert.deepEqual(await check(), [name]))
  })
})

import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs, { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import promises, { cp, link, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Level } from 'level'
import { openLevelRecords, type LevelDatabase, type LevelRecords } from '../../../adapters/level/index.ts'
import { programArgs } from '../../support/repository.ts'
import { appendsOf } from '../../contract/index.ts'
import { listEntries } from '../../../core/store/read.ts'

let root: string
let directory: string
const children: ChildProcess[] = []

/** Gives each test of a suite a directory, and ends the processes that it started. */
function inDirectory(): void {
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'er-level-'))
    directory = join(root, 'records')
  })
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      await kill(child)
    }
    await rm(root, { recursive: true })
  })
}

const program = programArgs('test/support/level-process.ts')

function run(mode: string, before: readonly string[] = []): { child: ChildProcess; lines: AsyncIterator<string> } {
  const [command, ...args] = [...before, process.execPath, ...program, mode, directory]
  assert.ok(command)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  assert.ok(child.stdout)
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

/** Kills the process and waits until it has ended, because until then it owns its directory. */
async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

const nextLine = async (lines: AsyncIterator<string>): Promise<string> => String((await lines.next()).value)

const put = (store: LevelRecords, ...keys: string[]) =>
  store.commit({
    writes: keys.map((key) => ({ key, value: Buffer.from(key) })),
    append: appendsOf(new Uint8Array(32).fill(keys.length)),
  })

const keysOf = async (store: LevelRecords): Promise<string[]> =>
  (await listEntries(store, { gte: 'a', lt: 'z' })).map(({ key }) => key)

/** Leaves a closed store with the keys a, b, c: a in a table (LevelDB writes it when it opens), b and c in the log. */
async function writeStore(): Promise<void> {
  const first = await openLevelRecords(directory)
  await put(first, 'a')
  await first.close()
  const second = await openLevelRecords(directory)
  await put(second, 'b')
  await put(second, 'c')
  await second.close()
}

async function assertComplete(): Promise<void> {
  const store = await openLevelRecords(directory)
  try {
    assert.deepEqual(await keysOf(store), ['a', 'b', 'c'])
    assert.equal(await store.logSize(), 3)
    assert.ok((await put(store, 'd')).ok)
    const unexpected = (await readdir(directory)).filter((name) => name.startsWith('links'))
    assert.deepEqual(unexpected, [])
  } finally {
    await store.close()
  }
}

/** classic-level, with its folder changed by `tamper` just before it opens. */
const tamperedLevel =
  (tamper: (folder: string) => void) =>
  (folder: string): LevelDatabase => {
    tamper(folder)
    return new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view' })
  }

function removeFiles(folder: string, pattern: RegExp): void {
  const names = readdirSync(folder).filter((name) => pattern.test(name))
  assert.notEqual(names.length, 0)
  for (const name of names) rmSync(join(folder, name))
}

const ALL_FILES = /^(CURRENT|MANIFEST.*|.*\.(log|ldb))$/

describe('the owner of a store directory', () => {
  inDirectory()
  it('is one process at a time, and the error names its pid', async () => {
    const store = await openLevelRecords(directory)
    const other = run('open')
    assert.match(await nextLine(other.lines), new RegExp(`^STORE_LOCKED .*process ${process.pid} `))
    assert.ok((await put(store, 'a')).ok)
    await store.close()

    const owner = run('open')
    assert.equal(await nextLine(owner.lines), 'open')
    await assert.rejects(openLevelRecords(directory), {
      code: 'STORE_LOCKED',
      message: new RegExp(`process ${owner.child.pid} `),
    })
    owner.child.stdin?.write('\n')
    await once(owner.child, 'exit')
    await (await openLevelRecords(directory)).close()
  })

  it('is one of the processes that race for the directory of a dead owner', async () => {
    const dead = run('open')
    assert.equal(await nextLine(dead.lines), 'open')
    await kill(dead.child)
    const replies = await Promise.all(Array.from({ length: 4 }, () => nextLine(run('open').lines)))
    assert.equal(replies.filter((line) => line === 'open').length, 1, replies.join('\n'))
    assert.equal(replies.filter((line) => line.startsWith('STORE_LOCKED')).length, 3, replies.join('\n'))
  })

  it(
    'is dead if it was killed and its parent has not reaped it',
    { skip: process.platform !== 'linux' && 'needs /proc' },
    async () => {
      // The parent of the store's process is a `sleep`, which never reaps it.
      const { lines } = run('open', ['/bin/sh', '-c', 'exec 3<&0; "$@" <&3 & exec sleep 600', 'sh'])
      await nextLine(lines)
      const pid = Number.parseInt(await readFile(join(directory, 'lock', 'owner'), 'utf8'), 10)
      process.kill(pid, 'SIGKILL')
      const stateOf = async () => / \(.*\) (.)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1]
      while ((await stateOf()) !== 'Z') await new Promise(setImmediate)
      await (await openLevelRecords(directory)).close()
    },
  )

  it('stays the owner if its directory is copied, and the copy is free', async () => {
    await writeStore()
    const owner = run('open')
    assert.equal(await nextLine(owner.lines), 'open')
    const copy = join(root, 'copy')
    assert.equal(spawnSync('cp', ['-r', directory, copy]).status, 0)
    await (await openLevelRecords(copy)).close()
    await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED' })
  })

  it('is not the only one if another program has LevelDB open, which loses nothing', async () => {
    await writeStore()
    const other = new Level(join(directory, 'db'))
    await other.open()
    for (let i = 0; i < 2; i += 1)
      await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED', message: /Another process/ })
    await other.close()
    await assertComplete()
  })
})

describe('an open that loses data', () => {
  inDirectory()
  it('restores the files if LevelDB opens without its log', async () => {
    await writeStore()
    const database = tamperedLevel((folder) => removeFiles(folder, /\.log$/))
    await assert.rejects(openLevelRecords(directory, { database }), {
      code: 'CORRUPT',
      message: /version 1 .* reached version 3 .*restored/s,
    })
    await assertComplete()
  })

  it('restores the files if LevelDB could not read its log and continued without it', async () => {
    await writeStore()
    const database = tamperedLevel((folder) => {
      const [log = ''] = readdirSync(folder).filter((name) => name.endsWith('.log'))
      rmSync(join(folder, log))
      // Every read of a directory fails, as with EIO.
      mkdirSync(join(folder, log))
    })
    await assert.rejects(openLevelRecords(directory, { database }), {
      code: 'CORRUPT',
      message: /version 1 .* reached version 3/s,
    })
    await assertComplete()
  })

  it('restores the files if a part of a long log was lost, however many entries follow it', async () => {
    const store = await openLevelRecords(directory)
    // 71,680 entries: more than every open checks, and they fit into one write-ahead log.
    const appends = () => Array.from({ length: 1024 }, () => ({ entry: randomBytes(32), payload: Uint8Array.of(1) }))
    for (let i = 0; i < 70; i += 1) await store.commit({ append: appends() })
    await store.close()
    const logs = readdirSync(join(directory, 'db')).filter((name) => name.endsWith('.log'))
    assert.equal(logs.length, 1)
    const path = join(directory, 'db', logs[0] ?? '')
    const log = readFileSync(path)
    // As if LevelDB could not read it, although the checksums were right before.
    const database = tamperedLevel(() => writeFileSync(path, log.with(150_000, (log[150_000] ?? 0) ^ 1)))
    await assert.rejects(openLevelRecords(directory, { database }), {
      code: 'CORRUPT',
      message: /a hole .* at position 1024/,
    })
    assert.equal(readdirSync(join(directory, 'db')).includes(logs[0] ?? ''), true)
  })

  for (const [mark, change] of [
    ['', async () => undefined],
    [', also if the high-water mark is missing', (path: string) => rm(path)],
    [', also if the high-water mark is torn', (path: string) => writeFile(path, '0000000')],
  ] as const)
    it(`restores the files if LevelDB opens empty${mark}`, async () => {
      await writeStore()
      await change(join(directory, 'witness'))
      const database = tamperedLevel((folder) => removeFiles(folder, ALL_FILES))
      await assert.rejects(openLevelRecords(directory, { database }), { code: 'CORRUPT', message: /empty.*restored/s })
      await assertComplete()
    })

  it('restores the files if LevelDB fails to open', async () => {
    await writeStore()
    const database = tamperedLevel((folder) => {
      removeFiles(folder, /^CURRENT$|\.log$/)
      writeFileSync(join(folder, 'CURRENT'), 'MANIFEST-999999\n')
    })
    await assert.rejects(openLevelRecords(directory, { database }), { code: 'UNAVAILABLE', message: /restored/ })
    await assertComplete()
  })

  it('is undone by the next open if the process was killed during it, and while it was undone', async (t) => {
    await writeStore()
    const db = join(directory, 'db')
    await mkdir(join(directory, 'links'))
    for (const name of await readdir(db))
      if (!name.startsWith('LO')) await link(join(db, name), join(directory, 'links', name))
    removeFiles(db, /^(CURRENT|.*\.log)$/)
    const { open } = promises
    // The sync of the folder, behind the restored names.
    t.mock.method(promises, 'open', (path: string, ...others: [string?]) =>
      path.endsWith(join('records', 'db')) ? Promise.reject(new Error('injected')) : open(path, ...others),
    )
    syncBuiltinESMExports()
    await assert.rejects(openLevelRecords(directory), { code: 'UNAVAILABLE' })
    t.mock.restoreAll()
    syncBuiltinESMExports()
    for (const half of ['links.making', 'links.released']) await mkdir(join(directory, half))
    await assertComplete()
  })

  it(
    'loses no data, whatever the number of file descriptors left',
    { skip: process.platform === 'win32' && 'needs ulimit' },
    async () => {
      await writeStore()
      const { child, lines } = run('starve', ['/bin/sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'])
      const outcomes: string[] = []
      for (let line = await lines.next(); line.done !== true; line = await lines.next()) outcomes.push(line.value)
      await (child.exitCode === null ? once(child, 'exit') : undefined)
      assert.equal(child.exitCode, 0)
      assert.equal(outcomes.length, 24)
      assert.ok(
        outcomes.filter((line) => line.endsWith('UNAVAILABLE') || line.endsWith('CORRUPT')).length > 3,
        outcomes.join('\n'),
      )
      assert.ok(outcomes.at(-1)?.endsWith('open'), outcomes.join('\n'))
      await assertComplete()
    },
  )
})

describe('the high-water mark', () => {
  inDirectory()
  it('rejects a database that is behind it, until it is removed', async () => {
    await writeStore()
    const copy = join(root, 'older')
    await cp(directory, copy, { recursive: true })
    const store = await openLevelRecords(directory)
    await put(store, 'd')
    await store.close()
    await rm(join(directory, 'db'), { recursive: true })
    await mkdir(join(directory, 'db'))
    for (const name of await readdir(join(copy, 'db'))) await link(join(copy, 'db', name), join(directory, 'db', name))
    await assert.rejects(openLevelRecords(directory), { code: 'CORRUPT', message: /remove .*witness/ })
    await rm(join(directory, 'witness'))
    await assertComplete()
  })

  it('rejects another database that has fewer log entries, however many versions it has', async () => {
    await writeStore()
    const other = await openLevelRecords(join(root, 'other'))
    for (let i = 0; i < 9; i++) await other.commit({ writes: [{ key: 'a', value: Buffer.from(`${i}`) }] })
    await other.close()
    await rm(join(directory, 'db'), { recursive: true })
    await cp(join(root, 'other', 'db'), join(directory, 'db'), { recursive: true })
    await assert.rejects(openLevelRecords(directory), { code: 'CORRUPT', message: /remove .*witness/ })
  })

  it('fails no commit if it cannot be written', async (t) => {
    const store = await openLevelRecords(directory)
    t.mock.method(fs, 'writeSync', () => {
      throw new Error('injected')
    })
    syncBuiltinESMExports()
    assert.ok((await put(store, 'a')).ok)
    t.mock.restoreAll()
    syncBuiltinESMExports()
    await store.close()
  })
})

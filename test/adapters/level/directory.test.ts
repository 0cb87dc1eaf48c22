import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Level } from 'level'
import {
  backupLevelRecords,
  openLevelRecords,
  type LevelDatabase,
  type LevelRecords,
} from '../../../adapters/level/index.ts'
import { claimDirectory } from '../../../adapters/files/directory-ownership.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { programArgs } from '../../support/program.ts'

let root: string
let directory: string
const children: ChildProcess[] = []

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'er-level-'))
  directory = join(root, 'records')
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await rm(root, { recursive: true })
})

const program = programArgs(import.meta.url, '../../support/level-process.ts')

function run(mode: string, before: readonly string[] = []): { child: ChildProcess; lines: AsyncIterator<string> } {
  const [command, ...args] = [...before, process.execPath, ...program, mode, directory]
  assert.ok(command)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  assert.ok(child.stdout)
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

const lineOf = async (lines: AsyncIterator<string>): Promise<string> => String((await lines.next()).value)

const put = (store: LevelRecords, ...keys: string[]) =>
  store.commit({
    writes: keys.map((key) => ({ key, value: Buffer.from(key) })),
    append: new Uint8Array(32).fill(keys.length),
  })

async function keysOf(store: LevelRecords): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list({ gte: 'a', lt: 'z' })) keys.push(key)
  return keys
}

/** A closed store that holds a, b, c: a in a table of LevelDB's (made as it opens), b and c in its log. */
async function written(): Promise<void> {
  const first = await openLevelRecords(directory)
  await put(first, 'a')
  await first.close()
  const second = await openLevelRecords(directory)
  await put(second, 'b')
  await put(second, 'c')
  await second.close()
}

async function holdsAll(): Promise<void> {
  const store = await openLevelRecords(directory)
  try {
    assert.deepEqual(await keysOf(store), ['a', 'b', 'c'])
    assert.equal(await store.logSize(), 3)
    assert.ok((await put(store, 'd')).ok)
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.startsWith('links')),
      [],
    )
  } finally {
    await store.close()
  }
}

/** classic-level whose folder suffers something just before it opens. */
const tampering =
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

const EVERYTHING = /^(CURRENT|MANIFEST.*|.*\.(log|ldb))$/

describe('who owns a directory', () => {
  it('is one store of this process', async () => {
    const store = await openLevelRecords(directory)
    await put(store, 'a')
    for (let i = 0; i < 3; i += 1)
      await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED', message: /this process/ })
    await assert.rejects(openLevelRecords(join(directory, '..', 'records', '.')), { code: 'STORE_LOCKED' })
    assert.ok((await put(store, 'b')).ok)
    await store.close()
    const again = await openLevelRecords(directory)
    assert.deepEqual(await keysOf(again), ['a', 'b'])
    await again.close()
  })

  it('is one of many that open at once', async () => {
    const opens = await Promise.allSettled(Array.from({ length: 12 }, () => openLevelRecords(directory)))
    const opened = opens.filter((result) => result.status === 'fulfilled')
    assert.equal(opened.length, 1)
    for (const result of opens)
      if (result.status === 'rejected') assert.equal((result.reason as { code: string }).code, 'STORE_LOCKED')
    for (const { value } of opened) await value.close()
  })

  it('is one process, and the error names it', async () => {
    const store = await openLevelRecords(directory)
    const refused = run('open')
    assert.match(await lineOf(refused.lines), new RegExp(`^STORE_LOCKED .*process ${process.pid} `))
    assert.ok((await put(store, 'a')).ok)
    await store.close()

    const owner = run('open')
    assert.equal(await lineOf(owner.lines), 'open')
    await assert.rejects(openLevelRecords(directory), {
      code: 'STORE_LOCKED',
      message: new RegExp(`process ${owner.child.pid} `),
    })
    owner.child.stdin?.write('\n')
    await once(owner.child, 'exit')
    await (await openLevelRecords(directory)).close()
  })

  it('is one of the processes that race for a dead owner’s directory', async () => {
    const dead = run('open')
    assert.equal(await lineOf(dead.lines), 'open')
    dead.child.kill('SIGKILL')
    const said = await Promise.all(Array.from({ length: 4 }, () => lineOf(run('open').lines)))
    assert.equal(said.filter((line) => line === 'open').length, 1, said.join('\n'))
    assert.equal(said.filter((line) => line.startsWith('STORE_LOCKED')).length, 3, said.join('\n'))
  })

  it(
    'is nobody where the pid was given to another process, or the machine has started again',
    { skip: process.platform !== 'linux' && 'needs /proc' },
    async () => {
      const store = await openLevelRecords(directory)
      const [name = ''] = (await readdir(directory)).filter((file) => file.startsWith('owner.'))
      const owner = JSON.parse(await readFile(join(directory, name), 'utf8')) as Record<string, unknown>
      await store.close()
      assert.equal(owner['pid'], process.pid)
      for (const other of [{ started: '1' }, { boot: 'another boot' }, { pid: 2 ** 22 + 1 }]) {
        await leaveOwner({ ...owner, ...other })
        await (await openLevelRecords(directory)).close()
      }
      await leaveOwner(owner)
      await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED' })
      await leaveOwner('torn {')
      await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED', message: /cannot be read/ })
    },
  )

  it(
    'is nobody where the owner was killed and its parent has not noticed',
    { skip: process.platform !== 'linux' && 'needs /proc' },
    async () => {
      // The store's process is the child of a sleep, which never waits for it.
      const { lines } = run('write', ['/bin/sh', '-c', '"$@" & exec sleep 600', 'sh'])
      await lineOf(lines)
      const [name = ''] = (await readdir(directory)).filter((file) => file.startsWith('owner.'))
      const { pid } = JSON.parse(await readFile(join(directory, name), 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
      const stateOf = async () => / \(.*\) (.)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1]
      while ((await stateOf()) !== 'Z') await new Promise(setImmediate)
      await (await openLevelRecords(directory)).close()
    },
  )

  it('is still the process that holds LevelDB’s lock, where its pid means nothing here', async () => {
    await written()
    const owner = run('open')
    assert.equal(await lineOf(owner.lines), 'open')
    // As it looks from another container.
    const [name = ''] = (await readdir(directory)).filter((file) => file.startsWith('owner.'))
    const record = JSON.parse(await readFile(join(directory, name), 'utf8')) as object
    await leaveOwner({ ...record, pid: 2 ** 22 + 1 })
    for (let i = 0; i < 2; i += 1)
      await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED', message: /Another process/ })
    owner.child.stdin?.write('\n')
    await once(owner.child, 'exit')
    await holdsAll()
  })

  it('is nobody where the directory was away when its owner closed', async () => {
    const store = await openLevelRecords(directory)
    await rename(directory, join(root, 'away'))
    await store.close()
    await rename(join(root, 'away'), directory)
    await (await openLevelRecords(directory)).close()
  })

  it('is one again where the directory was made anew', async () => {
    const store = await openLevelRecords(directory)
    await rm(directory, { recursive: true })
    await store.close()
    const other = await openLevelRecords(directory)
    await assert.rejects(openLevelRecords(directory), { code: 'STORE_LOCKED', message: /this process/ })
    await other.close()
  })

  it('is never two, however many come and go', async () => {
    await mkdir(directory)
    let owners = 0
    let claims = 0
    const comeAndGo = async (): Promise<void> => {
      while (claims < 80) {
        const release = await claimDirectory(directory).catch((error: unknown) => {
          assert.ok(isRegistryError(error, 'STORE_LOCKED'), String(error))
        })
        if (release === undefined) continue
        claims += 1
        owners += 1
        assert.equal(owners, 1)
        await new Promise(setImmediate)
        assert.equal(owners, 1)
        owners -= 1
        await release()
      }
    }
    await Promise.all(Array.from({ length: 16 }, comeAndGo))
    assert.equal((await readdir(directory)).length, 1)
  })

  async function leaveOwner(owner: unknown): Promise<void> {
    removeFiles(directory, /^owner\./)
    await writeFile(join(directory, 'owner.7'), typeof owner === 'string' ? owner : JSON.stringify(owner))
  }
})

describe('a killed process', () => {
  it('loses nothing that it acknowledged, and leaves whole groups', async () => {
    const acknowledged: number[][] = []
    const { child, lines } = run('write')
    while (acknowledged.length < 1500) acknowledged.push((await lineOf(lines)).split(' ').map(Number))
    child.kill('SIGKILL')
    for (let line = await lines.next(); line.done !== true; line = await lines.next())
      acknowledged.push(line.value.split(' ').map(Number))

    const store = await openLevelRecords(directory)
    for (const [n = 0, version, position = 0, count = 0] of acknowledged) {
      const [a, b] = await store.get([`a/${n}`, `b/${n}`])
      assert.deepEqual([a?.version, b?.version], [String(version), String(version)])
      assert.deepEqual(await store.readLog(position, count), new Uint8Array(count * 32).fill(n % 251))
    }
    // Also of what was not acknowledged: all of a commit or nothing.
    const pairs = [await sortedNumbers(store, 'a'), await sortedNumbers(store, 'b')]
    assert.deepEqual(pairs[0], pairs[1])
    const [counter] = await store.get(['n'])
    assert.equal(Buffer.from(counter?.value ?? []).readBigInt64BE(), BigInt(await store.logSize()))
    assert.equal(
      (pairs[0] ?? []).reduce((sum, n) => sum + (n % 5) + 1, 0),
      await store.logSize(),
    )
    await store.close()
  })

  async function sortedNumbers(store: LevelRecords, side: string): Promise<number[]> {
    const out: number[] = []
    for await (const { key } of store.list({ gte: `${side}/`, lt: `${side}0` })) out.push(Number(key.slice(2)))
    return out
  }
})

describe('an open that loses data', () => {
  it('puts the files back when LevelDB comes up without its log', async () => {
    await written()
    const database = tampering((folder) => removeFiles(folder, /\.log$/))
    await assert.rejects(openLevelRecords(directory, { database }), {
      code: 'CORRUPT',
      message: /version 1 .* reached 3 .*put back/s,
    })
    await holdsAll()
  })

  it('puts the files back when LevelDB could not read its log, and went on without', async () => {
    await written()
    const database = tampering((folder) => {
      const [log = ''] = readdirSync(folder).filter((name) => name.endsWith('.log'))
      rmSync(join(folder, log))
      // Every read of a directory fails, as with EIO.
      mkdirSync(join(folder, log))
    })
    await assert.rejects(openLevelRecords(directory, { database }), {
      code: 'CORRUPT',
      message: /version 1 .* reached 3/s,
    })
    await holdsAll()
  })

  it('puts the files back when LevelDB comes up empty', async () => {
    await written()
    const database = tampering((folder) => removeFiles(folder, EVERYTHING))
    await assert.rejects(openLevelRecords(directory, { database }), { code: 'CORRUPT', message: /empty.*put back/s })
    await holdsAll()
  })

  it('also where no witness is left', async () => {
    await written()
    await rm(join(directory, 'witness'))
    const database = tampering((folder) => removeFiles(folder, EVERYTHING))
    await assert.rejects(openLevelRecords(directory, { database }), { code: 'CORRUPT' })
    await holdsAll()
  })

  it('puts the files back when LevelDB fails', async () => {
    await written()
    const database = tampering((folder) => {
      removeFiles(folder, /^CURRENT$|\.log$/)
      writeFileSync(join(folder, 'CURRENT'), 'MANIFEST-999999\n')
    })
    await assert.rejects(openLevelRecords(directory, { database }), { code: 'UNAVAILABLE', message: /put back/ })
    await holdsAll()
  })

  it('is undone at the next one where the process died in the middle', async () => {
    await written()
    const db = join(directory, 'db')
    await mkdir(join(directory, 'links'))
    for (const name of await readdir(db))
      if (!name.startsWith('LO')) await link(join(db, name), join(directory, 'links', name))
    removeFiles(db, /^(CURRENT|.*\.log)$/)
    for (const half of ['links.making', 'links.released']) await mkdir(join(directory, half))
    await holdsAll()
  })

  it(
    'keeps all data with any number of file descriptors left',
    { skip: process.platform === 'win32' && 'needs ulimit' },
    async () => {
      await written()
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
      await holdsAll()
    },
  )
})

describe('the witness', () => {
  it('refuses a database that is behind it, and is believed no more when it is removed', async () => {
    await written()
    const copy = join(root, 'older')
    const store = await openLevelRecords(directory)
    await backupLevelRecords(store, copy)
    await put(store, 'd')
    await store.close()
    await rm(join(directory, 'db'), { recursive: true })
    await mkdir(join(directory, 'db'))
    for (const name of await readdir(join(copy, 'db'))) await link(join(copy, 'db', name), join(directory, 'db', name))
    await assert.rejects(openLevelRecords(directory), { code: 'CORRUPT', message: /remove .*witness/ })
    await rm(join(directory, 'witness'))
    await holdsAll()
  })

  it('still says that there was something when it is torn', async () => {
    await written()
    await writeFile(join(directory, 'witness'), '0000000')
    const database = tampering((folder) => removeFiles(folder, EVERYTHING))
    await assert.rejects(openLevelRecords(directory, { database }), { code: 'CORRUPT' })
    await holdsAll()
  })
})

describe('a backup', () => {
  it('is one snapshot, taken while commits go on', async () => {
    const store = await openLevelRecords(directory)
    const key = (n: number) => String(n).padStart(6, '0')
    let committed = 0
    let going = true
    const writing = (async () => {
      while (going) {
        committed += 1
        await put(store, `a/${key(committed)}`, `b/${key(committed)}`)
      }
    })()
    while (committed < 200) await new Promise(setImmediate)
    const before = committed - 1
    await backupLevelRecords(store, join(root, 'copy'))
    going = false
    await writing
    await assert.rejects(backupLevelRecords(store, join(root, 'copy')), { code: 'CONFIG_ERROR' })
    await store.close()

    const copy = await openLevelRecords(join(root, 'copy'))
    const size = await copy.logSize()
    assert.ok(size >= before && size <= committed)
    const sides = { a: 0, b: 0 }
    for (const name of await keysOf(copy)) sides[name.startsWith('a') ? 'a' : 'b'] += 1
    assert.deepEqual(sides, { a: size, b: size })
    assert.ok((await put(copy, 'more')).ok)
    await copy.close()
  })
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openReopeningRecords, type LevelDatabase, type ReopeningRecords } from '../../../adapters/level/index.ts'
import { classicLevel } from '../../../adapters/level/directory.ts'
import { DiskRoom } from '../../../adapters/level/disk-room.ts'
import { isRegistryError } from '../../../core/index.ts'
import { appendsOf } from '../../contract/index.ts'
import { eventually } from '../../support/eventually.ts'
import { makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

const MIB = 1024 * 1024
/** Only ends a program that hangs. */
const HANG_MS = 300_000

const entry = (byte: number) => appendsOf(new Uint8Array(32).fill(byte))
const put = (store: ReopeningRecords, key: string, byte: number) =>
  store.commit({ writes: [{ key, value: Buffer.from(key) }], append: entry(byte) })

const isWritable = (store: ReopeningRecords) => eventually(() => !store.isPoisoned)

/** A disk that the test fills and frees. Writes fail while it is full. */
class TestDisk {
  isFull = false
  /** How many of the next opens fail. */
  failingOpens = 0

  database = (folder: string): LevelDatabase => {
    const db = classicLevel(folder)
    const batch = db.batch.bind(db)
    Object.defineProperty(db, 'batch', {
      value: () => {
        const made = batch()
        const write = made.write.bind(made)
        made.write = async (options?: object) => {
          if (this.isFull) throw new Error('IO error: db/000003.log: No space left on device')
          await write(options ?? {})
        }
        return made
      },
    })
    if (this.failingOpens > 0) {
      this.failingOpens--
      Object.defineProperty(db, 'open', {
        value: async () => Promise.reject(new Error('IO error: Too many open files')),
      })
    }
    return db
  }

  room = {
    isEnough: async () => !this.isFull,
    missingBytes: async () => 0,
    spendIfNeeded: async () => false,
    restore: async () => undefined,
  }
}

describe('a store that is opened again', () => {
  async function open(t: TestContext) {
    const lines: { level: string; message: string }[] = []
    const disk = new TestDisk()
    const directory = join(await temporaryFor(t), 'records')
    const logger = {
      info: (_: object, message: string) => void lines.push({ level: 'info', message }),
      error: (_: object, message: string) => void lines.push({ level: 'error', message }),
    }
    const store = await openReopeningRecords(directory, {
      database: disk.database,
      room: disk.room,
      logger,
      retryMs: 5,
    })
    t.after(() => store.close())
    return { store, disk, lines, directory }
  }

  it('serves reads while the disk is full, says what to do, and writes again once there is room', async (t) => {
    const { store, disk, lines } = await open(t)
    assert.ok((await put(store, 'a', 1)).ok)
    disk.isFull = true
    await assert.rejects(put(store, 'b', 2), { code: 'UNKNOWN_OUTCOME' })
    for (let i = 0; i < 3; i++)
      await assert.rejects(put(store, 'c', 3), {
        code: 'STORE_POISONED',
        message: /disk is full; free some space \(ENOSPC\)/,
      })
    assert.ok(store.isPoisoned)
    const [kept] = await store.get(['a'])
    assert.deepEqual(Buffer.from(kept?.value ?? []).toString(), 'a')
    disk.isFull = false
    await isWritable(store)
    const next = await put(store, 'd', 4)
    assert.ok(next.ok)
    assert.equal(next.firstPosition, 1, 'the failed write is not there, and no entry is lost')
    assert.deepEqual(
      lines.map(({ level }) => level),
      ['error', 'info'],
    )
    assert.ok(!lines.some(({ message }) => message.includes('backup')))
  })

  it('tries again if it cannot be opened, and loses nothing', async (t) => {
    const { store, disk, lines } = await open(t)
    await put(store, 'a', 1)
    disk.isFull = true
    await assert.rejects(put(store, 'b', 2), { code: 'UNKNOWN_OUTCOME' })
    disk.failingOpens = 2
    disk.isFull = false
    await isWritable(store)
    assert.equal(disk.failingOpens, 0)
    assert.equal(lines.filter(({ message }) => message.includes('could not be opened again')).length, 2)
    assert.equal((await store.get(['a']))[0]?.key, 'a')
    assert.ok((await put(store, 'c', 3)).ok)
  })

  it('removes old values, which is a write like any other', async (t) => {
    const { store, disk } = await open(t)
    await put(store, 'a', 1)
    assert.equal(await store.eraseHistory(['a']), true)
    disk.isFull = true
    await assert.rejects(store.eraseHistory(['a']), { code: 'UNKNOWN_OUTCOME' })
    await assert.rejects(store.eraseHistory(['a']), { code: 'STORE_POISONED' })
    disk.isFull = false
    await isWritable(store)
    assert.equal(await store.eraseHistory(['a']), true)
    assert.equal((await store.get(['a']))[0]?.key, 'a')
  })

  it('closes while the disk is full', async (t) => {
    const { store, disk } = await open(t)
    disk.isFull = true
    await assert.rejects(put(store, 'a', 1), { code: 'UNKNOWN_OUTCOME' })
    await store.close()
    await assert.rejects(store.get(['a']), { code: 'CLOSED' })
  })
})

describe('a reserve of disk space', () => {
  const RESERVE_BYTES = MIB

  /** A store with a reserve, on a disk whose free space the test sets. */
  async function open(t: TestContext, directory: string, disk: { freeBytes: number }) {
    const hasReserve = async () => (await readdir(directory)).includes('reserve')
    const room = new DiskRoom(directory, RESERVE_BYTES, async () => disk.freeBytes)
    const lines: string[] = []
    const log = (_: object, message: string) => void lines.push(message)
    const store = await openReopeningRecords(directory, { room, retryMs: 5, logger: { info: log, error: log } })
    t.after(() => store.close())
    return { store, room, hasReserve, lines }
  }

  it('is spent on a full disk, so that the store opens and can be read, and written again', async (t) => {
    const directory = join(await temporaryFor(t), 'records')
    const disk = { freeBytes: 100 * MIB }
    const first = await open(t, directory, disk)
    await put(first.store, 'a', 1)
    await writeFile(join(directory, 'reserve'), 'a crash left it incomplete')
    await first.room.restore()
    assert.equal((await stat(join(directory, 'reserve'))).size, RESERVE_BYTES)
    await first.store.close()

    disk.freeBytes = 0
    const { store, hasReserve, lines } = await open(t, directory, disk)
    assert.ok(!(await hasReserve()), 'the reserve is spent')
    assert.ok(store.isPoisoned)
    assert.equal((await store.get(['a']))[0]?.key, 'a')
    const rejectsUntil = (mib: number) => {
      const message = new RegExp(`disk is full; .* It opens again by itself once ${mib} MiB more are free$`)
      return eventually(async () => {
        const error: unknown = await put(store, 'b', 2).then(Boolean, (reason: unknown) => reason)
        assert.ok(isRegistryError(error, 'STORE_POISONED'))
        return message.test(error.message)
      })
    }
    await rejectsUntil(33)
    assert.match(lines.join(), /^the record store accepts no writes: the disk is full; .* 33 MiB more are free$/)
    // Enough to open the store, but not to write the reserve as well.
    disk.freeBytes = 32 * MIB
    await rejectsUntil(1)
    disk.freeBytes = 100 * MIB
    await isWritable(store)
    assert.ok((await put(store, 'b', 2)).ok)
    assert.ok(await hasReserve(), 'the reserve is there again')
  })

  it('is spent also if it is smaller than the setting, which may have been raised', async (t) => {
    const directory = await temporaryFor(t)
    const room = new DiskRoom(directory, RESERVE_BYTES, async () => 0)
    assert.equal(await room.spendIfNeeded(), false)
    await writeFile(join(directory, 'reserve'), new Uint8Array(RESERVE_BYTES / 2))
    assert.equal(await room.spendIfNeeded(), true)
    assert.deepEqual(await readdir(directory), [])
  })
})

/** A small file system in memory. `undefined` if this user must not mount one. */
async function smallDisk(t: TestContext, bytes: number): Promise<string | undefined> {
  const path = await makeTemporary()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  t.after(async () => {
    spawnSync('umount', ['-l', path])
    await removeTemporary(path)
  })
  return mounted.status === 0 ? path : undefined
}

const NO_MOUNT = 'this user cannot mount a small file system, so only the simulated disk was filled'

/** Fills a disk to its last byte. */
async function fill(path: string): Promise<string> {
  const file = join(path, 'filling')
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k'])
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=1', 'oflag=append', 'conv=notrunc'], {
    timeout: HANG_MS,
  })
  return file
}

describe('a disk that is really full', () => {
  it('is left with a reserve, with which the store opens and can be read', async (t) => {
    const disk = await smallDisk(t, 150 * MIB)
    if (disk === undefined) return t.diagnostic(NO_MOUNT)
    const directory = join(disk, 'records')
    const options = { reserveBytes: 64 * MIB, retryMs: 20 }
    // Without a reserve of its own, which it would write later, at the same time as the test.
    const first = await openReopeningRecords(directory)
    await put(first, 'a', 1)
    await new DiskRoom(directory, 64 * MIB).restore()
    assert.equal((await stat(join(directory, 'reserve'))).size, 64 * MIB)
    await first.close()
    const filling = await fill(disk)
    const store = await openReopeningRecords(directory, options)
    assert.ok(!(await readdir(directory)).includes('reserve'), 'the reserve is spent')
    assert.ok(store.isPoisoned)
    assert.equal((await store.get(['a']))[0]?.key, 'a')
    await assert.rejects(put(store, 'b', 2), { code: 'STORE_POISONED' })
    await rm(filling)
    await isWritable(store)
    assert.ok((await put(store, 'b', 2)).ok)
    assert.ok((await readdir(directory)).includes('reserve'), 'the reserve is there again')
    await store.close()
    return undefined
  })
})

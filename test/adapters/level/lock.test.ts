import assert from 'node:assert/strict'
import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { lockDirectory } from '../../../adapters/level/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { recordCalls } from '../../support/recorded-calls.ts'
import { temporaryFor } from '../../support/temporary.ts'

const lockAndRelease = async (directory: string): Promise<void> => {
  const release = await lockDirectory(directory)
  await release()
}

/** A directory whose last owner did not release it. */
async function leftBy(t: TestContext, owner: string): Promise<{ directory: string; path: string }> {
  const directory = await temporaryFor(t)
  await mkdir(join(directory, 'lock'))
  const path = join(directory, 'lock', 'owner')
  await writeFile(path, owner)
  return { directory, path }
}

// What processes do to each other is tested with a store: test/adapters/level/directory.test.ts.
describe('a locked directory', () => {
  it('is refused to others in this process until it is released', async (t) => {
    const directory = await temporaryFor(t)
    const release = await lockDirectory(directory)
    for (const path of [directory, join(directory, '.')])
      await assert.rejects(lockDirectory(path), { code: 'STORE_LOCKED', message: /this process has it open already/ })
    await release()
    const later = await lockDirectory(directory)
    await release()
    await assert.rejects(lockDirectory(directory), { code: 'STORE_LOCKED' })
    await later()
  })

  it('is released even if it was renamed, or removed and created again', async (t) => {
    const root = await temporaryFor(t)
    const [directory, away] = [join(root, 'data'), join(root, 'away')]
    await mkdir(directory)
    const release = await lockDirectory(directory)
    await rename(directory, away)
    await release()
    await rename(away, directory)
    const releaseAgain = await lockDirectory(directory)
    await rm(directory, { recursive: true })
    await mkdir(directory)
    await releaseAgain()
    await lockAndRelease(directory)
  })

  it('says durably which machine has it before it is used', async (t) => {
    const directory = await temporaryFor(t)
    const calls = recordCalls(t, directory)
    const release = await lockDirectory(directory)
    assert.deepEqual(calls.slice(-2), ['sync lock/owner', 'sync lock'])
    const owner = await readFile(join(directory, 'lock', 'owner'), 'utf8')
    assert.match(owner, new RegExp(`^${process.pid} \\S+ ${hostname()}\n$`))
    await release()
    assert.equal(calls.at(-1), 'sync lock')
    await assert.rejects(readFile(join(directory, 'lock', 'owner')), { code: 'ENOENT' })
  })

  it('of another machine is refused, unless the caller takes it over', async (t) => {
    const owner = '4711 other-boot other-host\n'
    const { directory, path } = await leftBy(t, owner)
    const expected = { code: 'STORE_LOCKED', message: /was in use by process 4711 on other-host.*--take-over/s }
    for (let n = 0; n < 2; n += 1) await assert.rejects(lockDirectory(directory), expected)
    assert.equal(await readFile(path, 'utf8'), owner)
    const release = await lockDirectory(directory, { takeOver: true })
    await assert.rejects(lockDirectory(directory, { takeOver: true }), { code: 'STORE_LOCKED' })
    await release()
    await lockAndRelease(directory)
  })

  it('is free if its owner was a container of this machine or its last boot, or if its line is torn', async (t) => {
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim()
    const owners = [`1 other-boot ${hostname()}\n`, '', '4711 other-bo']
    if (boot !== '') owners.push(`1 ${boot} other-container\n`)
    for (const owner of owners) await lockAndRelease((await leftBy(t, owner)).directory)
  })

  it('can be locked although a power loss has damaged the database of the lock', async (t) => {
    const directory = await temporaryFor(t)
    await lockAndRelease(directory)
    const path = (name: string): string => join(directory, 'lock', name)
    const { ino } = await stat(path('LOCK'))
    // So that no new file gets the number of the inode.
    await link(path('LOCK'), join(directory, 'first-lock'))
    const damages = [
      () => writeFile(path('CURRENT'), 'MANIFEST-999999\n'),
      () => writeFile(path('CURRENT'), ''),
      async () => writeFile(path((await readFile(path('CURRENT'), 'utf8')).trim()), 'torn'),
    ]
    for (const damage of damages) {
      await damage()
      await lockAndRelease(directory)
      // It is the lock itself, and another process may have just got it.
      assert.equal((await stat(path('LOCK'))).ino, ino)
    }
  })

  it('says what to do if it cannot be locked', async (t) => {
    const directory = await temporaryFor(t)
    await writeFile(join(directory, 'lock'), '')
    await assert.rejects(lockDirectory(directory), {
      code: 'UNAVAILABLE',
      message: /cannot be locked: a file with this name exists; move it away/,
    })
    await rm(join(directory, 'lock'))
    await lockAndRelease(directory)
  })

  it('has at most one owner, however many lock and release it', async (t) => {
    const directory = await temporaryFor(t)
    let owners = 0
    let times = 0
    const lockRepeatedly = async (): Promise<void> => {
      while (times < 40) {
        const release = await lockDirectory(directory).catch((error: unknown) => {
          assert.ok(isRegistryError(error, 'STORE_LOCKED'), String(error))
        })
        if (release === undefined) continue
        times += 1
        owners += 1
        assert.equal(owners, 1)
        await new Promise(setImmediate)
        assert.equal(owners, 1)
        owners -= 1
        await release()
      }
    }
    await Promise.all(Array.from({ length: 16 }, lockRepeatedly))
  })
})

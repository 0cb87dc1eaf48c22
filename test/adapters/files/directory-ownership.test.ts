import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { claimDirectory } from '../../../adapters/files/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { recordCalls } from '../../support/recorded-calls.ts'
import { temporaryFor } from '../../support/temporary.ts'

// What processes do to each other is tested with a store: test/adapters/level/directory.test.ts.
describe('a claimed directory', () => {
  it('is rejected with the pid of its owner until it is released', async (t) => {
    const directory = await temporaryFor(t)
    const release = await claimDirectory(directory)
    await assert.rejects(claimDirectory(directory), {
      code: 'STORE_LOCKED',
      message: /this process has it open already/,
    })
    await release()
    await (
      await claimDirectory(directory)
    )()
  })

  it('names its owner file if the pid in it may be that of another program', async (t) => {
    const directory = await temporaryFor(t)
    const owner = { pid: process.ppid, started: null, boot: null, host: hostname() }
    await writeFile(join(directory, 'owner.3'), JSON.stringify(owner))
    await assert.rejects(claimDirectory(directory), { code: 'STORE_LOCKED', message: /remove .*owner\.3$/ })
  })

  it('has an owner file whose bytes are durable before its name: a power loss leaves no empty one', async (t) => {
    const directory = await temporaryFor(t)
    const calls = recordCalls(t, directory)
    const release = await claimDirectory(directory)
    await release()
    const names = calls.map((call) => call.replace(/owner-.*draft/, 'draft'))
    assert.deepEqual(names, ['sync draft', 'link owner.1', 'sync draft', 'link owner.2'])
  })

  it('is released even if it was renamed meanwhile', async (t) => {
    const root = await temporaryFor(t)
    const [directory, away] = [join(root, 'data'), join(root, 'away')]
    await mkdir(directory)
    const release = await claimDirectory(directory)
    await rename(directory, away)
    await release()
    await rename(away, directory)
    await (
      await claimDirectory(directory)
    )()
  })

  it('is free if it is a copy of a directory that has an owner, and the original stays claimed', async (t) => {
    const root = await temporaryFor(t)
    const [original, copy] = [join(root, 'original'), join(root, 'copy')]
    await mkdir(original)
    const release = await claimDirectory(original)
    await cp(original, copy, { recursive: true })
    const releaseCopy = await claimDirectory(copy)
    for (const claimed of [original, copy]) await assert.rejects(claimDirectory(claimed), { code: 'STORE_LOCKED' })
    await releaseCopy()
    await release()
  })

  it('of another machine is refused, unless it was released there or the caller takes it over', async (t) => {
    const directory = await temporaryFor(t)
    const other = { pid: 4711, started: '1', boot: 'other-boot', host: 'other-host', inode: '1' }
    const path = join(directory, 'owner.7')
    await writeFile(path, JSON.stringify(other))
    const expected = { code: 'STORE_LOCKED', message: /was in use by process 4711 on other-host.*--take-over/s }
    for (let n = 0; n < 2; n += 1) await assert.rejects(claimDirectory(directory), expected)
    assert.deepEqual(await readdir(directory), ['owner.7'])
    const release = await claimDirectory(directory, { takeOver: true })
    await assert.rejects(claimDirectory(directory, { takeOver: true }), { code: 'STORE_LOCKED' })
    await release()

    const free: readonly object[] = [
      { ...other, pid: null },
      // The same machine, before it was started again.
      { ...other, host: hostname() },
    ]
    for (const owner of free) {
      const released = await temporaryFor(t)
      await writeFile(join(released, 'owner.7'), JSON.stringify(owner))
      await (
        await claimDirectory(released)
      )()
    }
  })

  it('has at most one owner, however many claim and release it', async (t) => {
    const directory = await temporaryFor(t)
    let owners = 0
    let claims = 0
    const claimRepeatedly = async (): Promise<void> => {
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
    await Promise.all(Array.from({ length: 16 }, claimRepeatedly))
    assert.equal((await readdir(directory)).length, 1)
  })
})

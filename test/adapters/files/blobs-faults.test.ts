import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { openLocalBlobs, type LocalBlobs } from '../../../adapters/files/index.ts'
import { assertCode, assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/blob-bodies.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { programArgs } from '../../support/program.ts'

const ROOMY = { maxBytes: 1_000_000 }
const BYTES = randomBytes(100_000)
const body = (): AsyncIterable<Uint8Array> => inChunks(BYTES, 30_000)
const IO = ['open', 'write', 'sync', 'close', 'mkdir', 'link', 'unlink', 'stat', 'readdir', 'read'] as const

async function openFaulty(t: TestContext): Promise<{ store: LocalBlobs; faulty: FaultyFiles; directory: string }> {
  const directory = await temporaryFor(t)
  const faulty = new FaultyFiles()
  return { store: await openLocalBlobs(directory, { files: faulty.files }), faulty, directory }
}

/** The error's code where it failed, which must be a coded error. */
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => {
      assertCode('UNAVAILABLE', error)
      return 'UNAVAILABLE'
    },
  )

describe('local blobs: every single file operation fails once', () => {
  test('a put that fails leaves nothing to be seen and can be done again; one that answers is there', async (t) => {
    const met = await failEachCall(IO, async (plan) => {
      const { store, faulty, directory } = await openFaulty(t)
      faulty.arm(plan)
      const outcome = await outcomeOf(store.put('k', body(), ROOMY))
      const came = faulty.disarm()
      const what = JSON.stringify(plan)
      assert.equal(faulty.openHandles, 0, what)
      if (outcome === 'ok') assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
      else {
        assert.equal(await store.get('k'), undefined, what)
        assert.equal((await store.put('k', body(), ROOMY)).size, BYTES.length, what)
      }
      // Only what could not be removed stays in staging: the next process sweeps it.
      const staged = await filesBelow(join(directory, 'staging'))
      assert.equal(staged.length, came && plan.operation === 'unlink' && plan.fault === 'not applied' ? 1 : 0, what)
      await store.close()
      return came
    })
    // open, 4 writes, sync, close, … each twice.
    assert.ok(met >= 30, `only ${met} faults were met`)
  })

  test('a delete that fails can be done again, until when the blob is whole or gone', async (t) => {
    const met = await failEachCall(IO, async (plan) => {
      const { store, faulty } = await openFaulty(t)
      await store.put('k', body(), ROOMY)
      faulty.arm(plan)
      const outcome = await outcomeOf(store.delete('k'))
      const came = faulty.disarm()
      const between = await store.get('k')
      if (outcome === 'ok') assert.equal(between, undefined)
      if (between !== undefined) assertSame(await collect(between.body), BYTES)
      await store.delete('k')
      assert.equal(await store.get('k'), undefined)
      assert.equal(faulty.openHandles, 0)
      await store.close()
      return came
    })
    assert.ok(met >= 8, `only ${met} faults were met`)
  })

  test('a read that fails says so, gives its file back, and can be done again', async (t) => {
    const met = await failEachCall(IO, async (plan) => {
      const { store, faulty } = await openFaulty(t)
      await store.put('k', body(), ROOMY)
      faulty.arm(plan)
      const outcome = await outcomeOf(mustGet(store, 'k').then((found) => collect(found.body)))
      const came = faulty.disarm()
      // A close that fails after reading loses nothing.
      assert.equal(outcome, came && plan.operation !== 'close' ? 'UNAVAILABLE' : 'ok', JSON.stringify(plan))
      assert.equal(faulty.openHandles, 0)
      assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
      await store.close()
      return came
    })
    assert.ok(met >= 8, `only ${met} faults were met`)
  })

  test('opening fails with CONFIG_ERROR or opens, and loses nothing', async (t) => {
    const met = await failEachCall(IO, async (plan) => {
      const directory = await temporaryFor(t)
      const faulty = new FaultyFiles()
      faulty.arm(plan)
      const opened = await openLocalBlobs(directory, { files: faulty.files }).catch((error: unknown) => {
        assertCode('CONFIG_ERROR', error)
      })
      await opened?.close()
      const came = faulty.disarm()
      const store = await openLocalBlobs(directory, { files: faulty.files })
      await store.put('k', body(), ROOMY)
      assert.equal(faulty.openHandles, 0)
      await store.close()
      return came
    })
    assert.ok(met >= 15, `only ${met} faults were met`)
  })
})

describe('local blobs: the disk and the directory', () => {
  test('a file that a full disk takes in part is not kept', async (t) => {
    const { store, faulty, directory } = await openFaulty(t)
    faulty.arm({ operation: 'write', nth: 3, fault: 'not applied', code: 'ENOSPC' })
    await assert.rejects(store.put('k', body(), ROOMY), /ENOSPC/)
    assert.ok(faulty.disarm())
    assert.deepEqual(await filesBelow(directory), [])
    await store.close()
  })

  test('a file system that takes writes in parts gets the whole file; one that takes nothing ends the put', async (t) => {
    const { store, faulty } = await openFaulty(t)
    faulty.writeAtMost = 999
    assert.equal((await store.put('k', body(), ROOMY)).size, BYTES.length)
    assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
    faulty.writeAtMost = 0
    await rejectsWith('UNAVAILABLE', store.put('none', body(), ROOMY))
    assert.equal(await store.get('none'), undefined)
    await store.close()
  })

  test('a directory that is a file, or below one, is a CONFIG_ERROR that names it', async (t) => {
    const directory = await temporaryFor(t)
    await writeFile(join(directory, 'file'), '')
    for (const path of [join(directory, 'file'), join(directory, 'file', 'below')]) {
      await rejectsWith('CONFIG_ERROR', openLocalBlobs(path))
      await assert.rejects(openLocalBlobs(path), (error) => error instanceof Error && error.message.includes(path))
    }
  })

  test('a staging folder that turns into a file fails puts, not reads', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('old', body(), ROOMY)
    await rm(join(directory, 'staging'), { recursive: true })
    await writeFile(join(directory, 'staging'), '')
    await rejectsWith('UNAVAILABLE', store.put('new', body(), ROOMY))
    assertSame(await collect((await mustGet(store, 'old')).body), BYTES)
    assert.equal(await store.get('new'), undefined)
    await store.close()
  })

  test('a directory that is gone is UNAVAILABLE: nothing in it counts as deleted or never put', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('k', body(), ROOMY)
    await rename(join(directory, 'content'), join(directory, 'unmounted'))
    await rejectsWith('UNAVAILABLE', store.get('k'))
    await rejectsWith('UNAVAILABLE', store.delete('k'))
    await rename(join(directory, 'unmounted'), join(directory, 'content'))
    assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
    await store.close()
  })

  test('a folder of content that was removed is made again', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('k', body(), ROOMY)
    await rm(join(directory, 'content/82'), { recursive: true })
    await rejectsWith('UNAVAILABLE', store.put('k', body(), ROOMY))
    assert.equal((await store.put('k', body(), ROOMY)).size, BYTES.length)
    await store.close()
  })
})

describe('local blobs: what dead processes leave', () => {
  test('a process killed in the middle of a put leaves nothing to be seen, and its staged file is swept', async (t) => {
    const directory = await temporaryFor(t)
    const program = programArgs(import.meta.url, '../../support/put-and-hang.ts')
    const child = spawn(process.execPath, [...program, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), exited.then(() => assert.fail('the child ended by itself'))])

    // While it lives, another store leaves its file alone.
    const beside = await openLocalBlobs(directory)
    assert.equal((await filesBelow(join(directory, 'staging'))).length, 1)
    child.kill('SIGKILL')
    await exited
    assert.equal(await beside.get('half'), undefined)
    await beside.close()

    const store = await openLocalBlobs(directory)
    assert.deepEqual(await filesBelow(directory), [])
    assert.equal(await store.get('half'), undefined)
    assert.equal((await store.put('half', body(), ROOMY)).size, BYTES.length)
    await store.close()
  })

  test('sweeps an earlier process with our number, the dead, the stale and the unnamed; leaves the living', async (t) => {
    const directory = await temporaryFor(t)
    const staging = join(directory, 'staging')
    await mkdir(staging)
    const stale = `${process.ppid}.other.stale`
    const living = `${process.ppid}.other.living`
    // The first process belongs to another user, unless we are root.
    const foreign = '1.other.living'
    for (const name of [`${process.pid}.other.a`, '4194399.other.b', 'odd', '0.x', '-1.x', stale, living, foreign])
      await writeFile(join(staging, name), 'leftover')
    const twoHoursAgo = Date.now() / 1000 - 7200
    await utimes(join(staging, stale), twoHoursAgo, twoHoursAgo)
    await (await openLocalBlobs(directory)).close()
    assert.deepEqual(await filesBelow(staging), [...new Set([foreign, living])].toSorted())
  })
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, renameSync, rmdirSync } from 'node:fs'
import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { openLocalBlobs, type LocalBlobs } from '../../../adapters/files/index.ts'
import { assertCode, assertSame, collect, inChunks, mustGet, rejectsWith } from '../../contract/index.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { programArgs } from '../../support/repository.ts'

const AMPLE = { maxBytes: 1_000_000 }
const BYTES = randomBytes(100_000)
const body = (): AsyncIterable<Uint8Array> => inChunks(BYTES, 30_000)
const IO = ['open', 'write', 'sync', 'close', 'mkdir', 'link', 'unlink', 'stat', 'readdir', 'read'] as const

async function openFaulty(t: TestContext): Promise<{ store: LocalBlobs; faulty: FaultyFiles; directory: string }> {
  const directory = await temporaryFor(t)
  const faulty = new FaultyFiles()
  const store = await openLocalBlobs(directory, { files: faulty.files })
  t.after(() => store.close())
  return { store, faulty, directory }
}

/** `ok`, or the code of the error, which must be UNAVAILABLE. */
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => {
      assertCode('UNAVAILABLE', error)
      return 'UNAVAILABLE'
    },
  )

describe('local blobs: every single file operation fails once', () => {
  for (const { name, bytes, chunk, calls } of [
    { name: 'large', bytes: BYTES, chunk: 30_000, calls: 30 },
    { name: 'small', bytes: BYTES.subarray(0, 1_000), chunk: 300, calls: 20 },
    { name: 'small and fragmented', bytes: BYTES.subarray(0, 70), chunk: 1, calls: 140 },
  ])
    test(`a put of a ${name} body that fails leaves no visible blob, and can be repeated`, async (t) => {
      const put = (store: LocalBlobs) => store.put('k', inChunks(bytes, chunk), AMPLE)
      const injected = await failEachCall(IO, async (plan) => {
        const { store, faulty, directory } = await openFaulty(t)
        faulty.arm(plan)
        const outcome = await outcomeOf(put(store))
        const failed = faulty.disarm()
        const planText = JSON.stringify(plan)
        assert.equal(faulty.openHandles, 0, planText)
        if (outcome === 'ok') assertSame(await collect((await mustGet(store, 'k')).body), bytes)
        else {
          assert.equal(await store.get('k'), undefined, planText)
          assert.equal((await put(store)).size, bytes.length, planText)
        }
        assert.deepEqual(await filesBelow(directory), ['content/82/k'], planText)
        return failed
      })
      // open, writes, sync, close, … each twice.
      assert.ok(injected >= calls, `only ${injected} faults were injected`)
    })

  test('a put whose open fails keeps a blob that is there', async (t) => {
    for (const bytes of [BYTES, BYTES.subarray(0, 1_000)]) {
      const { store, faulty } = await openFaulty(t)
      await store.put('k', body(), AMPLE)
      faulty.arm({ operation: 'open', nth: 1, fault: 'not applied', code: 'EIO' })
      await rejectsWith('UNAVAILABLE', store.put('k', inChunks(bytes, bytes.length), AMPLE))
      assert.ok(faulty.disarm())
      assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
    }
  })

  test('a delete that fails can be repeated; until then the blob is complete or gone', async (t) => {
    const injected = await failEachCall(IO, async (plan) => {
      const { store, faulty } = await openFaulty(t)
      await store.put('k', body(), AMPLE)
      faulty.arm(plan)
      const outcome = await outcomeOf(store.delete('k'))
      const failed = faulty.disarm()
      const between = await store.get('k')
      if (outcome === 'ok') assert.equal(between, undefined)
      if (between !== undefined) assertSame(await collect(between.body), BYTES)
      const calls = faulty.calls.length
      await store.delete('k')
      // The first one may have failed between its unlink and its sync.
      assert.ok(outcome === 'ok' || faulty.calls.slice(calls).includes('sync'))
      assert.equal(await store.get('k'), undefined)
      assert.equal(faulty.openHandles, 0)
      return failed
    })
    assert.ok(injected >= 8, `only ${injected} faults were injected`)
  })

  test('a read that fails throws, closes its file, and can be repeated', async (t) => {
    const injected = await failEachCall(IO, async (plan) => {
      const { store, faulty } = await openFaulty(t)
      await store.put('k', body(), AMPLE)
      faulty.arm(plan)
      const outcome = await outcomeOf(mustGet(store, 'k').then((blob) => collect(blob.body)))
      const failed = faulty.disarm()
      // An error of a close after reading is ignored.
      assert.equal(outcome, failed && plan.operation !== 'close' ? 'UNAVAILABLE' : 'ok', JSON.stringify(plan))
      assert.equal(faulty.openHandles, 0)
      assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
      return failed
    })
    assert.ok(injected >= 8, `only ${injected} faults were injected`)
  })

  test('opening fails with CONFIG_ERROR or succeeds, and loses nothing', async (t) => {
    const injected = await failEachCall(IO, async (plan) => {
      const directory = await temporaryFor(t)
      const faulty = new FaultyFiles()
      faulty.arm(plan)
      const opened = await openLocalBlobs(directory, { files: faulty.files }).catch((error: unknown) => {
        assertCode('CONFIG_ERROR', error)
      })
      await opened?.close()
      const failed = faulty.disarm()
      const store = await openLocalBlobs(directory, { files: faulty.files })
      await store.put('k', body(), AMPLE)
      assert.equal(faulty.openHandles, 0)
      await store.close()
      return failed
    })
    assert.ok(injected >= 15, `only ${injected} faults were injected`)
  })
})

describe('local blobs: the disk and the directory', () => {
  test('a file that does not fit on a full disk is not kept', async (t) => {
    const { store, faulty, directory } = await openFaulty(t)
    faulty.arm({ operation: 'write', nth: 3, fault: 'not applied', code: 'ENOSPC' })
    await assert.rejects(store.put('k', body(), AMPLE), /ENOSPC/)
    assert.ok(faulty.disarm())
    assert.deepEqual(await filesBelow(directory), [])
  })

  test('partial writes are continued; a write of no bytes ends the put', async (t) => {
    const { store, faulty } = await openFaulty(t)
    faulty.writeAtMost = 999
    assert.equal((await store.put('k', body(), AMPLE)).size, BYTES.length)
    assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
    faulty.writeAtMost = 0
    await rejectsWith('UNAVAILABLE', store.put('none', body(), AMPLE))
    assert.equal(await store.get('none'), undefined)
  })

  test('a directory that is a file, or below one, is a CONFIG_ERROR that names it', async (t) => {
    const directory = await temporaryFor(t)
    await writeFile(join(directory, 'file'), '')
    for (const path of [join(directory, 'file'), join(directory, 'file', 'below')]) {
      await rejectsWith('CONFIG_ERROR', openLocalBlobs(path))
      await assert.rejects(openLocalBlobs(path), (error) => error instanceof Error && error.message.includes(path))
    }
  })

  test('if a folder of content is replaced by a file, puts to it fail and reads of others work', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('old', body(), AMPLE)
    await writeFile(join(directory, 'content/82'), '')
    await rejectsWith('UNAVAILABLE', store.put('k', body(), AMPLE))
    assertSame(await collect((await mustGet(store, 'old')).body), BYTES)
    await rejectsWith('UNAVAILABLE', store.get('k'))
    assert.equal((await filesBelow(directory)).length, 2)
  })

  test('if the directory is missing, calls throw UNAVAILABLE instead of reporting its blobs as missing', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('k', body(), AMPLE)
    await rename(join(directory, 'content'), join(directory, 'unmounted'))
    await rejectsWith('UNAVAILABLE', store.get('k'))
    await rejectsWith('UNAVAILABLE', store.delete('k'))
    await rename(join(directory, 'unmounted'), join(directory, 'content'))
    assertSame(await collect((await mustGet(store, 'k')).body), BYTES)
  })

  test('while its volume is lost, nothing is stored, read or deleted, and nothing is created below it', async (t) => {
    const { store, faulty, directory } = await openFaulty(t)
    await store.put('k', body(), AMPLE)
    const volume = `${directory}-volume`
    await rename(directory, volume)
    t.after(() => rm(volume, { recursive: true, force: true }))
    await mkdir(directory)
    for (const key of ['a', 'b', 'k2']) await rejectsWith('UNAVAILABLE', store.put(key, body(), AMPLE))
    for (const call of [() => store.get('k'), () => store.delete('k'), () => store.assertAvailable()])
      await rejectsWith('UNAVAILABLE', call())
    assert.deepEqual(await readdir(directory), [])
    // Mounted again just after a delete has not found the file.
    faulty.onCall = (name) => {
      if (name !== 'stat' || !existsSync(volume)) return
      rmdirSync(directory)
      renameSync(volume, directory)
    }
    await store.delete('k')
    assert.deepEqual(await filesBelow(directory), [])
    assert.equal((await store.put('a', body(), AMPLE)).size, BYTES.length)
  })

  test('another volume in its place gets nothing, unless it is said to be a replacement', async (t) => {
    const directory = await temporaryFor(t)
    let isReplacement = false
    const store = await openLocalBlobs(directory, { isReplacement: async () => isReplacement })
    await store.put('k', body(), AMPLE)
    await cp(join(directory, 'content'), join(directory, 'copy'), { recursive: true })
    await rename(join(directory, 'content'), join(directory, 'own'))
    await rename(join(directory, 'copy'), join(directory, 'content'))
    for (const key of ['k2', 'k3']) await rejectsWith('UNAVAILABLE', store.put(key, body(), AMPLE))
    for (const call of [() => store.get('none'), () => store.delete('none'), () => store.delete('k')])
      await rejectsWith('UNAVAILABLE', call())
    isReplacement = true
    assert.equal((await store.put('k4', body(), AMPLE)).size, BYTES.length)
    await store.close()
  })

  test('a put fails if the directory was away during it, although it is back', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('k', body(), AMPLE)
    async function* lostMeanwhile() {
      yield BYTES
      await rename(join(directory, 'content'), join(directory, 'away'))
      await rejectsWith('UNAVAILABLE', store.assertAvailable())
      await rename(join(directory, 'away'), join(directory, 'content'))
      yield BYTES
    }
    await rejectsWith('UNAVAILABLE', store.put('k2', lostMeanwhile(), AMPLE))
    assert.equal((await store.put('k2', body(), AMPLE)).size, BYTES.length)
  })

  test('a removed folder of content is created again', async (t) => {
    const { store, directory } = await openFaulty(t)
    await store.put('k', body(), AMPLE)
    await rm(join(directory, 'content/82'), { recursive: true })
    await rejectsWith('UNAVAILABLE', store.put('k', body(), AMPLE))
    assert.equal((await store.put('k', body(), AMPLE)).size, BYTES.length)
  })
})

describe('local blobs: files of dead processes', () => {
  test('a process killed during a put leaves a part of the blob, which is deleted by its key', async (t) => {
    const directory = await temporaryFor(t)
    const program = programArgs('test/support/put-and-hang.ts')
    const child = spawn(process.execPath, [...program, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), exited.then(() => assert.fail('the child ended by itself'))])

    // While the process lives, another store does not remove its file.
    await (await openLocalBlobs(directory)).close()
    const [half, ...others] = await filesBelow(directory)
    assert.match(half ?? '', /^content\/..\/half$/)
    assert.deepEqual(others, [])
    child.kill('SIGKILL')
    await exited

    const store = await openLocalBlobs(directory)
    await store.delete('half')
    assert.deepEqual(await filesBelow(directory), [])
    assert.equal(await store.get('half'), undefined)
    assert.equal((await store.put('half', body(), AMPLE)).size, BYTES.length)
    await store.close()
  })
})

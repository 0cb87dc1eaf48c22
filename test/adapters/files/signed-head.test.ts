import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FileSignedHead } from '../../../adapters/files/index.ts'
import { rejectsWith, signedHeadKeeperContract } from '../../contract/index.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

const OLD = { size: 41, root: new Uint8Array(randomBytes(32)), erasures: 7 }
const NEW = { size: 1042, root: new Uint8Array(randomBytes(32)) }

signedHeadKeeperContract('file', async () => {
  const directory = await makeTemporary()
  const path = join(directory, 'signed-head.json')
  return {
    keeper: new FileSignedHead(path),
    reopen: async () => new FileSignedHead(path),
    dispose: () => removeTemporary(directory),
  }
})

describe('the signed head in a file', () => {
  test('is one line of JSON with mode 0600, and leaves no other file', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'head')
    const keeper = new FileSignedHead(path)
    await keeper.write(OLD)
    await keeper.write({ size: 5, root: new Uint8Array(32) })
    const root = '0'.repeat(64)
    // printf '5 %064d' 0 | sha256sum
    const checksum = '4fa388053cd534bfe3b122e51baf2f86d89c34de216e699287be2e7ac5ff1778'
    assert.equal(await readFile(path, 'utf8'), `{"size":5,"root":"${root}","sha256":"${checksum}"}\n`)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await filesBelow(directory), ['head'])
  })

  test('throws CORRUPT with advice for every flipped bit, truncation and foreign content', async (t) => {
    const path = join(await temporaryFor(t), 'head')
    const keeper = new FileSignedHead(path)
    await keeper.write(OLD)
    const good = await readFile(path)
    const bad: Uint8Array[] = ['', '{}', 'null', '[]', '{"size":1}', `${good.toString()} `].map((text) =>
      Buffer.from(text),
    )
    for (let at = 0; at < good.length; at += 1) {
      bad.push(good.subarray(0, at))
      const flipped = Buffer.from(good)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      bad.push(flipped)
    }
    for (const bytes of bad) {
      await writeFile(path, bytes)
      await rejectsWith('CORRUPT', keeper.read())
    }
    await assert.rejects(keeper.read(), /Restore it from a backup/)
    await keeper.write(NEW)
    assert.deepEqual(await keeper.read(), NEW)
  })

  test('throws TypeError for a value that is not a head', async (t) => {
    const keeper = new FileSignedHead(join(await temporaryFor(t), 'head'))
    for (const head of [
      { ...OLD, size: -1 },
      { ...OLD, size: 1.5 },
      { ...OLD, root: new Uint8Array(31) },
      { ...OLD, erasures: -1 },
    ])
      await assert.rejects(async () => keeper.write(head), TypeError)
    assert.equal(await keeper.read(), undefined)
  })

  test('throws UNAVAILABLE if the directory is missing or the path cannot be read', async (t) => {
    const directory = await temporaryFor(t)
    await rejectsWith('UNAVAILABLE', new FileSignedHead(join(directory, 'not', 'there')).write(OLD))
    await rejectsWith('UNAVAILABLE', new FileSignedHead(directory).read())
  })

  test('is the old or the new one, whichever file operation fails, and the next write succeeds', async (t) => {
    const injected = await failEachCall(['open', 'write', 'sync', 'close', 'rename'], async (plan) => {
      const directory = await temporaryFor(t)
      const faulty = new FaultyFiles()
      const keeper = new FileSignedHead(join(directory, 'head'), { files: faulty.files })
      await keeper.write(OLD)
      faulty.arm(plan)
      const outcome = await keeper.write(NEW).then(
        () => 'ok',
        () => 'failed',
      )
      const failed = faulty.disarm()
      const current = await keeper.read()
      const planText = JSON.stringify(plan)
      assert.equal(outcome, failed ? 'failed' : 'ok', planText)
      if (outcome === 'ok') assert.equal(current?.size, NEW.size, planText)
      assert.deepEqual(current, current?.size === NEW.size ? NEW : OLD, planText)
      assert.deepEqual(await filesBelow(directory), ['head'], planText)
      assert.equal(faulty.openHandles, 0, planText)
      await keeper.write(NEW)
      assert.deepEqual(await keeper.read(), NEW, planText)
      return failed
    })
    // open, write, sync, close, rename, then open, sync, close of the folder; each twice.
    assert.equal(injected, 16)
  })

  test('a write that fails does not block the next ones', async (t) => {
    const faulty = new FaultyFiles()
    const keeper = new FileSignedHead(join(await temporaryFor(t), 'head'), { files: faulty.files })
    faulty.arm({ operation: 'write', nth: 1, fault: 'not applied', code: 'ENOSPC' })
    const [first, second] = await Promise.allSettled([keeper.write(OLD), keeper.write(NEW)])
    assert.equal(first.status, 'rejected')
    assert.equal(second.status, 'fulfilled')
    assert.deepEqual(await keeper.read(), NEW)
  })
})

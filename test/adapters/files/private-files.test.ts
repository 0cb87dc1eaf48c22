import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readOrCreateSecret, readSecret, writePrivateFile } from '../../../adapters/files/index.ts'
import { assertSame, rejectsWith } from '../../contract/index.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

describe('a secret file', () => {
  test('is created once, with 32 bytes and mode 0600, and then read', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'secret')
    const secret = await readOrCreateSecret(path)
    assert.equal(secret.length, 32)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assertSame(await readOrCreateSecret(path), secret)
    assertSame(await readSecret(path), secret)
    assertSame(await readFile(path), secret)
    assert.notDeepEqual(await readOrCreateSecret(join(directory, 'other')), secret)
    assert.deepEqual(await filesBelow(directory), ['other', 'secret'])
  })

  test('may hold any 32 or more bytes and is not changed', async (t) => {
    const path = join(await temporaryFor(t), 'secret')
    for (const bytes of [randomBytes(32), randomBytes(1000), Buffer.from('a passphrase of more than 32 bytes\r\n\0')]) {
      await writeFile(path, bytes)
      assertSame(await readOrCreateSecret(path), bytes)
      assertSame(await readFile(path), bytes)
    }
  })

  test('that is too short, missing or not a file throws CONFIG_ERROR with its path, not its content', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'secret')
    await rejectsWith('CONFIG_ERROR', readSecret(path))
    for (const text of ['', 'hunter2', 'x'.repeat(31)]) {
      await writeFile(path, text)
      for (const read of [readSecret, readOrCreateSecret]) {
        await rejectsWith('CONFIG_ERROR', read(path))
        await assert.rejects(read(path), (error) => {
          assert.ok(error instanceof Error && error.message.includes(path))
          return text === '' || !error.message.includes(text)
        })
      }
    }
    await rejectsWith('CONFIG_ERROR', readOrCreateSecret(directory))
    await rejectsWith('CONFIG_ERROR', readOrCreateSecret(join(directory, 'not', 'there')))
  })

  test('is the same for 24 callers that race to create it', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'secret')
    const secrets = await Promise.all(Array.from({ length: 24 }, () => readOrCreateSecret(path)))
    for (const secret of secrets) assertSame(secret, await readFile(path))
    assert.deepEqual(await filesBelow(directory), ['secret'])
  })

  test('is durable if another process created it, which may not have synced the folder yet', async (t) => {
    const path = join(await temporaryFor(t), 'secret')
    const other = randomBytes(32)
    const faulty = new FaultyFiles()
    faulty.onCall = (name) => {
      if (name === 'link') writeFileSync(path, other)
    }
    assertSame(await readOrCreateSecret(path, { files: faulty.files }), other)
    assert.ok(faulty.calls.slice(faulty.calls.indexOf('link')).includes('sync'), faulty.calls.join(', '))
  })

  test('is never returned unless it is stored, whichever file operation fails', async (t) => {
    const injected = await failEachCall(['open', 'write', 'sync', 'close', 'link', 'readFile'], async (plan) => {
      const directory = await temporaryFor(t)
      const path = join(directory, 'secret')
      const faulty = new FaultyFiles()
      faulty.arm(plan)
      const returned = await readOrCreateSecret(path, { files: faulty.files }).catch(() => undefined)
      const failed = faulty.disarm()
      const stored = await readOrCreateSecret(path, { files: faulty.files })
      if (returned !== undefined) assertSame(returned, stored)
      assert.equal(stored.length, 32)
      assert.deepEqual(await filesBelow(directory), ['secret'])
      assert.equal(faulty.openHandles, 0)
      return failed
    })
    assert.equal(injected, 18)
  })
})

describe('a private file', () => {
  test('has mode 0600 and replaces an existing file', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'operator.key')
    await writeFile(path, 'older and longer, and open to all', { mode: 0o644 })
    await writePrivateFile(path, 'schlüssel\n')
    assert.equal(await readFile(path, 'utf8'), 'schlüssel\n')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await filesBelow(directory), ['operator.key'])
  })

  test('that cannot be written throws CONFIG_ERROR with its path and without its text', async (t) => {
    const path = join(await temporaryFor(t), 'not', 'there')
    await rejectsWith('CONFIG_ERROR', writePrivateFile(path, 'the key'))
    await assert.rejects(writePrivateFile(path, 'the key'), (error) => {
      return error instanceof Error && error.message.includes(path) && !error.message.includes('the key')
    })
  })
})

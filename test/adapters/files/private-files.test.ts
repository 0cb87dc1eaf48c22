import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readOrCreateSecret, readSecret, writePrivateFile } from '../../../adapters/files/index.ts'
import { assertSame, rejectsWith } from '../../contract/blob-bodies.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

describe('a secret file', () => {
  test('is made once, of 32 bytes, 0600, and read from then on', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'secret')
    const made = await readOrCreateSecret(path)
    assert.equal(made.length, 32)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assertSame(await readOrCreateSecret(path), made)
    assertSame(await readSecret(path), made)
    assertSame(await readFile(path), made)
    assert.notDeepEqual(await readOrCreateSecret(join(directory, 'other')), made)
    assert.deepEqual(await filesBelow(directory), ['other', 'secret'])
  })

  test('may hold any bytes, 32 or more, and is left as it is', async (t) => {
    const path = join(await temporaryFor(t), 'secret')
    for (const bytes of [randomBytes(32), randomBytes(1000), Buffer.from('a passphrase of more than 32 bytes\r\n\0')]) {
      await writeFile(path, bytes)
      assertSame(await readOrCreateSecret(path), bytes)
      assertSame(await readFile(path), bytes)
    }
  })

  test('too short, missing where it must be there, or no file: a CONFIG_ERROR that names it and tells nothing of it', async (t) => {
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

  test('of 24 that race to make it, all answer the same', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'secret')
    const secrets = await Promise.all(Array.from({ length: 24 }, () => readOrCreateSecret(path)))
    for (const secret of secrets) assertSame(secret, await readFile(path))
    assert.deepEqual(await filesBelow(directory), ['secret'])
  })

  test('every single file operation fails once: no secret is answered that is not the stored one', async (t) => {
    const met = await failEachCall(['open', 'write', 'sync', 'close', 'link', 'readFile'], async (plan) => {
      const directory = await temporaryFor(t)
      const path = join(directory, 'secret')
      const faulty = new FaultyFiles()
      faulty.arm(plan)
      const answered = await readOrCreateSecret(path, { files: faulty.files }).catch(() => undefined)
      const came = faulty.disarm()
      const stored = await readOrCreateSecret(path, { files: faulty.files })
      if (answered !== undefined) assertSame(answered, stored)
      assert.equal(stored.length, 32)
      assert.deepEqual(await filesBelow(directory), ['secret'])
      assert.equal(faulty.openHandles, 0)
      return came
    })
    assert.equal(met, 18)
  })
})

describe('a private file', () => {
  test('holds the text, 0600, and replaces what was there', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'operator.key')
    await writeFile(path, 'older and longer, and open to all', { mode: 0o644 })
    await writePrivateFile(path, 'schlüssel\n')
    assert.equal(await readFile(path, 'utf8'), 'schlüssel\n')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await filesBelow(directory), ['operator.key'])
  })

  test('that cannot be written is a CONFIG_ERROR that names it and keeps its text to itself', async (t) => {
    const path = join(await temporaryFor(t), 'not', 'there')
    await rejectsWith('CONFIG_ERROR', writePrivateFile(path, 'the key'))
    await assert.rejects(writePrivateFile(path, 'the key'), (error) => {
      return error instanceof Error && error.message.includes(path) && !error.message.includes('the key')
    })
  })
})

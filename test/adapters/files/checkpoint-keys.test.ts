import assert from 'node:assert/strict'
import { readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { addCheckpointKeys } from '../../../adapters/files/checkpoint-keys.ts'
import { generateCheckpointKey, openCheckpointKeys, type FileOperations } from '../../../adapters/files/index.ts'
import { nodeFiles } from '../../../adapters/files/durable.ts'
import { assertSame, checkpointSignerContract, rejectsWith } from '../../contract/index.ts'
import { verifySignature } from '../../../core/log/verifier-key.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

const seed = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const message = Buffer.from('a checkpoint')

checkpointSignerContract('keyring', async () => {
  const directory = await makeTemporary()
  const addKey = async (): Promise<void> => void (await generateCheckpointKey(join(directory, 'keys.json')))
  await addKey()
  const signer = await openCheckpointKeys(join(directory, 'keys.json'))
  return { signer, addKey, dispose: () => removeTemporary(directory) }
})

describe('a keyring of checkpoint keys', () => {
  test('is created with mode 0600 and grows by one key at its end', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'new', 'keys.json')
    const first = await generateCheckpointKey(path)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    const opened = await openCheckpointKeys(path)
    const second = await generateCheckpointKey(path)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await filesBelow(directory), ['new/keys.json'])
    assert.deepEqual(await opened.publicKeys(), [first, second], 'an open keyring finds a new key')
    await writeFile(path, `\uFEFF${await readFile(path, 'utf8')}`)
    assert.deepEqual(await (await openCheckpointKeys(path)).publicKeys(), [first, second], 'an editor saved it')
    for (const key of [first, second]) {
      assert.deepEqual([key[0], key.length], [1, 33])
      assert.ok(verifySignature(key.subarray(1), message, await opened.sign(key, message)))
    }
  })

  test('finds a key that is added while it signs', async (t) => {
    const path = join(await temporaryFor(t), 'keys.json')
    await generateCheckpointKey(path)
    const opened = await openCheckpointKeys(path)
    const added = await generateCheckpointKey(path)
    assert.ok(verifySignature(added.subarray(1), message, await opened.sign(added, message)))
  })

  test('has each key once', async (t) => {
    const path = join(await temporaryFor(t), 'keys.json')
    await addCheckpointKeys(path, [seed(1)])
    await addCheckpointKeys(path, [seed(2), seed(1)])
    assert.equal((await (await openCheckpointKeys(path)).publicKeys()).length, 2)
    const before = await readFile(path)
    await addCheckpointKeys(path, [seed(1)])
    assertSame(await readFile(path), before)
  })

  test('that is missing throws CONFIG_ERROR, a damaged one CORRUPT, with the path and without the seed', async (t) => {
    const path = join(await temporaryFor(t), 'keys.json')
    await rejectsWith('CONFIG_ERROR', openCheckpointKeys(path))
    await addCheckpointKeys(path, [seed(1), seed(2)])
    const text = await readFile(path, 'utf8')
    const base64 = Buffer.from(seed(1)).toString('base64')
    for (const damaged of [
      '',
      '{}',
      text.slice(0, -5),
      text.replace('"format": 1', '"format": 2'),
      text.replace('ed25519', 'ml-dsa-44'),
      text.replace(base64, base64.replace('A', 'B')),
      text.replace(base64, Buffer.from(seed(2)).toString('base64')),
      text.replace(/"publicKey": "../, '"publicKey": "AX'),
      JSON.stringify({ format: 1, keys: [] }),
    ]) {
      assert.notEqual(damaged, text)
      await writeFile(path, damaged)
      await assert.rejects(openCheckpointKeys(path), (error) => {
        return error instanceof Error && error.message.includes(path) && !error.message.includes(base64)
      })
      await rejectsWith('CORRUPT', openCheckpointKeys(path))
      await rejectsWith('CORRUPT', generateCheckpointKey(path))
      assert.equal(await readFile(path, 'utf8'), damaged, 'a damaged file is not replaced')
    }
  })

  test('is the old or the new one, whichever file operation fails', async (t) => {
    const operations = ['open', 'write', 'sync', 'close', 'link', 'rename', 'readFile'] as const
    for (const existing of [0, 1]) {
      const injected = await failEachCall(operations, async (plan) => {
        const directory = await temporaryFor(t)
        const path = join(directory, 'keys.json')
        if (existing > 0) await addCheckpointKeys(path, [seed(1)])
        const faulty = new FaultyFiles()
        faulty.arm(plan)
        const isDone = await addCheckpointKeys(path, [seed(2)], { files: faulty.files }).then(
          () => true,
          () => false,
        )
        const hasFailed = faulty.disarm()
        const count = await openCheckpointKeys(path).then(
          async (opened) => (await opened.publicKeys()).length,
          () => 0,
        )
        assert.ok(count === existing + 1 || (!isDone && count === existing), `${JSON.stringify(plan)}: ${count}`)
        assert.equal(faulty.openHandles, 0)
        return hasFailed
      })
      assert.ok(injected > 10)
    }
  })

  test('that two processes create at the same time has the keys of both', async (t) => {
    const path = join(await temporaryFor(t), 'keys.json')
    await Promise.all([addCheckpointKeys(path, [seed(1)]), addCheckpointKeys(path, [seed(2)])])
    assert.equal((await (await openCheckpointKeys(path)).publicKeys()).length, 2)
  })

  test('rejects a key while another process adds one, so that none is lost', async (t) => {
    const directory = await temporaryFor(t)
    const path = join(directory, 'keys.json')
    await addCheckpointKeys(path, [seed(1)])
    const rename: FileOperations['rename'] = async (from, to) => {
      await rejectsWith('STORE_LOCKED', addCheckpointKeys(path, [seed(3)]))
      await addCheckpointKeys(path, [seed(1)])
      await nodeFiles.rename(from, to)
    }
    await addCheckpointKeys(path, [seed(2)], { files: { ...nodeFiles, rename } })
    await addCheckpointKeys(path, [seed(3)])
    assert.equal((await (await openCheckpointKeys(path)).publicKeys()).length, 3)
    assert.deepEqual(await filesBelow(directory), ['keys.json'])
    await writeFile(`${path}.lock`, '')
    await assert.rejects(generateCheckpointKey(path), (error) => String(error).includes(`remove ${path}.lock`))
    await unlink(`${path}.lock`)
    await generateCheckpointKey(path)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openSecrets, sealSecrets } from '../../../server/backup/secrets.ts'

const DAMAGED = { code: 'CORRUPT', message: 'The secrets of the backup are damaged: use another backup' }

describe('the secrets of a backup', async () => {
  const files = new Map([['secret', new Uint8Array([1, 2, 3])]])
  const sealed = Buffer.from(await sealSecrets(files, 'a passphrase'))
    .toString('utf8')
    .split('\n')
  const [head = '', body = ''] = sealed
  const open = (line: string, passphrase = 'a passphrase') => openSecrets(Buffer.from(`${line}\n${body}\n`), passphrase)

  it('are read with their passphrase only', async () => {
    assert.deepEqual(new Map([...(await open(head))].map(([path, bytes]) => [path, new Uint8Array(bytes)])), files)
    await assert.rejects(open(head, 'another'), { code: 'CONFIG_ERROR', message: /passphrase is not the one/ })
  })

  it('are damaged if their first line is not an object', async () => {
    for (const line of ['', '{', 'null', '7', '"scrypt"', '[]', '{}', head.slice(1)])
      await assert.rejects(open(line), DAMAGED, line)
  })

  const WRONG: Readonly<Record<string, readonly unknown[]>> = {
    format: [2, '1', null],
    kdf: ['argon2', null],
    cipher: ['aes-128-gcm', null],
    N: [0, 1, 3, -2, 1.5, 131_071, 2 ** 19, 2 ** 20, 2 ** 31, '131072', null, [2]],
    r: [0, -8, 8.5, 17, 2 ** 30, '8', null],
    p: [0, -1, 1.5, 5, 2 ** 30, '1', null],
    salt: ['', 'AAAA', 7, null, {}],
    iv: ['', 'AAAA', 7, null, {}],
  }
  for (const [name, values] of Object.entries(WRONG))
    it(`are damaged if ${name} is not what this version writes`, async () => {
      for (const value of [...values, undefined])
        await assert.rejects(open(JSON.stringify({ ...JSON.parse(head), [name]: value })), DAMAGED, String(value))
    })
})

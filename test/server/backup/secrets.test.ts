import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Decrypter } from 'age-encryption'
import { openSecrets, sealSecrets } from '../../../server/backup/secrets.ts'

const WRONG = { code: 'CONFIG_ERROR', message: 'The passphrase is not the one of these secrets' }

it('secrets are read with their passphrase only, in any form of Unicode, and by age', async () => {
  const bytes = new Uint8Array([1, 2, 3])
  const sealed = await sealSecrets(new Map([['secret', bytes]]), 'a passphrase é')
  assert.match(Buffer.from(sealed).toString('latin1'), /^age-encryption\.org\/v1\n-> scrypt \S+ 17\n/)
  assert.deepEqual(new Uint8Array((await openSecrets(sealed, 'a passphrase e\u0301')).get('secret') ?? []), bytes)
  await assert.rejects(openSecrets(sealed, 'another'), WRONG)
  await assert.rejects(openSecrets(sealed.subarray(0, -1), 'a passphrase é'), WRONG)
  const age = new Decrypter()
  age.addPassphrase('a passphrase é')
  assert.equal(await age.decrypt(sealed, 'text'), '{"secret":"AQID"}')
})

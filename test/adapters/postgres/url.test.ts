import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { temporaryFor } from '../../support/temporary.ts'

it('a file for TLS that cannot be used is a wrong setting, and not a database that cannot be reached', async (t) => {
  const folder = await temporaryFor(t)
  await writeFile(join(folder, 'broken.pem'), '-----BEGIN CERTIFICATE-----\nx')
  const wrong = [
    ['sslcert', join(folder, 'none'), 'ENOENT'],
    ['sslrootcert', folder, 'EISDIR'],
    ['sslkey', join(folder, 'broken.pem'), 'ERR_OSSL'],
  ] as const
  const onRetry = (reason: string): void => assert.fail(reason)
  for (const [parameter, path, code] of wrong)
    await assert.rejects(
      openPostgresRecords({ url: `postgres://me:hunter2@127.0.0.1:1/x?${parameter}=${path}`, onRetry }),
      { code: 'CONFIG_ERROR', message: new RegExp(`${parameter} in the URL .* cannot be used \\(${code}`) },
    )
})

it('a URL with a special character that is not encoded is a wrong setting, and the error has no part of it', async () => {
  const onRetry = (reason: string): void => assert.fail(reason)
  for (const url of ['postgres://me:/hunter2@127.0.0.1:1/x', 'postgres://me:hunter2/@127.0.0.1:1/x'])
    await assert.rejects(openPostgresRecords({ url, onRetry }), (error: Error) => {
      assert.match(error.message, /write % as %25, \/ as %2F/)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadWithPackage } from '../../adapters/optional-package.ts'
import { isRegistryError } from '../../core/errors.ts'

/** The error that Node throws for an import of a missing package. */
const missing = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /app/database.js`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })

describe('loadWithPackage', () => {
  it('returns the module', async () => {
    assert.equal(await loadWithPackage('pg', async () => 'module'), 'module')
  })

  for (const name of ['pg', '@aws-sdk/client-s3', 'ethers'])
    it(`throws CONFIG_ERROR with the command that installs ${name}`, () =>
      assert.rejects(
        loadWithPackage(name, () => Promise.reject(missing(name))),
        (error) =>
          isRegistryError(error, 'CONFIG_ERROR') &&
          error.message === `The package ${name} is not installed: run npm install ${name}`,
      ))

  it('recognizes the error of Node itself', async () => {
    const name = 'a-package-that-is-not-installed'
    await assert.rejects(
      loadWithPackage(name, () => import(name)),
      { code: 'CONFIG_ERROR', message: /run npm install a-package-that-is-not-installed$/ },
    )
  })

  it('throws other errors unchanged, also if another package is missing', async () => {
    for (const error of [missing('pg-pool'), missing('pg/lib/missing.js'), new Error(`'pg' is broken`)])
      await assert.rejects(
        loadWithPackage('pg', () => Promise.reject(error)),
        (thrown) => thrown === error,
      )
  })
})

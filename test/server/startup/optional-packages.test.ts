import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isRegistryError } from '../../../core/index.ts'
import { assertInstalled } from '../../../server/startup/optional-packages.ts'

it('accepts each optional package when it is installed', () => {
  for (const name of ['pg', '@aws-sdk/client-s3', 'ethers']) assertInstalled(name, 'EVIDENCE_X=y')
})

it('names the setting, the package and the command when a package is missing', () => {
  assert.throws(
    () => assertInstalled('left-pad', 'EVIDENCE_RECORDS=postgres'),
    (error: unknown) =>
      isRegistryError(error, 'CONFIG_ERROR') &&
      error.message === 'EVIDENCE_RECORDS=postgres needs the package left-pad: run npm install left-pad',
  )
})

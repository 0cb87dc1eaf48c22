import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ERROR_CODES, RegistryError } from '../../../core/index.ts'
import { failureOf } from '../../../server/contract/errors.ts'

it('never shows an internal message in a 5xx', () => {
  for (const code of ERROR_CODES) {
    const failure = failureOf(new RegistryError(code, 'internals of the store'))
    if (failure.status >= 500) assert.doesNotMatch(failure.text, /internals/, code)
    else assert.equal(failure.text, 'internals of the store', code)
  }
  for (const code of ['CORRUPT', 'INTERNAL'] as const) {
    const { status, code: shown } = failureOf(new RegistryError(code, 'x'))
    assert.deepEqual([status, shown], [500, 'INTERNAL'])
  }
  assert.doesNotMatch(failureOf(new Error('internals')).text, /internals/)
})

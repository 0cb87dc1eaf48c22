import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ERROR_CODES, RegistryError } from '../../../core/index.ts'
import { codesWith, failureOf, statusOf } from '../../../server/contract/errors.ts'
import { root } from '../../support/repository.ts'

/** The codes that clients see, written out here so that a change of a status is noticed. */
const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['VALIDATION_ERROR', 'MALFORMED_BODY'],
  401: ['UNAUTHORIZED'],
  403: ['FORBIDDEN'],
  404: [
    'SHARE_NOT_FOUND',
    'ERASURE_NOT_FOUND',
    'COMPANY_NOT_FOUND',
    'CATEGORY_NOT_FOUND',
    'SUBCATEGORY_NOT_FOUND',
    'EVIDENCE_NOT_FOUND',
    'FILE_NOT_FOUND',
    'SOURCE_SYSTEM_NOT_FOUND',
    'BATCH_NOT_FOUND',
    'NOT_FOUND',
  ],
  405: ['METHOD_NOT_ALLOWED'],
  408: ['REQUEST_TIMEOUT'],
  409: [
    'TOO_MANY_SHARES',
    'EXTERNAL_ID_EXISTS',
    'NAME_EXISTS',
    'KEY_EXISTS',
    'CATEGORY_NOT_EMPTY',
    'CATEGORY_INACTIVE',
    'CATEGORY_MISMATCH',
    'TOO_MANY_FILES',
    'BUNDLE_TOO_LARGE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
  412: ['VERSION_CONFLICT'],
  413: ['PAYLOAD_TOO_LARGE'],
  415: ['UNSUPPORTED_MEDIA_TYPE'],
  416: ['RANGE_NOT_SATISFIABLE'],
  417: ['EXPECTATION_FAILED'],
  429: ['RATE_LIMITED'],
  431: ['HEADERS_TOO_LARGE'],
  500: ['INTERNAL', 'BODY_CONSUMED'],
  503: ['UNAVAILABLE', 'UNKNOWN_OUTCOME'],
}

describe('errors', () => {
  it('have these statuses', () => {
    for (const [status, codes] of Object.entries(CODES))
      assert.deepEqual(codesWith(Number(status)).toSorted(), codes.toSorted(), status)
    const unknown = ERROR_CODES.filter((code) => CODES[statusOf(code)] === undefined)
    assert.deepEqual(unknown, [])
  })

  it('are in the table of the README', () => {
    const rows = readFileSync(join(root, 'server/README.md'), 'utf8').split('\n')
    for (const [status, codes] of Object.entries(CODES))
      for (const code of codes)
        assert.ok(
          rows.some((row) => row.startsWith(`| ${status} |`) && row.includes(`\`${code}\``)),
          code,
        )
  })

  it('never show an internal message in a 5xx', () => {
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
})

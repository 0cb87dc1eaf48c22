import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DocumentCheck } from '../../support/document-check.ts'
import { startService, type Service } from '../../support/service.ts'

describe('the check against the OpenAPI document', () => {
  let service: Service
  let check: DocumentCheck
  before(async () => {
    service = await startService()
    check = new DocumentCheck(service.app.document())
  })
  after(() => service.close())

  const response = (
    status: number,
    body: unknown,
    mediaType = 'application/json; charset=utf-8',
    headers: Readonly<Record<string, string>> = {},
  ) => ({
    status,
    headers: new Headers({
      'content-type': mediaType,
      'x-request-id': 'x',
      'cache-control': 'private, no-cache',
      ...(status === 401 && { 'www-authenticate': 'ApiKey realm="x"' }),
      ...headers,
    }),
    text: JSON.stringify(body),
    body,
  })

  it('accepts what the document describes', () => {
    check.check('checkSourceSystem', response(200, { status: 'ok' }))
    check.check('checkSourceSystem', response(401, { statusCode: 401, message: 'Unauthorized' }))
  })

  const wrong: readonly (readonly [why: string, operationId: string, ReturnType<typeof response>])[] = [
    ['an unknown operation', 'nonsense', response(200, { status: 'ok' })],
    ['an undocumented status', 'checkSourceSystem', response(418, { status: 'ok' })],
    ['another media type', 'checkSourceSystem', response(200, { status: 'ok' }, 'text/html')],
    ['a wrong value', 'checkSourceSystem', response(200, { status: 'fine' })],
    ['a missing member', 'checkSourceSystem', response(200, {})],
    ['an unknown member', 'checkSourceSystem', response(200, { status: 'ok', more: 1 })],
    ['an undocumented header', 'checkSourceSystem', response(200, { status: 'ok' }, undefined, { 'x-other': '1' })],
    ['a wrong header', 'checkSourceSystem', response(200, { status: 'ok' }, undefined, { ratelimit: 'many' })],
    [
      'a missing header',
      'checkSourceSystem',
      { ...response(200, { status: 'ok' }), headers: new Headers({ 'content-type': 'application/json' }) },
    ],
    ['a body that the document does not have', 'getCategory', response(304, {}, undefined, { etag: '"x"' })],
    ['the shape of another status', 'checkSourceSystem', response(401, { error: 'x', code: 'UNAUTHORIZED' })],
  ]
  for (const [why, operationId, each] of wrong)
    it(`rejects ${why}`, () => {
      assert.throws(() => check.check(operationId, each), assert.AssertionError)
    })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createClient, type EvidenceRegistryError } from '../../../server/client/index.ts'
import { uiModule } from '../../support/ui-module.ts'

const loadModule = () =>
  uiModule<{
    messageOf(error: unknown): string
    mayBeRecorded(error: unknown): boolean
    problemsOf(error: unknown, names: readonly string[]): Readonly<Record<string, string>>
    problemsIn(values: object, required: readonly string[]): Readonly<Record<string, string | undefined>>
    FieldError: new (problems: object) => Error
    EvidenceRegistryError: typeof EvidenceRegistryError
  }>('failure.ts', '../client/index.ts')

it('all that is known to be wrong with a form is said at once', async () => {
  const ui = await loadModule()
  const values = {
    name: ' ',
    externalId: 'x'.repeat(129),
    owner: '🚲'.repeat(256),
    summary: 's'.repeat(8_193),
    meta: '',
  }
  assert.deepEqual(ui.problemsIn(values, ['name', 'new']), {
    name: 'Enter a name',
    externalId: 'At most 128 characters; these are 129',
    owner: undefined,
    summary: 'At most 8,192 characters; these are 8,193',
    meta: undefined,
  })
})

it('an error has a text of the page, at its field if the form has it', async () => {
  const ui = await loadModule()
  const errorOf = (code: string, status: number, text = 'text of the service'): Error =>
    new ui.EvidenceRegistryError(`POST /evidences/acme: ${text}`, { code, status })
  for (const [error, names, problems, message] of [
    [errorOf('EXTERNAL_ID_EXISTS', 409), ['externalId'], ['externalId'], /has this external id/],
    [errorOf('VALIDATION_ERROR', 400, 'meta.t: text of the service'), ['meta'], ['meta'], /JSON object/],
    [
      errorOf('VALIDATION_ERROR', 400, 'owner text of the service'),
      ['name', 'owner'],
      ['owner'],
      /^“Owner” has a value/,
    ],
    [errorOf('VALIDATION_ERROR', 400, 'images[1] text of the service'), ['image', 'images'], ['images'], /^“images”/],
    [errorOf('VALIDATION_ERROR', 400, 'owner text of the service'), ['name'], [], /^“Owner” has a value/],
    [errorOf('VALIDATION_ERROR', 400, 'This text of the service'), ['name'], [], /nothing would change/],
    [errorOf('VERSION_CONFLICT', 412), ['name'], [], /Your text is kept/],
    [errorOf('FILE_NOT_FOUND', 404), ['name'], [], /was deleted/],
    [errorOf('HTTP_413', 413), ['name'], [], /more than the registry accepts/],
    [errorOf('UNAVAILABLE', 503), ['name'], [], /at the moment/],
    [errorOf('UNKNOWN_OUTCOME', 503), ['name'], [], /not recorded twice/],
    [errorOf('NEW_CODE', 409), ['name'], [], /\(NEW_CODE\)/],
    [new ui.FieldError({ name: 'own text', meta: undefined }), ['name'], ['name', 'meta'], /own text/],
    // A form without the field shows it above.
    [new ui.FieldError({ share: 'own text' }), ['name'], [], /own text/],
  ] as const) {
    assert.deepEqual(Object.keys(ui.problemsOf(error, names)), problems)
    const said = [ui.messageOf(error)].flat().join(' ')
    assert.match(said, message)
    assert.doesNotMatch(said, /of the service/)
  }
})

it('a value that the client does not send is an error of its field', async () => {
  const ui = await loadModule()
  const baseUrl = 'http://localhost:1'
  for (const [field, said, send] of [
    [
      'externalId',
      /^An external id cannot be/,
      async () => createClient({ baseUrl, companyId: 'acme' }).getPublicStatus({ externalId: '..' }),
    ],
    ['companyId', /^A company id has only/, async () => createClient({ baseUrl, companyId: '.' }).getOwnSourceSystem()],
    [
      'apiKey',
      /^A key has only/,
      async () => createClient({ baseUrl, companyId: 'acme', apiKey: 'ключ' }).getOwnSourceSystem(),
    ],
  ] as const) {
    const error: unknown = await send().then(
      () => assert.fail(),
      (failure: unknown) => failure,
    )
    assert.deepEqual(Object.keys(ui.problemsOf(error, ['companyId', 'externalId', 'apiKey'])), [field])
    assert.match(ui.messageOf(error), said)
  }
  assert.match(ui.messageOf(new TypeError('x is not a function')), /^Something went wrong in this page/)
  assert.match(ui.messageOf(new TypeError('Importing a module script failed.')), /^This part of the page cannot be/)
})

it('a write that failed may have been recorded, and a read was not', async () => {
  const ui = await loadModule()
  const mayBe = (method: string, status: number): boolean =>
    ui.mayBeRecorded(new ui.EvidenceRegistryError(`${method} /x: text`, { code: 'UNAVAILABLE', status }))
  assert.deepEqual([mayBe('POST', 503), mayBe('GET', 503), mayBe('POST', 409)], [true, false, false])
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createClient } from '../../../server/client/index.ts'
import { uiModule } from '../../support/ui-module.ts'

it('a value that the client does not send is an error of its field', async () => {
  const ui = await uiModule<{
    messageOf(error: unknown): string
    fieldOf(error: unknown, names: readonly string[]): string | undefined
  }>('failure.ts')
  const baseUrl = 'http://localhost:1'
  for (const [field, send] of [
    ['externalId', async () => createClient({ baseUrl, companyId: 'acme' }).getPublicStatus({ externalId: '..' })],
    ['companyId', async () => createClient({ baseUrl, companyId: '.' }).getOwnSourceSystem()],
    ['apiKey', async () => createClient({ baseUrl, companyId: 'acme', apiKey: 'ключ' }).getOwnSourceSystem()],
  ] as const) {
    const error: unknown = await send().then(
      () => assert.fail(),
      (failure: unknown) => failure,
    )
    assert.equal(ui.fieldOf(error, ['companyId', 'externalId', 'apiKey']), field)
    assert.match(ui.messageOf(error), new RegExp(`^${field} must not `))
  }
  assert.match(ui.messageOf(new TypeError('x is not a function')), /^Something went wrong in this page/)
})

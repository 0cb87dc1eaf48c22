import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import type { Page } from 'playwright-core'
import { BASE_PATH } from '../../../server/index.ts'
import { describeInChromium, openPage } from '../../support/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_KEY, startService } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** The one operation of the test that needs no key. */
const PUBLIC_PATH = '/merkle/validate'

/**
 * Clicks FILL EXAMPLE and TRY of an operation. Path parameters that have no example get these values. Returns false,
 * and clicks nothing, while the page has not shown these buttons, or has not given the key to the operation: it forgets
 * a key that is set before it has read the whole document.
 */
const fillAndTry = ([method, path, ids]: readonly [string, string, object]): string => `(() => {
  const viewer = document.querySelector('rapi-doc')
  const requests = [...viewer.shadowRoot.querySelectorAll('api-request')]
  const request = requests.find((each) => each.method === '${method}' && each.path === '${path}')
  const hasKey = request.api_keys.some(({ finalKeyValue }) => finalKeyValue === '${OPERATOR_KEY}')
  if ('${path}' !== '${PUBLIC_PATH}' && !hasKey) {
    viewer.setApiKey('apiKey', '${OPERATOR_KEY}')
    return false
  }
  const operation = request.shadowRoot
  const buttonOf = (label) =>
    [...operation.querySelectorAll('button')].find((button) => button.textContent.trim().toUpperCase() === label)
  if (!buttonOf('FILL EXAMPLE') || !buttonOf('TRY')) return false
  buttonOf('FILL EXAMPLE').click()
  for (const [name, value] of Object.entries(${JSON.stringify(ids)})) {
    const input = operation.querySelector(\`[data-ptype='path'][data-pname='\${name}']\`)
    if (input) input.value = value
  }
  buttonOf('TRY').click()
  return true
})()`

/** Chooses JSON for an operation, instead of its form. Returns false until the page shows no fields. */
const chooseJson = ([method, path]: readonly [string, string]): string => `(() => {
  const requests = [...document.querySelector('rapi-doc').shadowRoot.querySelectorAll('api-request')]
  const operation = requests.find((each) => each.method === '${method}' && each.path === '${path}').shadowRoot
  const choice = operation.querySelector('.request-body-container select')
  if (choice === null) return false
  if (choice.value !== 'application/json') {
    choice.value = 'application/json'
    choice.dispatchEvent(new Event('change'))
  }
  return operation.querySelector("[data-ptype='form-data'][data-pname='externalId']") === null
})()`

/** Whether the page shows the operations. */
const IS_SHOWN = `document.querySelector('rapi-doc')?.shadowRoot?.querySelectorAll('api-request').length > 20`

describeInChromium('the API page in Chromium', (browser) => {
  let page: Page
  const service = ofSuite(() => startService({ publicUrl: undefined }))
  before(async () => {
    page = await openPage(browser())
    await page.goto(`${service().url}/docs`)
    await eventually(() => page.evaluate<boolean>(IS_SHOWN))
  })

  it('shows every operation except HEAD', async () => {
    const methods = await page.evaluate<readonly string[]>(
      `[...document.querySelector('rapi-doc').shadowRoot.querySelectorAll('api-request')].map(({ method }) => method)`,
    )
    assert.deepEqual([...new Set(methods)].toSorted(), ['delete', 'get', 'patch', 'post', 'put'])
  })

  it('fills in examples that work when they are sent in order', async () => {
    const ids: Record<string, string> = {}
    const category = '/evidences/{COMPANY_ID}/category'
    const steps = [
      ['post', '/sourceSystem/{COMPANY_ID}', 201, 'SYSTEM_ID'],
      ['post', category, 201, 'CATEGORY_ID'],
      ['put', `${category}/{CATEGORY_ID}`, 200, undefined],
      ['post', `${category}/{CATEGORY_ID}/subcategory`, 201, 'SUBCATEGORY_ID'],
      ['post', '/evidences/{COMPANY_ID}/evidence', 201, undefined],
      ['post', `${category}/{CATEGORY_ID}/subcategory/{SUBCATEGORY_ID}/evidences`, 201, undefined],
      ['put', '/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}', 200, undefined],
      ['get', '/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}', 200, undefined],
      ['patch', '/sourceSystem/{COMPANY_ID}/{SYSTEM_ID}', 200, undefined],
      ['post', PUBLIC_PATH, 200, undefined],
      ['post', `${category}/{CATEGORY_ID}/subcategory/{SUBCATEGORY_ID}/evidences`, 201, undefined, 'json'],
    ] as const
    for (const [method, path, status, created, json] of steps) {
      if (json !== undefined) await eventually(() => page.evaluate<boolean>(chooseJson([method, path])))
      const answered = page.waitForResponse(
        (response) => response.url().includes(BASE_PATH) && response.request().method().toLowerCase() === method,
      )
      await eventually(() => page.evaluate<boolean>(fillAndTry([method, path, ids])))
      const response = await answered
      assert.equal(response.status(), status, `${method} ${path}: ${await response.text()}`)
      if (created !== undefined) ids[created] = ((await response.json()) as { readonly id: string }).id
    }
  })
})

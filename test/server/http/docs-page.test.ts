import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { chromium, type Browser, type Page } from 'playwright-core'
import { BASE_PATH } from '../../../server/index.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_KEY, startService, type Service } from '../../support/service.ts'

const CHROMIUM = '/usr/bin/chromium'
/** Only ends a page that hangs. */
const TIMEOUT_MS = 300_000

/** Clicks FILL EXAMPLE and TRY of an operation. Path parameters that have no example get these values. */
const fillAndTry = ([method, path, ids]: readonly [string, string, object]): string => `(async () => {
  const requests = [...document.querySelector('rapi-doc').shadowRoot.querySelectorAll('api-request')]
  const operation = requests.find((each) => each.method === '${method}' && each.path === '${path}').shadowRoot
  const click = (label) =>
    [...operation.querySelectorAll('button')].find((button) => button.textContent.trim().toUpperCase() === label).click()
  click('FILL EXAMPLE')
  for (const [name, value] of Object.entries(${JSON.stringify(ids)})) {
    const input = operation.querySelector(\`[data-ptype='path'][data-pname='\${name}']\`)
    if (input) input.value = value
  }
  click('TRY')
})()`

/** Sets the key once all operations are shown, and returns whether they have it: they get it a little later. */
const setKey = (key: string): string => `(() => {
  const viewer = document.querySelector('rapi-doc')
  const requests = [...(viewer?.shadowRoot?.querySelectorAll('api-request') ?? [])]
  if (requests.length <= 20) return false
  if (requests.some(({ api_keys }) => api_keys?.some(({ finalKeyValue }) => finalKeyValue === '${key}'))) return true
  viewer.setApiKey('apiKey', '${key}')
  return false
})()`

describe('the API page in Chromium', { skip: existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing` }, () => {
  let service: Service
  let browser: Browser
  let page: Page
  before(async () => {
    service = await startService({ publicUrl: () => service.url })
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
    page = await browser.newPage()
    page.setDefaultTimeout(TIMEOUT_MS)
    await page.goto(`${service.url}/docs`)
    // Not `waitForFunction`: it polls by `eval`, which the page's policy forbids.
    await eventually(() => page.evaluate<boolean>(setKey(OPERATOR_KEY)))
  })
  after(async () => {
    await browser.close()
    await service.close()
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
      ['post', '/merkle/validate', 200, undefined],
    ] as const
    for (const [method, path, status, created] of steps) {
      const answered = page.waitForResponse(
        (response) => response.url().includes(BASE_PATH) && response.request().method().toLowerCase() === method,
      )
      await page.evaluate(fillAndTry([method, path, ids]))
      const response = await answered
      assert.equal(response.status(), status, `${method} ${path}: ${await response.text()}`)
      if (created !== undefined) ids[created] = ((await response.json()) as { readonly id: string }).id
    }
  })
})

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium, type Browser, type Locator, type Page } from 'playwright-core'
import type { EvidenceListItem } from '../../../server/client/index.ts'
import { verifyBundle } from '../../../core/verify/index.ts'
import { OPERATOR_KEY, startService, type Company, type Service, type ServiceResponse } from '../../support/service.ts'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
]
/** Only ends a page that hangs. */
const TIMEOUT_MS = 120_000
const MANY_EVIDENCES = 1_500
/** For any number of rows: those that are visible, and some around them. */
const MAX_ROWS = 80
/** `--row-height` in tokens.css. */
const ROW_PX = 44

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A 1×1 PNG. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('the dashboard in Chromium', { skip: existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing` }, () => {
  let service: Service
  let company: Company
  let browser: Browser
  let page: Page
  /** Everything that the browser reports as an error. A test fails if there is any. */
  let problems: string[]

  before(async () => {
    service = await startService({ publicUrl: () => service.url })
    company = await service.company('acme')
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  })
  after(async () => {
    await browser.close()
    await service.close()
  })
  beforeEach(async () => {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1200, height: 900 } })
    page = await context.newPage()
    page.setDefaultTimeout(TIMEOUT_MS)
    problems = []
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      // Chromium reports each response with an error status, also those that the page handles.
      const isStatus = message.text().startsWith('Failed to load resource')
      if (message.type() === 'error' && !isStatus) problems.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !/^(?:data|blob|file):/.test(request.url()))
        problems.push(`a request to ${request.url()}`)
    })
  })
  afterEach(async () => {
    await page.context().close()
    assert.deepEqual(problems, [])
  })

  async function signIn(key: string, target = ''): Promise<void> {
    await page.goto(`${service.url}/ui/${target}`)
    await page.getByLabel('Company').fill('acme')
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  /** Runs axe in the page. */
  async function assertAccessible(): Promise<void> {
    const violations = await page.evaluate<readonly string[]>(
      `${axe};axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
    )
    assert.deepEqual(violations, [])
  }

  const CAR = { categoryName: 'Vehicles', subcategoryName: 'Cars', name: 'Golf' }

  async function createEvidence(externalId: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...CAR, externalId, ...fields })) form.set(name, value)
    form.append('images.items', new Blob(['hello\n'], { type: 'text/plain' }), 'hello.txt')
    const params = { COMPANY_ID: company.id }
    return (await service.ok('createEvidence', { key: company.keys.U, params, form })).id as string
  }

  const proofOf = (evidenceId: string): Promise<ServiceResponse['body']> =>
    service.ok('verifyEvidence', { params: { evidenceId } })

  it('shows what to do about a wrong key', async () => {
    await signIn('not-a-key-of-this-company')
    await page.getByRole('alert').getByText('The API key is wrong').waitFor()
    await assertAccessible()
  })

  it('lists the companies for the operator key, and creates a source system whose key works', async () => {
    await page.goto(`${service.url}/ui/#/sign-in`)
    await page.getByLabel('API key').fill(OPERATOR_KEY)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'acme' }).click()
    await page.getByRole('heading', { name: 'Source Systems' }).waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'Create a source system' }).click()
    await page.getByLabel('Name').fill('scanner')
    await page.getByRole('dialog').getByRole('button', { name: 'Create a source system' }).click()
    const key = (await page.getByTestId('new-key').textContent()) ?? ''
    await page.getByRole('button', { name: 'Close' }).click()
    await service.ok('checkSourceSystem', { key, params: { COMPANY_ID: 'acme' } })

    await page.getByRole('button', { name: 'Rotate key: scanner' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click()
    const rotated = (await page.getByTestId('new-key').textContent()) ?? ''
    await page.getByRole('button', { name: 'Close' }).click()
    assert.notEqual(rotated, key)
    for (const each of [key, rotated])
      await service.ok('checkSourceSystem', { key: each, params: { COMPANY_ID: 'acme' } })

    await page.getByRole('button', { name: 'Deactivate: scanner' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
    await page.getByRole('button', { name: 'Reactivate: scanner' }).waitFor()
    const denied = await service.call('checkSourceSystem', { key: rotated, params: { COMPANY_ID: 'acme' } })
    assert.equal(denied.status, 401)
    await page.getByRole('cell', { name: 'key rotated' }).first().waitFor()
  })

  it('shows the message of the API at the field', async () => {
    await signIn(company.keys.A, '#/source-systems')
    await page.getByRole('button', { name: 'Create a source system' }).click()
    await page.getByLabel('Name').fill('A')
    await page.getByRole('dialog').getByRole('button', { name: 'Create a source system' }).click()
    await page.locator('.field', { hasText: 'Name' }).locator('.problem:not(:empty)').waitFor()
    assert.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('keeps the key in memory only, unless the user says so', async () => {
    await signIn(company.keys.R)
    await page.getByRole('heading', { name: 'Evidences' }).waitFor()
    assert.equal(await page.evaluate('sessionStorage.length + localStorage.length'), 0)
    assert.ok(!page.url().includes(company.keys.R))
    await page.reload()
    await page.getByLabel('Company').fill('acme')
    await page.getByLabel('API key').fill(company.keys.R)
    await page.getByLabel('Remember').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Evidences' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Evidences' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
  })

  it('works with the keyboard alone', async () => {
    const press = (key: string): Promise<void> => page.keyboard.press(key)
    await page.goto(`${service.url}/ui/#/sign-in`)
    await page.getByLabel('API key').waitFor()
    await press('Tab')
    await page.locator('a:focus', { hasText: 'Skip to the content' }).waitFor()
    await press('Enter')
    await page.locator('main:focus').waitFor()
    await press('Tab')
    await page.keyboard.type('acme')
    await press('Tab')
    await page.keyboard.type(company.keys.A)
    await press('Enter')
    await page.getByRole('heading', { name: 'Evidences' }).waitFor()
    await page.evaluate("location.hash = '#/source-systems'")
    await page.getByRole('heading', { name: 'Source Systems' }).waitFor()
    await page.locator('main:focus').waitFor()
    await press('Tab')
    const opener = page.locator('button:focus', { hasText: 'Create a source system' })
    await opener.waitFor()
    await press('Enter')
    await page.getByRole('dialog').locator('input:focus').waitFor()
    await press('Escape')
    await opener.waitFor()
  })

  it('creates, updates and transfers an evidence, and shows its history until it is confirmed', async () => {
    await signIn(company.keys.U, '#/new-evidence')
    await page.getByLabel('Category', { exact: true }).fill('Vehicles')
    await page.getByLabel('Subcategory').fill('Cars')
    await page.getByLabel('External id').fill('VIN/1 ü')
    await page.getByLabel('Name').fill('<b>Golf</b>')
    await page.getByLabel('Image').setInputFiles({ name: 'car.png', mimeType: 'image/png', buffer: PIXEL })
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: '<b>Golf</b>' }).waitFor()
    await page.getByRole('img', { name: '<b>Golf</b>' }).first().waitFor()
    await page.getByText('C · Confirmed').waitFor()
    await assertAccessible()

    await page.getByRole('link', { name: 'Update' }).click()
    await page.getByLabel('Metadata').fill('not JSON')
    await page.getByRole('button', { name: 'Record the update' }).click()
    await page.getByText('Metadata must be a JSON object').waitFor()
    await page.getByLabel('Metadata').fill('{"color":"red"}')
    await page.getByRole('button', { name: 'Record the update' }).click()
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.getByRole('table', { name: 'What this event changed' }).getByText('red').waitFor()

    await page.getByRole('link', { name: 'Transfer' }).click()
    await page.getByLabel('New owner').fill('Grace')
    await page.getByRole('button', { name: 'Record the transfer' }).click()
    await page.getByText('Transferred', { exact: true }).waitFor()
    await page.locator('ins', { hasText: 'Grace' }).waitFor()

    await page
      .getByLabel('Attach files')
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
    await page.getByRole('button', { name: 'Delete: a.txt' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('File deleted', { exact: true }).waitFor()
  })

  it('keeps the page small while a long list is scrolled', async () => {
    const { id: categoryId } = await service.ok('createCategory', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme' },
      json: { name: 'Many' },
    })
    const { id: subcategoryId } = await service.ok('createSubcategory', {
      key: company.keys.U,
      params: { COMPANY_ID: 'acme', CATEGORY_ID: categoryId },
      json: { name: 'Rows' },
    })
    for (let first = 0; first < MANY_EVIDENCES; first += 500) {
      const form = new FormData()
      const evidences = Array.from({ length: 500 }, (_, i) => ({ externalId: `row-${first + i}`, name: 'Row' }))
      form.set('evidences', JSON.stringify(evidences))
      const params = { COMPANY_ID: 'acme', CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId }
      await service.ok('createEvidences', { key: company.keys.U, params, form })
    }
    await signIn(company.keys.R, `#/evidences?categoryId=${categoryId}`)
    const table = page.getByRole('region', { name: 'Evidences' })
    // The newest is first, so the row with the number 400 is the 1,100th.
    const target = page.getByRole('link', { name: 'row-400', exact: true })
    await page.getByRole('link', { name: 'row-1499', exact: true }).waitFor()
    while (!(await target.isVisible())) await scrollOn(table)
    await assertAccessible()
  })

  it('keeps the page small while 1,000 rows of a million are scrolled', async () => {
    // A stand-in for the service: a real list of this length takes minutes to make.
    const item = (row: number): EvidenceListItem => ({
      id: `${row}`,
      externalId: `row-${row}`,
      name: 'Row',
      creationDate: '2026-01-01T00:00:00.000Z',
      owner: { name: 'Ada' },
      historyChanges: { create: 1, update: 0, transfer: 0, total: 1 },
      categoryId: 'c',
      subcategoryId: 's',
      txId: 'ab'.repeat(32),
      lastUpdateDate: '2026-01-01T00:00:00.000Z',
      lastUpdateTxId: 'ab'.repeat(32),
      iconId: null,
      stolen: false,
    })
    await page.route('**/evidences/acme/evidences?*', async (route) => {
      const { searchParams } = new URL(route.request().url())
      const lastRow = Number(searchParams.get('last') ?? 1_000_000)
      const dts = Array.from({ length: Number(searchParams.get('len')) }, (_, i) => item(lastRow - 1 - i))
      await route.fulfill({ json: { dts, count: 1_000_000, isMore: true } })
    })
    await signIn(company.keys.R)
    await page.getByText('1,000,000 evidences').waitFor()
    const table = page.getByRole('region', { name: 'Evidences' })
    let topRow = 0
    while (topRow < 1_000) topRow = await scrollOn(table)
  })

  /** Scrolls by one page, and waits for its first row. Returns the number of this row. */
  async function scrollOn(table: Locator): Promise<number> {
    const topRow = await table.evaluate((element: { scrollTop: number; clientHeight: number }, rowPx) => {
      element.scrollTop += element.clientHeight
      // The header is row 1.
      return Math.floor(element.scrollTop / rowPx) + 2
    }, ROW_PX)
    await page.locator(`[aria-rowindex="${topRow}"]`).waitFor({ state: 'attached' })
    const rows = await page.getByRole('row').count()
    assert.ok(rows <= MAX_ROWS, `${rows} rows are in the page`)
    return topRow
  }

  it('verifies the public proof of an evidence step by step, without a key', async () => {
    const id = await createEvidence('verify-1')
    const params = { evidenceId: id }
    await service.until(
      async () => (await service.ok('verifyEvidence', { params })).merkle?.sendStatus === 'C',
      'the evidence is confirmed',
    )
    await page.goto(`${service.url}/ui/#/verify/${id}`)
    await page.getByText('Consistent, but checked only').waitFor()
    const content = { name: 'hello.txt', mimeType: 'text/plain', buffer: Buffer.from('hello\n') }
    await page.getByLabel('or choose them').setInputFiles(content)
    await page.getByText('hello.txt could not be compared').waitFor()
    await page.getByText('Consistent, but checked only').waitFor()
    for (const step of ['A pinned key of the log signed the tree', 'A timestamp authority stamped the tree'])
      await page.locator('li', { hasText: step }).getByText('ok', { exact: true }).waitFor()
    const policy = Buffer.from(await (await service.fetch('/api/v1/log/policy')).text())
    await page
      .getByLabel('Policy that you trust')
      .setInputFiles({ name: 'p.json', mimeType: 'application/json', buffer: policy })
    await page.getByText('Proven', { exact: true }).waitFor()
    await assertAccessible()
  })

  it('compares a file with a bundle in the browser, and finds a changed bundle', async () => {
    const id = await createEvidence('verify-2')
    const params = { evidenceId: id }
    await service.until(async () => (await service.ok('verifyEvidence', { params })).status === 'ok', 'it is sealed')
    const path = `/api/v1/evidences/acme/evidence/verify-2/bundle?fields=all&files=all`
    const bundle = await (await service.fetch(path, { headers: { 'x-api-key': company.keys.R } })).text()
    const file = (name: string, content: string) => ({
      name,
      mimeType: name.endsWith('.json') ? 'application/json' : 'text/plain',
      buffer: Buffer.from(content),
    })
    await page.goto(`${service.url}/ui/#/verify`)
    const input = page.getByLabel('or choose them')
    await input.setInputFiles([file('proof.json', bundle), file('hello.txt', 'hello\n')])
    await page.getByText('hello.txt has the hash').waitFor()
    await input.setInputFiles([file('other.txt', 'other')])
    await page.getByText('other.txt is not among the files').waitFor()
    await page.getByText('Not proven', { exact: true }).waitFor()
    await page.reload()
    await input.setInputFiles([file('proof.json', bundle.replace('Golf', 'Gulf'))])
    await page.getByText('Not proven', { exact: true }).waitFor()
  })

  it('downloads a bundle that discloses only what was chosen, and verifies it when it is dropped', async () => {
    const id = await createEvidence('choice-1', { owner: 'Ada', description: 'private' })
    await service.until(async () => (await proofOf(id)).status === 'ok', 'it is sealed')
    await signIn(company.keys.R, '#/evidences/choice-1')
    await page.getByRole('button', { name: 'Download proof' }).click()
    const groups = page.getByRole('dialog').getByRole('group')
    // They are shown together, when the choices are loaded. `all` does not wait for that.
    await groups.first().waitFor()
    for (const group of await groups.all()) await group.getByRole('button', { name: 'None' }).click()
    await page.getByLabel('Owner').check()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('button', { name: 'Download' }).click(),
    ])
    const bundle = await readFile(await download.path(), 'utf8')
    const result = verifyBundle(bundle)
    assert.ok(result.state === 'unpinned')
    const [event] = result.claims.events
    assert.deepEqual([[...(event?.fields ?? [])], event?.files.size], [[['owner', 'Ada']], 0])

    await page.goto(`${service.url}/ui/#/verify`)
    const file = `new File([${JSON.stringify(bundle)}], 'choice.json')`
    const dataTransfer = await page.evaluateHandle(
      `{ const transfer = new DataTransfer(); transfer.items.add(${file}); transfer }`,
    )
    await page.getByText('Drop a proof').dispatchEvent('drop', { dataTransfer })
    await page.getByText('Consistent, but checked only').waitFor()
    await page.getByRole('definition').filter({ hasText: /^Ada$/ }).waitFor()
    assert.equal(await page.getByText('private').count(), 0)
  })

  it('verifies a bundle in the saved page, without the server', async () => {
    const id = await createEvidence('saved-1')
    const params = { evidenceId: id }
    await service.until(async () => (await service.ok('verifyEvidence', { params })).status === 'ok', 'it is sealed')
    const bundle = await (await service.fetch(`/api/v1/merkle/verify/${id}?format=bundle`)).text()
    const directory = await mkdtemp(join(tmpdir(), 'evidence-page-'))
    try {
      const path = join(directory, 'verify.html')
      await writeFile(path, await (await service.fetch('/ui/verify.html')).text())
      await page.goto(pathToFileURL(path).href)
      const file = { name: 'proof.json', mimeType: 'application/json', buffer: Buffer.from(bundle) }
      await page.getByLabel('or choose them').setInputFiles(file)
      await page.getByText('Consistent, but checked only').waitFor()
      await assertAccessible()
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })

  it('shows the log: batches, plots, and the path of a transaction in the tree', async () => {
    const id = await createEvidence('log-1')
    await service.until(async () => (await proofOf(id)).merkle?.sendStatus === 'C', 'the evidence is confirmed')
    const { txId, merkle } = await proofOf(id)
    await page.goto(`${service.url}/ui/#/log`)
    await page.getByText('Newest checkpoint').waitFor()
    for (const name of [/^Growth: from 0 to /, /^Anchor lag: /]) await page.getByRole('img', { name }).waitFor()
    const row = page.getByRole('row').filter({ has: page.getByTitle(merkle.merkleRoot) })
    await row.getByText('C · Confirmed').waitFor()
    await page.getByLabel('txId').fill(txId)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { name: 'Path from the leaf to the root' }).waitFor()
    const nodes = (role: string): Promise<number> => page.locator(`.proof-tree .node.${role}`).count()
    assert.deepEqual([await nodes('path'), await nodes('sibling')], [merkle.proof.length + 1, merkle.proof.length])
    await assertAccessible()
  })

  it('creates, deactivates, activates and removes a category', async () => {
    await signIn(company.keys.U, '#/categories')
    await page.getByRole('button', { name: 'Create a category' }).click()
    await page.getByLabel('Name').fill('Boats')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Deactivate: Boats' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
    await page.getByRole('button', { name: 'Activate: Boats', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('button', { name: 'Deactivate: Boats' }).waitFor()
    await page.getByRole('button', { name: 'Remove: Boats' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    // The dialog is still open until the service has answered. Its title and the item both contain the name.
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove: Boats', exact: true }).waitFor({ state: 'detached' })
    await assertAccessible()
  })

  it('prints a certificate on at most two sheets, with content in any script', async () => {
    const name = 'سيارة تويوتا كورولا'
    const id = await createEvidence('هيكل-٠٠١', { name, owner: 'Łukasz Żółć', description: 'حمراء اللون' })
    await service.until(async () => (await proofOf(id)).merkle?.sendStatus === 'C', 'the evidence is confirmed')
    await page.goto(`${service.url}/ui/#/certificate/${id}`)
    await page.getByRole('heading', { name: 'Certificate of registration' }).waitFor()
    await page.getByText((await proofOf(id)).txId).waitFor()
    assert.equal(await page.getByText(name).count(), 0, 'without a key, only the public proof is shown')
    await signIn(company.keys.R)
    await page.getByRole('link', { name: 'هيكل-٠٠١' }).click()
    await page.getByRole('link', { name: 'Certificate' }).click()
    await page.getByRole('heading', { name: 'What was registered' }).waitFor()
    await page.getByText(name).waitFor()
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor()
    const pdf = (await page.pdf({ format: 'A4', preferCSSPageSize: true })).toString('latin1')
    const sheets = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0
    assert.ok(sheets >= 1 && sheets <= 2, `${sheets} sheets`)
    await assertAccessible()
  })

  for (const [width, colorScheme] of [
    [1_200, 'light'],
    [1_200, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)
    it(`is accessible and not wider than the window at ${width} pixels, ${colorScheme}`, async () => {
      const id = await createEvidence(`page-${width}-${colorScheme}`)
      await service.until(async () => (await proofOf(id)).merkle?.sendStatus === 'C', 'the evidence is confirmed')
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      const externalId = `page-${width}-${colorScheme}`
      await page.goto(`${service.url}/ui/#/sign-in`)
      await page.getByLabel('API key').waitFor()
      await assertFits()
      await page.goto(`${service.url}/ui/#/verify/${id}`)
      await page.getByRole('heading', { name: 'Result' }).waitFor()
      await assertFits()
      await signIn(company.keys.A)
      for (const [fragment, heading, visible] of [
        ['evidences', 'Evidences', externalId],
        [`evidences/${externalId}`, 'Golf', 'C · Confirmed'],
        [`evidences/${externalId}/update`, `Update ${externalId}`, 'Record the update'],
        [`evidences/${externalId}/transfer`, `Transfer ${externalId}`, 'Record the transfer'],
        ['new-evidence', 'Create an evidence', 'Create'],
        ['categories', 'Categories', 'Vehicles'],
        ['source-systems', 'Source Systems', 'created'],
        ['log', 'The log', 'C · Confirmed'],
        [`certificate/${id}/${externalId}`, 'Certificate of registration', 'What was registered'],
        ['no-such-page', 'There is no page at this address.', 'Go to the evidences'],
      ] as const) {
        await page.evaluate(`location.hash = ${JSON.stringify(`#/${fragment}`)}`)
        await page.getByRole('heading', { name: heading, exact: true }).waitFor()
        await page.getByText(visible, { exact: true }).first().waitFor()
        await assertFits()
      }
      await page.evaluate(`location.hash = ${JSON.stringify(`#/evidences/${externalId}`)}`)
      for (const dialog of ['Download proof', 'Share']) {
        await page.getByRole('button', { name: dialog, exact: true }).click()
        await page.getByRole('dialog', { name: dialog }).waitFor()
        await assertFits()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    })

  /** The page has no violation of accessibility, and needs no horizontal scrolling. */
  async function assertFits(): Promise<void> {
    await assertAccessible()
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(excess <= 0, `${page.url()} is ${excess} pixels wider than the window`)
  }
})

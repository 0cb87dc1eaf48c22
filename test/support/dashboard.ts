import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before, beforeEach, it as nodeIt, type TestContext } from 'node:test'
import type { Browser, Locator, Page, Route } from 'playwright-core'
import { OPERATOR, type Evidences } from '../../core/index.ts'
import { describeInChromium, openPage } from './chromium.ts'
import { present } from './present.ts'
import { startService, type CallOptions, type Company, type Service, type ServiceResponse } from './service.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The category and the name of the evidences that tests create. */
const CAR = { categoryName: 'Vehicles', subcategoryName: 'Cars', name: 'Golf' }

/** The operator in the company of a suite. */
export const SCOPE = { companyId: 'acme', principal: OPERATOR }

/** A 1×1 PNG. */
export const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Where an element is looked for. */
type Scope = Page | Locator

// Names are exact, so that a locator never matches two elements, for example while a dialog closes.
export const button = (scope: Scope, name: string): Locator => scope.getByRole('button', { name, exact: true })
export const link = (scope: Scope, name: string): Locator => scope.getByRole('link', { name, exact: true })
export const heading = (scope: Scope, name: string): Locator => scope.getByRole('heading', { name, exact: true })
export const field = (scope: Scope, label: string): Locator => scope.getByLabel(label, { exact: true })
export const text = (scope: Scope, content: string): Locator => scope.getByText(content, { exact: true })
export const dialog = (page: Page, title: string): Locator => page.getByRole('dialog', { name: title, exact: true })

/** What to type into fields, by their labels. */
type Values = Readonly<Record<string, string>>

export async function fill(scope: Scope, values: Values): Promise<void> {
  for (const [label, value] of Object.entries(values)) await field(scope, label).fill(value)
}

/** A text file for a file input. */
export const textFile = (name: string, content: string) => ({
  name,
  mimeType: name.endsWith('.json') ? 'application/json' : 'text/plain',
  buffer: Buffer.from(content),
})

/** As `it` of `node:test`, for a test that gets the page and what else the suite has. */
type DashboardIt = (name: string, test: (dashboard: Dashboard, t: TestContext) => Promise<void>) => void

/**
 * A suite of tests in Chromium. It has a service with the company `acme`, and a new page for each test. A test fails
 * if the browser reports an error, or requests anything of another server.
 */
export function describeDashboard(title: string, define: (it: DashboardIt, dashboard: Dashboard) => void): void {
  describeInChromium(title, (browser) => {
    const dashboard = new Dashboard()
    before(() => dashboard.start(browser()))
    after(() => dashboard.stop())
    beforeEach(() => dashboard.openPage())
    afterEach(() => dashboard.closePage())
    define((name, test) => void nodeIt(name, (t) => test(dashboard, t)), dashboard)
  })
}

/** What the tests of a suite share. Usable only inside of a test. */
export class Dashboard {
  #browser: Browser | undefined
  #service: Service | undefined
  #company: Company | undefined
  #page: Page | undefined
  #problems: string[] = []

  get service(): Service {
    return present(this.#service)
  }
  get company(): Company {
    return present(this.#company)
  }
  get page(): Page {
    return present(this.#page)
  }

  async start(browser: Browser): Promise<void> {
    this.#browser = browser
    this.#service = await startService({ publicUrl: undefined })
    this.#company = await this.service.company('acme')
  }

  async stop(): Promise<void> {
    await this.#service?.close()
  }

  async openPage(): Promise<void> {
    const page = await openPage(present(this.#browser), { locale: 'en-US', viewport: { width: 1200, height: 900 } })
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      // Chromium reports each response with an error status, also those that the page handles.
      const isStatus = message.text().startsWith('Failed to load resource')
      if (message.type() === 'error' && !isStatus) problems.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(this.service.url) && !/^(?:data|blob|file):/.test(request.url()))
        problems.push(`a request to ${request.url()}`)
    })
    this.#page = page
    this.#problems = problems
  }

  async closePage(): Promise<void> {
    // A route may still wait for its page.
    await this.page.unrouteAll({ behavior: 'ignoreErrors' })
    await this.page.context().close()
    assert.deepEqual(this.#problems, [])
  }

  /** The address of a page, such as `#/log`. */
  urlOf(fragment: string): string {
    return `${this.service.url}/ui/${fragment}`
  }

  async signIn(key: string, fragment = '', company = 'acme'): Promise<void> {
    await this.page.goto(this.urlOf(fragment))
    await this.fillSignIn(key, company)
    await button(this.page, 'Sign in').click()
  }

  async fillSignIn(key: string, company = 'acme'): Promise<void> {
    await field(this.page, 'Company').fill(company)
    await field(this.page, 'API key').fill(key)
  }

  /** Loads the page again, which forgets the key, and signs in. */
  async signInAgain(key: string): Promise<void> {
    await this.page.reload()
    await this.fillSignIn(key)
    await button(this.page, 'Sign in').click()
  }

  /**
   * Clicks a button, and waits for the dialog that it opens, which must be accessible. Then fills in fields of it, by
   * their labels.
   */
  async open(name: string, title = name, values: Values = {}): Promise<Locator> {
    await button(this.page, name).click()
    return this.#opened(title, values)
  }

  /** As `open`, with an item of the menu of a row. */
  async choose(row: string, item: string, title: string, values: Values = {}): Promise<Locator> {
    await button(this.page, `Actions for ${row}`).click()
    await this.page
      .locator('.menu:popover-open')
      .getByRole('button', { name: new RegExp(`^${item}`) })
      .click()
    return this.#opened(title, values)
  }

  async #opened(title: string, values: Values): Promise<Locator> {
    const opened = dialog(this.page, title)
    await opened.waitFor()
    await this.assertAccessible()
    await fill(opened, values)
    return opened
  }

  /** Clicks a button of a dialog, and waits until the dialog is closed. */
  async confirm(opened: Locator, name: string): Promise<void> {
    await button(opened, name).click()
    await opened.waitFor({ state: 'detached' })
  }

  /** Clicks a button, and returns the path of the file that the browser saves. */
  async download(scope: Scope, name: string): Promise<string> {
    const [saved] = await Promise.all([this.page.waitForEvent('download'), button(scope, name).click()])
    return saved.path()
  }

  /** Gives the responses from an address other bodies. */
  async change(url: string, edit: (body: string) => string): Promise<void> {
    await this.page.route(url, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: edit(await response.text()) })
    })
  }

  /** As `change`, for JSON. */
  changeJson<T>(url: string, edit: (body: T) => object): Promise<void> {
    return this.change(url, (body) => JSON.stringify(edit(JSON.parse(body) as T)))
  }

  /** The service handles the next request to an address, and its response is lost. */
  async loseNext(url: string): Promise<void> {
    const lose = async (route: Route): Promise<void> => {
      await route.fetch()
      await route.abort()
    }
    await this.page.route(url, lose, { times: 1 })
  }

  /** Holds requests of the page back until the function that it returns is called. */
  async hold(url: string): Promise<() => void> {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await this.page.route(url, async (route) => {
      await released
      await route.continue()
    })
    return release
  }

  /** Runs axe in the page. A document is given its source once, which takes longer than a run. */
  async assertAccessible(): Promise<void> {
    if (!(await this.page.evaluate('"axe" in window'))) await this.page.evaluate(`${axe};0`)
    const violations = await this.page.evaluate<readonly string[]>(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
    )
    assert.deepEqual(violations, [])
  }

  /** A phone, to which a dialog is a sheet from below. */
  usePhone(): Promise<void> {
    return this.page.setViewportSize({ width: 390, height: 844 })
  }

  /** A request of the company, with its key that may update unless the options have another one. */
  ok(id: string, { params, ...options }: CallOptions = {}): Promise<ServiceResponse['body']> {
    const { id: COMPANY_ID, keys } = this.company
    return this.service.ok(id, { key: keys.U, ...options, params: { COMPANY_ID, ...params } })
  }

  /** Records events of an evidence. */
  async update(externalId: string, change: Parameters<Evidences['update']>[2]): Promise<void> {
    await this.service.registry.evidences.update(SCOPE, externalId, change)
  }

  /** Creates an evidence with one file, and returns its id. */
  async createEvidence(externalId: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...CAR, externalId, ...fields })) form.set(name, value)
    form.append('images.items', new Blob(['hello\n'], { type: 'text/plain' }), 'hello.txt')
    return (await this.ok('createEvidence', { form })).id as string
  }

  proofOf(evidenceId: string): Promise<ServiceResponse['body']> {
    return this.service.ok('verifyEvidence', { params: { evidenceId } })
  }

  /** As `createEvidence`, and waits until the evidence is sealed. */
  async createSealed(externalId: string, fields?: Readonly<Record<string, string>>): Promise<string> {
    const id = await this.createEvidence(externalId, fields)
    await this.service.until(async () => (await this.proofOf(id)).status === 'ok', 'the evidence is sealed')
    return id
  }

  /** As `createEvidence`, and waits until the evidence is stamped and its anchor confirmed. */
  async createConfirmed(externalId: string): Promise<string> {
    const id = await this.createEvidence(externalId)
    await this.untilConfirmed(id)
    return id
  }

  untilConfirmed(evidenceId: string): Promise<void> {
    const isConfirmed = async (): Promise<boolean> => {
      const { merkle, tsa } = await this.proofOf(evidenceId)
      return merkle?.sendStatus === 'C' && tsa !== undefined
    }
    return this.service.until(isConfirmed, 'the evidence is stamped and confirmed')
  }
}

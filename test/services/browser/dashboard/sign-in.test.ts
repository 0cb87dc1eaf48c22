import assert from 'node:assert/strict'
import { button, describeDashboard, dialog, field, heading, link, text } from '../../../support/dashboard.ts'
import { eventually } from '../../../support/eventually.ts'

describeDashboard('the sign-in page in Chromium', (it, dashboard) => {
  it('says what does not fit together, or is missing', async ({ page }) => {
    const { R: key } = dashboard.company.keys
    const wrong = page.getByText('Company and key do not fit together.')
    await dashboard.signIn('not-a-key-of-this-company')
    await wrong.waitFor()
    await dashboard.assertAccessible()
    await dashboard.fillSignIn(key, 'acne')
    assert.equal(await wrong.count(), 1)
    await button(page, 'Sign in').click()
    await field(page, 'API key').and(page.locator(':focus')).waitFor()
    await wrong.waitFor()
    for (const [apiKey, said] of [
      [key, 'Enter your company. Only the operator key works without one.'],
      ['', 'Enter the API key'],
    ] as const) {
      await dashboard.fillSignIn(apiKey, '')
      await button(page, 'Sign in').click()
      await text(page, said).waitFor()
      assert.equal(await wrong.count(), 0)
    }
  })

  it('is one line in the header of a phone', async ({ page }) => {
    await dashboard.usePhone()
    await page.goto(dashboard.urlOf('#/verify'))
    const [brand, ...links] = await Promise.all(
      ['Evidence Registry', 'Log', 'Verify', 'API', 'Sign in'].map((name) => link(page, name).boundingBox()),
    )
    assert.ok(brand && links.every((each) => each && each.y < brand.y + brand.height))
    const signIn = links.at(-1)
    assert.ok(signIn && signIn.height < 2 * brand.height)
  })

  it('keeps the key in memory only, unless the user says so', async ({ page }) => {
    const { R: key } = dashboard.company.keys
    await dashboard.signIn(key)
    await heading(page, 'Record a thing. Prove it later.').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length + localStorage.length'), 0)
    assert.ok(!page.url().includes(key))
    await page.reload()
    await dashboard.fillSignIn(key)
    await field(page, 'Remember the key until I close this tab').check()
    await button(page, 'Sign in').click()
    await heading(page, 'Record a thing. Prove it later.').waitFor()
    await page.reload()
    await heading(page, 'Record a thing. Prove it later.').waitFor()
    await button(page, 'Sign out').click()
    await field(page, 'API key').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
  })

  it('keeps the remembered key if the server cannot be reached, and forgets a wrong one', async ({ page }) => {
    const own = '**/sourceSystem/acme/self'
    const rememberKey = (apiKey: string): Promise<unknown> =>
      page.evaluate(`sessionStorage.setItem('evidence-registry.session', 'acme\\n${apiKey}')`)
    await page.goto(dashboard.urlOf(''))
    await rememberKey(dashboard.company.keys.R)
    await page.route(own, (route) => route.abort())
    await page.reload()
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor()
    await dashboard.assertAccessible()
    await page.unroute(own)
    await button(page, 'Try again').click()
    await heading(page, 'Record a thing. Prove it later.').waitFor()
    assert.equal(await page.getByText('The server cannot be reached').count(), 0)

    await rememberKey('not-a-key-of-this-company')
    await page.reload()
    await field(page, 'API key').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
  })

  it('gives a new tab the session of an open one, until all are signed out or closed', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.A)
    const start = 'Record a thing. Prove it later.'
    await heading(page, start).waitFor()
    const openTab = async (fragment: string) => {
      const opened = page.waitForEvent('popup')
      await page.evaluate(`void open(${JSON.stringify(dashboard.urlOf(fragment))})`)
      return opened
    }
    const second = await openTab('#/source-systems')
    await heading(second, 'Access').waitFor()
    assert.equal(await second.evaluate('sessionStorage.length + localStorage.length'), 0)
    await button(second, 'Sign out').click()
    for (const tab of [second, page, await openTab('')]) await field(tab, 'API key').waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await dashboard.fillSignIn(dashboard.company.keys.A)
    await button(page, 'Sign in').click()
    await heading(page, start).waitFor()
    await heading(await openTab(''), start).waitFor()
    for (const tab of page.context().pages()) if (tab !== page) await tab.close()
    await page.goto('about:blank')
    const last = await openTab('')
    await field(last, 'API key').waitFor()
    assert.equal(await heading(last, start).count(), 0)
  })

  it('fills in the company of a link, also if the page is open already', async ({ page }) => {
    await page.goto(dashboard.urlOf(''))
    await field(page, 'Company').fill('other')
    await page.goto(dashboard.urlOf('#/sign-in?company=demo'))
    await eventually(() => page.evaluate<boolean>(`document.querySelector('form input')?.value === 'demo'`))
  })

  it('works with the keyboard alone', async ({ page }) => {
    const press = (key: string): Promise<void> => page.keyboard.press(key)
    const hasFocus = (label: string): Promise<void> => field(page, label).and(page.locator('input:focus')).waitFor()
    await page.goto(dashboard.urlOf('#/sign-in'))
    await field(page, 'API key').waitFor()
    await press('Tab')
    await page.locator('a:focus', { hasText: 'Skip to the content' }).waitFor()
    await press('Enter')
    await page.locator('main:focus').waitFor()
    await press('Tab')
    await hasFocus('Company')
    await page.keyboard.type('acme')
    await press('Tab')
    await hasFocus('API key')
    await page.keyboard.type(dashboard.company.keys.A)
    await press('Enter')
    await heading(page, 'Record a thing. Prove it later.').waitFor()
    await page.evaluate("location.hash = '#/source-systems'")
    await heading(page, 'Access').waitFor()
    // The focus moves in the same step in which the page appears.
    await page.locator('main:focus').waitFor()
    await press('Tab')
    const opener = page.locator('button:focus', { hasText: 'New key' })
    await opener.waitFor()
    await press('Enter')
    await dialog(page, 'New key').locator('input:focus').waitFor()
    await press('Escape')
    await opener.waitFor()
  })
})

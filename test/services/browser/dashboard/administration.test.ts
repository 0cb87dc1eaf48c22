import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { button, describeDashboard, dialog, field, heading, link, SCOPE, text } from '../../../support/dashboard.ts'
import { OPERATOR_KEY } from '../../../support/service.ts'

describeDashboard('the pages of keys and categories in Chromium', (it, dashboard) => {
  /** Reads the new key that a dialog shows, and closes the dialog. */
  async function readNewKey(): Promise<string> {
    const shown = dialog(dashboard.page, 'The new API key')
    const key = await shown.getByTestId('new-key').textContent()
    await shown.getByText('separate keys for development and production').waitFor()
    await dashboard.assertAccessible()
    // Escape does not lose it.
    for (const each of ['Escape', 'Escape']) await dashboard.page.keyboard.press(each)
    await field(shown, 'I have stored the key').check()
    await dashboard.confirm(shown, 'Close')
    return key ?? ''
  }

  async function createKey(name: string): Promise<Locator> {
    const creation = await dashboard.open('New key', 'New key', { Name: name })
    await button(creation, 'New key').click()
    return creation
  }

  it('list the companies for the operator key, and create a source system whose key works', async ({
    page,
    service,
  }) => {
    const params = { COMPANY_ID: 'acme' }
    await page.goto(dashboard.urlOf('#/sign-in'))
    await field(page, 'API key').fill(OPERATOR_KEY)
    await button(page, 'Sign in').click()
    await button(page, 'acme').click()
    await link(page, 'Access').click()
    await heading(page, 'Access').waitFor()
    await dashboard.assertAccessible()

    await createKey('scanner')
    const key = await readNewKey()
    await service.ok('checkSourceSystem', { key, params })

    await button(await dashboard.choose('scanner', 'New key', 'New key for scanner'), 'New key').click()
    const rotated = await readNewKey()
    assert.notEqual(rotated, key)
    for (const each of [key, rotated]) await service.ok('checkSourceSystem', { key: each, params })

    await dashboard.confirm(await dashboard.choose('scanner', 'Change', 'Change scanner', { Name: 'reader' }), 'Save')
    await dashboard.confirm(await dashboard.choose('reader', 'Deactivate', 'Deactivate reader?'), 'Deactivate')
    const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: /^reader/ }) })
    await text(row, 'Inactive').waitFor()
    // Red is for what is stolen.
    assert.equal(await row.locator('.stolen').count(), 0)
    assert.equal((await service.call('checkSourceSystem', { key: rotated, params })).status, 401)
    await dashboard.confirm(await dashboard.choose('reader', 'Reactivate', 'Reactivate: reader'), 'Reactivate')
    await text(row, 'Inactive').waitFor({ state: 'detached' })
    await service.ok('checkSourceSystem', { key: rotated, params })

    const trail = page.getByRole('list', { name: 'What happened' }).getByRole('listitem')
    await trail.filter({ hasText: 'Reactivated reader' }).waitFor()
    const all = await trail.filter({ hasText: 'operator,' }).allTextContents()
    const sentences = all.slice(0, 5).map((each) => each.replace(/operator,.*/, ''))
    assert.deepEqual(sentences.toSpliced(3, 1), [
      'Reactivated reader',
      'Deactivated reader',
      'Renamed scanner to \u2068reader\u2069',
      'Made the key scanner, which may update',
    ])
    assert.match(sentences[3] ?? '', /^Gave a new key to scanner; the old one works until /)
  })

  it('show, change and remove the expiry of a key', async ({ page, company }) => {
    const key = company.keys.A
    const expiresAt = new Date(Date.now() + 5 * 86_400_000).toISOString()
    const { id: SYSTEM_ID } = await dashboard.ok('createSourceSystem', { key, json: { name: 'lent', expiresAt } })
    const readExpiry = async () => (await dashboard.ok('getSourceSystem', { key, params: { SYSTEM_ID } })).expiresAt
    await dashboard.signIn(key, '#/source-systems')
    await page.locator('.badge.pending', { hasText: 'in 5 days' }).waitFor()
    await dashboard.confirm(await dashboard.choose('lent', 'Change', 'Change lent', { Name: 'lent out' }), 'Save')
    assert.equal(await readExpiry(), expiresAt)
    const end = { Expires: '2999-01-31T12:00' }
    await dashboard.confirm(await dashboard.choose('lent out', 'Change', 'Change lent out', end), 'Save')
    assert.match(await readExpiry(), /^2999-01-31T/)
    const change = await dashboard.choose('lent out', 'Change', 'Change lent out')
    await field(change, 'Remove the expiry: the key does not expire').check()
    await dashboard.confirm(change, 'Save')
    assert.equal(await readExpiry(), undefined)
    await page.getByText('Changed lent out, which does not expire any more').waitFor()
  })

  it('ask before the only look at a new key is lost', async ({ page }) => {
    const asked: string[] = []
    page.on('dialog', (question) => {
      asked.push(question.message())
      void question.dismiss()
    })
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    await createKey('shown once')
    const shown = dialog(page, 'The new API key')
    await shown.waitFor()
    await page.evaluate("location.hash = '#/log'")
    await page.waitForURL('**/#/source-systems')
    assert.match(asked.join(), /^This is shown only once/)
    await field(shown, 'I have stored the key').check()
    await page.evaluate("location.hash = '#/log'")
    await heading(page, 'Log').waitFor()
    assert.equal(asked.length, 1)
  })

  it('show a key that works if the first response to its creation is lost', async ({ service }) => {
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    await dashboard.loseNext('**/sourceSystem/acme')
    await createKey('lossy')
    const params = { COMPANY_ID: 'acme' }
    await service.ok('checkSourceSystem', { key: await readNewKey(), params })

    // A rotation is not repeated by itself.
    await dashboard.loseNext('**/sourceSystem/acme/*')
    const rotation = await dashboard.choose('lossy', 'New key', 'New key for lossy')
    await button(rotation, 'New key').click()
    await rotation.getByText('its response was lost').waitFor()
    await button(rotation, 'New key').click()
    await service.ok('checkSourceSystem', { key: await readNewKey(), params })
  })

  it('say at the field what the API rejects', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    const creation = await createKey('A')
    await text(creation.locator('.field', { hasText: 'Name' }), 'This name is taken: choose another').waitFor()
    await field(creation, 'Name').and(page.locator('[aria-invalid=true]')).waitFor()
    await button(creation, 'Cancel').click()
    await creation.waitFor({ state: 'detached' })
  })

  it('create, rename, deactivate, activate and remove a category', async ({ page, service }) => {
    await dashboard.signIn(dashboard.company.keys.U, '#/categories')
    await dashboard.confirm(await dashboard.open('New category', 'New category', { Name: 'Boats' }), 'Save')
    const change = await dashboard.choose('Boats', 'Change', 'Change Boats')
    const { categories } = service.registry
    const [boats] = (await categories.list(SCOPE)).filter(({ name }) => name === 'Boats')
    await categories.update(SCOPE, { categoryId: boats?.id ?? '' }, { description: 'of somebody else' })
    await field(change, 'Name').fill('')
    await button(change, 'Save').click()
    await text(change, 'Enter a name').waitFor()
    await field(change, 'Name').fill('Ships')
    await dashboard.confirm(change, 'Save')
    await text(page, 'of somebody else').waitFor()
    await dashboard.confirm(await dashboard.choose('Ships', 'Deactivate', 'Deactivate: Ships'), 'Deactivate')
    await dashboard.confirm(await dashboard.choose('Ships', 'Activate', 'Activate: Ships'), 'Activate')
    await dashboard.confirm(await dashboard.choose('Ships', 'Remove', 'Remove Ships?'), 'Remove')
    await page.getByRole('rowheader', { name: /^Ships/ }).waitFor({ state: 'detached' })
    await dashboard.assertAccessible()
  })

  it('say why a category cannot be removed, at every width', async ({ page }) => {
    await dashboard.createEvidence('kept-in-category')
    await dashboard.signIn(dashboard.company.keys.U, '#/categories')
    await text(page, '1 category, 1 subcategory').waitFor()
    for (const width of [1_440, 768, 390]) {
      await page.setViewportSize({ width, height: 800 })
      await button(page, 'Actions for Cars').click()
      const item = page.locator('.menu:popover-open').getByRole('button', { name: /^Remove/ })
      assert.equal(await item.textContent(), 'RemoveNot possible: it has 1 record')
      assert.ok(await item.isDisabled())
      const box = await page.locator('.menu:popover-open').boundingBox()
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width && box.y + box.height <= 800)
      await page.keyboard.press('Escape')
      await page.locator('button:focus[aria-label="Actions for Cars"]').waitFor()
    }
  })
})

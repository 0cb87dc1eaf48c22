import assert from 'node:assert/strict'
import {
  assertAccessible,
  button,
  describeDashboard,
  dialog,
  field,
  heading,
  link,
  SCOPE,
  text,
} from '../../../support/dashboard.ts'
import { OPERATOR_KEY } from '../../../support/service.ts'

describeDashboard('the pages of source systems and categories in Chromium', (it, dashboard) => {
  /** Reads the new key that a dialog shows, and closes the dialog. */
  async function readNewKey(): Promise<string> {
    const shown = dialog(dashboard.page, 'The new API key')
    const key = await shown.getByTestId('new-key').textContent()
    await shown.getByText('separate keys for development and production').waitFor()
    await assertAccessible(dashboard.page)
    // Escape does not lose it.
    for (const each of ['Escape', 'Escape']) await dashboard.page.keyboard.press(each)
    await field(shown, 'I have stored the key').check()
    await dashboard.confirm(shown, 'Close')
    return key ?? ''
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
    await heading(page, 'Source Systems').waitFor()
    await assertAccessible(page)

    const creation = await dashboard.open('Create a source system', 'Create a source system')
    await field(creation, 'Name').fill('scanner')
    await button(creation, 'Create a source system').click()
    const key = await readNewKey()
    await service.ok('checkSourceSystem', { key, params })

    await button(await dashboard.open('Rotate key: scanner', 'Rotate the key of scanner'), 'Rotate key').click()
    const rotated = await readNewKey()
    assert.notEqual(rotated, key)
    for (const each of [key, rotated]) await service.ok('checkSourceSystem', { key: each, params })

    const change = await dashboard.open('Change: scanner', 'Change scanner')
    await field(change, 'Name').fill('reader')
    await dashboard.confirm(change, 'Save')
    await dashboard.confirm(await dashboard.open('Deactivate: reader', 'Deactivate reader?'), 'Deactivate')
    await button(page, 'Reactivate: reader').waitFor()
    assert.equal((await service.call('checkSourceSystem', { key: rotated, params })).status, 401)
    await dashboard.confirm(await dashboard.open('Reactivate: reader', 'Reactivate: reader'), 'Reactivate')
    await button(page, 'Deactivate: reader').waitFor()
    await service.ok('checkSourceSystem', { key: rotated, params })
    const trail = page.getByRole('table', { name: 'Audit trail', exact: true })
    await trail.getByRole('cell', { name: 'key rotated', exact: true }).first().waitFor()
  })

  it('show a key that works if the first response to its creation is lost', async ({ page, service }) => {
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    await page.route(
      '**/sourceSystem/acme',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    const creation = await dashboard.open('Create a source system', 'Create a source system')
    await field(creation, 'Name').fill('lossy')
    await button(creation, 'Create a source system').click()
    const params = { COMPANY_ID: 'acme' }
    await service.ok('checkSourceSystem', { key: await readNewKey(), params })

    // A rotation is not repeated by itself.
    await page.route(
      '**/sourceSystem/acme/*',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    const rotation = await dashboard.open('Rotate key: lossy', 'Rotate the key of lossy')
    await button(rotation, 'Rotate key').click()
    await rotation.getByText('its response was lost').waitFor()
    await button(rotation, 'Rotate key').click()
    await service.ok('checkSourceSystem', { key: await readNewKey(), params })
  })

  it('say that the audit trail loads until the first response', async ({ page }) => {
    const release = await dashboard.hold('**/audit?*')
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    const trail = page.locator('section', { has: heading(page, 'Audit trail') })
    await text(trail, 'Loading …').waitFor()
    assert.equal(await text(trail, 'Nothing is recorded yet.').count(), 0)
    release()
    await trail.getByRole('table').waitFor()
  })

  it('say at the field what the API rejects', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    await button(page, 'Create a source system').click()
    const creation = dialog(page, 'Create a source system')
    await field(creation, 'Name').fill('A')
    await button(creation, 'Create a source system').click()
    await text(creation.locator('.field', { hasText: 'Name' }), 'This name is taken: choose another').waitFor()
    await field(creation, 'Name').and(page.locator('[aria-invalid=true]')).waitFor()
    await button(creation, 'Cancel').click()
    await creation.waitFor({ state: 'detached' })
  })

  it('create, rename, deactivate, activate and remove a category', async ({ page, service }) => {
    await dashboard.signIn(dashboard.company.keys.U, '#/categories')
    const creation = await dashboard.open('Create a category', 'Create a category')
    await field(creation, 'Name').fill('Boats')
    await dashboard.confirm(creation, 'Save')
    const change = await dashboard.open('Change: Boats', 'Change Boats')
    const { categories } = service.registry
    const [boats] = (await categories.list(SCOPE)).filter(({ name }) => name === 'Boats')
    await categories.update(SCOPE, { categoryId: boats?.id ?? '' }, { description: 'of somebody else' })
    await field(change, 'Name').fill('')
    await button(change, 'Save').click()
    await text(change, 'Enter a name').waitFor()
    await field(change, 'Name').fill('Ships')
    await dashboard.confirm(change, 'Save')
    await text(page, 'of somebody else').waitFor()
    await dashboard.confirm(await dashboard.open('Deactivate: Ships', 'Deactivate: Ships'), 'Deactivate')
    await dashboard.confirm(await dashboard.open('Activate: Ships', 'Activate: Ships'), 'Activate')
    await button(page, 'Deactivate: Ships').waitFor()
    await dashboard.confirm(await dashboard.open('Remove: Ships', 'Remove Ships?'), 'Remove')
    await text(page, 'Ships').waitFor({ state: 'detached' })
    await assertAccessible(page)
  })
})

import assert from 'node:assert/strict'
import { button, describeDashboard, field, heading, link } from '../../../support/dashboard.ts'

describeDashboard('the page that says whether a thing is reported stolen, in Chromium', (it, dashboard) => {
  async function ask(externalId: string): Promise<void> {
    await field(dashboard.page, 'Number, as on its sticker or certificate').fill(externalId)
    await button(dashboard.page, 'Ask').click()
  }
  /** Waits until the page says it. */
  const says = (said: string): Promise<void> => dashboard.page.getByText(said).waitFor()

  it('is opened for a category by an administrator, and then says since when', async ({ page }) => {
    await dashboard.createEvidence('bike-1')
    const { keys } = dashboard.company
    await dashboard.update('bike-1', { updateType: 'stolen' })
    await dashboard.signIn(keys.U, '#/categories')
    for (const name of ['Vehicles', 'Cars']) await link(page, `1 stolen record: ${name}`).waitFor()
    const label = 'Anyone may ask whether a thing of it is reported stolen'
    const change = async () => dashboard.choose('Vehicles', 'Change', 'Change Vehicles')
    const asWriter = await change()
    assert.equal(await field(asWriter, label).count(), 0)
    await button(asWriter, 'Cancel').click()

    await button(page, 'Sign out').click()
    await dashboard.signIn(keys.A, '#/categories')
    const asAdmin = await change()
    await field(asAdmin, label).check()
    await dashboard.confirm(asAdmin, 'Save')
    await link(page, 'Anyone may ask').click()
    await heading(page, 'Is it reported stolen?').waitFor()
    await ask('bike-1')
    await says('Do not buy it; tell the police.')
    await says('The registry’s word, not proven here.')
    await field(page, 'Number, as on its sticker or certificate').fill('bike-2')
    assert.equal(await page.getByText('Do not buy it; tell the police.').count(), 0)
    await dashboard.assertAccessible()
  })

  it('is for anyone on a phone, and never takes what it does not know for “not stolen”', async ({ page, service }) => {
    await dashboard.createEvidence('car-1')
    const { keys, id: COMPANY_ID } = dashboard.company
    const { categories } = await dashboard.ok('listCategories')
    const params = { CATEGORY_ID: categories[0].id }
    await dashboard.ok('updateCategory', { key: keys.A, params, json: { publicStatus: true } })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await dashboard.usePhone()
      await page.goto(dashboard.urlOf('#/status/acme'))
      await ask(' ')
      await says('Enter the number of the thing')
      await ask('..')
      await says('An external id cannot be . or ..')
      await ask('car-1')
      await says('Not reported stolen')
      await ask('CAR-1')
      await says('Do not take that for “not stolen”.')
      await dashboard.assertAccessible()
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    }
    await page.goto(dashboard.urlOf('#/status/no company'))
    await ask('car-1')
    await says('The address names no company')
    await page.goto(dashboard.urlOf('#/status/acme'))
    await page.route('**/status/**', (route) => route.abort())
    await ask('car-1')
    await says('cannot be reached')
    await page.unroute('**/status/**')
    for (let i = 0; i < 30; i++)
      await service.call('getPublicStatus', { params: { COMPANY_ID, EVIDENCE_EXTERNAL_ID: 'x' } })
    await ask('car-1')
    await says('Too many questions')
    await dashboard.assertAccessible()
  })
})

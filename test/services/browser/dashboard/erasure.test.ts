import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { button, describeDashboard, field, link, SCOPE, text } from '../../../support/dashboard.ts'

const OWNED = { owner: 'Ada Lovelace', description: 'with a dent' }
/** The date differs. */
const ERASED = /^erased on .*\d{4}$/

describeDashboard('erasing in Chromium', (it, dashboard) => {
  /** Opens the dialog of a record with a key that may erase. */
  async function openErasure(externalId: string): Promise<Locator> {
    await dashboard.signIn(dashboard.company.keys.A, `#/evidences/${externalId}`)
    return dashboard.choose(externalId, 'Erase …', 'Erase from “Golf”')
  }

  /** A value of a row of names and values. */
  const valueOf = (scope: Locator, name: string): Locator =>
    scope.locator('dt', { has: text(dashboard.page, name) }).locator('+ dd')

  it('shows what an erasure removes, and removes it after the external id is entered', async ({ page }) => {
    await dashboard.createSealed('owned-1', OWNED)
    await dashboard.update('owned-1', { owner: 'Grace Hopper', updateDescription: 'sold' })
    const erasure = await openErasure('owned-1')
    await field(erasure, 'Owner: Grace Hopper, Ada Lovelace (2 events)').waitFor()
    await field(erasure, 'File: hello.txt').waitFor()
    await button(erasure, 'Erase').click()
    await text(erasure, 'Choose above what to erase').waitFor()
    await field(erasure, 'Owner: Grace Hopper, Ada Lovelace (2 events)').check()
    await field(erasure, 'File: hello.txt').check()
    await field(erasure, 'Reason').selectOption('A court or an authority ordered it')
    await field(erasure, 'Note').fill('case 7')
    await field(erasure, 'Enter owned-1 to confirm').fill('owned-2')
    await button(erasure, 'Erase').click()
    await text(erasure, 'This is not the external id of the record').waitFor()
    await field(erasure, 'Enter owned-1 to confirm').fill('owned-1')
    await dashboard.confirm(erasure, 'Erase')
    await text(page, 'No file is attached.').waitFor()
    await page.locator('.tag dd').getByText(ERASED).waitFor()
    await valueOf(page.locator('#facts'), 'Owner').getByText(ERASED).waitFor()
    await page.locator('main', { hasNotText: /Ada|Grace|hello/ }).waitFor()
    await dashboard.assertAccessible()

    await button(page, 'Show the receipt').click()
    // Sealed, or not yet.
    await page.getByText(/^Path from the leaf to the root|waits for the next batch/).waitFor()

    await page.goto(dashboard.urlOf('#/source-systems'))
    const rows = page.getByRole('table', { name: 'Erasures' }).getByRole('row')
    for (const [i, what] of ['File', 'Owner'].entries())
      assert.match(await rows.nth(i + 1).innerText(), new RegExp(`${what}.*court.*case 7`, 's'))
    await dashboard.assertAccessible()
  })

  it('erases everything of a record, which then has its internal id as its name', async ({ page }) => {
    const id = await dashboard.createSealed('whole-1', OWNED)
    const erasure = await openErasure('whole-1')
    const label = `Everything: the content of this record. Instead of whole-1, its external id is then ${id}`
    await field(erasure, label).check()
    await field(erasure, 'Enter whole-1 to confirm').fill('whole-1')
    await dashboard.confirm(erasure, 'Erase')
    await page.getByRole('heading', { level: 1, name: ERASED }).waitFor()
    assert.equal(page.url(), dashboard.urlOf(`#/evidences/${id}`))
    await dashboard.assertAccessible()
    await page.locator('main', { hasNotText: /Golf|Ada|dent|whole-1/ }).waitFor()
    await page.goto(dashboard.urlOf('#/evidences'))
    await link(page, `(no name), ${id}`).waitFor()
    await dashboard.assertAccessible()
  })

  it('does not erase what was recorded after the page was opened', async ({ page }) => {
    await dashboard.createSealed('late-1', OWNED)
    const erasure = await openErasure('late-1')
    await field(erasure, 'Owner: Ada Lovelace (1 event)').check()
    await field(erasure, 'Enter late-1 to confirm').fill('late-1')
    await dashboard.update('late-1', { owner: 'Grace Hopper' })
    await button(erasure, 'Erase').click()
    await erasure.getByText('This record was changed after you opened it.').waitFor()
    const { evidence } = await dashboard.service.registry.evidences.get(SCOPE, 'late-1')
    assert.equal(evidence.owner, 'Grace Hopper')
    await page.keyboard.press('Escape')
  })

  it('says on a certificate and on the page of a link what was erased', async ({ page, company, service }) => {
    const id = await dashboard.createSealed('paper-1', OWNED)
    const params = { EVIDENCE_EXTERNAL_ID: 'paper-1' }
    const share = { fields: ['owner', 'texts'], files: [] }
    const { url } = await dashboard.ok('createShare', { params, json: share })
    const erasure = { fields: ['name', 'owner', 'description'], reason: 'request' }
    await dashboard.ok('eraseEvidence', { key: company.keys.A, params, json: erasure })
    await service.registry.sealNow()

    await dashboard.signIn(company.keys.U, '#/evidences/paper-1')
    const certificate = link(page, 'Certificate')
    await certificate.waitFor()
    assert.equal(await button(page, 'Actions for paper-1').count(), 0)
    await certificate.click()
    const paper = page.getByRole('region', { name: 'Present state' })
    await paper.getByRole('heading', { level: 1, name: ERASED }).waitFor()
    assert.equal(await paper.getByText(ERASED).count(), 3)
    assert.equal(page.url(), dashboard.urlOf(`#/certificate/${id}/paper-1`))
    await dashboard.assertAccessible()

    await dashboard.usePhone()
    await page.goto(url)
    const thing = page.getByRole('region', { name: 'The thing' })
    for (const name of ['Owner', 'Description']) assert.match(await valueOf(thing, name).innerText(), ERASED)
    // The link does not show the name, so it does not say that it was erased.
    assert.equal(await thing.getByText(ERASED).count(), 2)
    await dashboard.assertAccessible()
  })

  it('looks for a person in all records, and erases what it has shown', async ({ page }) => {
    for (const id of ['person-1', 'person-2']) await dashboard.createSealed(id, { owner: 'Mary Shelley' })
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    const erasure = await dashboard.open('Erase a person', 'Erase a person', { 'Name of the person': 'mary shelley' })
    await button(erasure, 'Look for it').click()
    for (const id of ['person-1', 'person-2']) await link(erasure, id).waitFor()
    await erasure.getByText('Search for a person: done.').waitFor()
    const ownerOf = async () => (await dashboard.service.registry.evidences.get(SCOPE, 'person-1')).evidence.owner
    assert.equal(await ownerOf(), 'Mary Shelley')
    await dashboard.assertAccessible()
    // Another name is looked for first.
    await field(erasure, 'Name of the person').fill('Ada')
    await button(erasure, 'Look for it').waitFor()
    await field(erasure, 'Name of the person').fill('mary shelley')
    await button(erasure, 'Erase').click()
    await erasure.getByText('Erase a person: done. 2 values erased.').waitFor()
    assert.notEqual(await ownerOf(), 'Mary Shelley')
    await button(erasure, 'Cancel').click()
    await page.getByRole('cell', { name: 'Erase a person: done. 2 values erased.' }).waitFor()
  })
})

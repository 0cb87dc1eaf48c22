import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { encode } from 'uqr'
import {
  button,
  describeDashboard,
  dialog,
  field,
  heading,
  link,
  PHOTO,
  SCOPE,
  text,
} from '../../../support/dashboard.ts'
import { eventually } from '../../../support/eventually.ts'
import { formOf } from '../../../support/form.ts'
import { PHOTO_WITH_PLACE } from '../../../support/photo-with-place.ts'
import type { ServiceResponse } from '../../../support/service.ts'

describeDashboard('the links of an evidence in Chromium', (it, dashboard) => {
  /** A bike with texts, facts, a photo, and a photo that says where it was taken. Returns its id. */
  async function createBike(externalId: string, cover: Buffer = PHOTO): Promise<string> {
    const fields = {
      categoryName: 'Vehicles',
      subcategoryName: 'Bikes',
      externalId,
      name: 'Red bike',
      owner: 'Ada Lovelace',
      description: 'Scratched at home',
      meta: '{"frame":"NL7K"}',
    }
    const form = formOf(fields, [
      ['image', 'left.png', cover, 'image/png'],
      ['images.items', 'wheel.jpg', PHOTO_WITH_PLACE, 'image/jpeg'],
      ['images.items', 'invoice.txt', 'total', 'text/plain'],
    ])
    return (await dashboard.ok('createEvidence', { form })).id
  }

  async function openShare(externalId: string, key: string): Promise<Locator> {
    await dashboard.signIn(key, `#/evidences/${externalId}`)
    await button(dashboard.page, 'Share').click()
    const opened = dialog(dashboard.page, 'Share “Red bike”')
    await button(opened, 'Make the link').waitFor()
    return opened
  }

  /** Makes the link, and returns it as the dialog shows it. */
  async function makeLink(opened: Locator): Promise<string> {
    await button(opened, 'Make the link').click()
    const made = dialog(dashboard.page, 'The link is ready')
    const url = (await made.locator('.key').textContent()) ?? ''
    await assertCodeIs(made, url)
    await dashboard.assertAccessible()
    await dashboard.page.keyboard.press('Escape')
    assert.equal(await button(made, 'Done').isEnabled(), false)
    await field(made, 'I have copied or printed it').check()
    await dashboard.confirm(made, 'Done')
    return url
  }

  /** The code in an element is the one of this text, and of no other. */
  async function assertCodeIs(within: Locator, expected: string): Promise<void> {
    const { data } = encode(expected, { ecc: 'M', border: 4 })
    const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
    assert.equal(await within.getByRole('img', { name: 'QR code of the link' }).locator('path').getAttribute('d'), path)
  }

  function use(url: string): Promise<ServiceResponse> {
    const [, SHARE_ID = '', secret = ''] = /#\/p\/([^.]+)\.(.+)$/.exec(url) ?? []
    return dashboard.service.call('openShare', { params: { SHARE_ID }, headers: { 'x-share-secret': secret } })
  }

  const sharesOf = async (externalId: string): Promise<ServiceResponse['body']> =>
    (await dashboard.ok('listShares', { params: { EVIDENCE_EXTERNAL_ID: externalId } })).shares

  it('show before what a stranger will see, and are listed, used and ended', async ({ page, company }) => {
    await createBike('bike-1')
    const opened = await openShare('bike-1', company.keys.U)
    const isOn = (title: string): Promise<boolean> => field(opened, title).isChecked()
    const titles = ['Name', 'Cover photo', 'Owner', 'Your id and company', 'Facts', 'Texts of the events', 'wheel']
    assert.deepEqual(await Promise.all(titles.map(isOn)), [true, true, false, false, false, false, false])
    assert.equal(await field(opened, 'State and kinds of events').isDisabled(), true)
    for (const hint of ['wheel.jpg says where it was taken', 'with the name left.png', 'with the name invoice.txt'])
      await text(opened, hint).waitFor()
    for (const duration of ['7 days', '30 days', '1 year', 'Until I end it']) await field(opened, duration).waitFor()
    const preview = opened.getByRole('region', { name: 'A stranger sees' })
    for (const shown of ['Red bike', 'Not reported stolen']) await text(preview, shown).waitFor()
    assert.equal(await text(preview, 'Ada Lovelace').count(), 0)
    await field(opened, 'Owner').check()
    await text(preview, 'Ada Lovelace').waitFor()
    await dashboard.assertAccessible()
    const url = await makeLink(opened)

    const used = await use(url)
    for (const shown of ['Red bike', 'Ada Lovelace', 'left.png']) assert.ok(used.text.includes(shown), shown)
    for (const hidden of ['Scratched', 'NL7K', 'wheel.jpg', 'bike-1']) assert.ok(!used.text.includes(hidden), hidden)
    await page.reload()
    await dashboard.signIn(company.keys.U, '#/evidences/bike-1')
    const card = page.locator('.card', { has: heading(page, 'Links') })
    await text(card, 'Name, Owner, 1 file').waitFor()
    await card.getByText('Last used').waitFor()
    await button(card, 'Manage').click()
    const list = dialog(page, 'Links to “Red bike”')
    await list.getByText('1 of at most 100 are open.').waitFor()
    await dashboard.assertAccessible()
    await button(list, 'End now: Name, Owner, 1 file').click()
    await list.getByText('0 of at most 100 are open.').waitFor()
    await text(card, 'No link is open.').waitFor()
    assert.equal((await use(url)).status, 404)
  })

  it('are made by level R for 30 days, and ended by it only if they are its own', async ({
    page,
    company,
    service,
  }) => {
    await createBike('bike-2')
    const { shares } = service.registry
    await shares.create(SCOPE, 'bike-2', { fields: ['owner'], files: [] })
    await dashboard.usePhone()
    const opened = await openShare('bike-2', company.keys.R)
    await field(opened, '7 days').waitFor()
    assert.equal(await field(opened, '1 year').count(), 0)
    await field(opened, 'Name').uncheck()
    await field(opened, 'Cover photo').uncheck()
    await dashboard.assertAccessible()
    const url = await makeLink(opened)
    const [{ expiresAt }] = await sharesOf('bike-2')
    const days = (Date.parse(expiresAt) - Date.now()) / 86_400_000
    assert.ok(days > 29.9 && days <= 30, `${days} days`)
    assert.ok(!(await use(url)).text.includes('Red bike'))
    await button(page, 'End now: Only its state').click()
    await button(page, 'End now: Only its state').waitFor({ state: 'detached' })
    await text(page, 'Owner').first().waitFor()
    assert.equal(await button(page, 'End now: Owner').count(), 0)
  })

  it('are ended again if the evidence got another event meanwhile', async ({ company }) => {
    await createBike('bike-3')
    const opened = await openShare('bike-3', company.keys.U)
    await dashboard.update('bike-3', { owner: 'Grace' })
    await button(opened, 'Make the link').click()
    await opened.getByText('The link was ended again').waitFor()
    const [{ endedAt }] = await sharesOf('bike-3')
    assert.equal(typeof endedAt, 'string')
  })

  it('are in the code of a certificate, once, without an end for level U', async ({ page, company }) => {
    const id = await createBike('bike-4')
    await dashboard.update('bike-4', { updateType: 'stolen' })
    await dashboard.untilConfirmed(id)
    await openCertificate('bike-4', company.keys.U)
    await heading(page, 'Seal of event 2, Reported stolen').waitFor()
    await page.getByText('work only on this computer').waitFor()
    const paper = page.locator('.sheet').first()
    assert.equal(await paper.getByRole('img', { name: 'QR code of the link' }).count(), 0)
    const url = await printWithCode('Print with a code')
    await text(paper, 'Scan for the present state').waitFor()
    await assertCodeIs(paper, url)
    await dashboard.assertAccessible()
    await button(page, 'Print or save as PDF').click()
    await eventually(() => page.evaluate<boolean>('window.printed === 2'))
    const [{ kind, expiresAt }, ...others] = await sharesOf('bike-4')
    assert.deepEqual([kind, expiresAt, others.length], ['certificate', undefined, 0])
    const used = await use(url)
    for (const shown of ['Red bike', 'left.png', String.raw`[\"status\",\"stolen\"]`])
      assert.ok(used.text.includes(shown), shown)
    assert.ok(!used.text.includes('Ada Lovelace'))
    // On paper there is no hover, so every time says its zone.
    const times = (await page.locator('.certificate').innerText()).match(/\d:\d\d:\d\d(?!.[AP]M UTC)/g)
    assert.equal(times, null)
  })

  it('are in the code for 30 days for level R, without a photo that says where it was taken', async ({
    page,
    company,
  }) => {
    const id = await createBike('bike-5', Buffer.concat([PHOTO, PHOTO_WITH_PLACE]))
    await dashboard.untilConfirmed(id)
    await openCertificate('bike-5', company.keys.R)
    const url = await printWithCode('Print with a code for 30 days')
    await page.getByText(/^Scan for the state until .+ UTC$/).waitFor()
    await page.getByText('The code does not show the photo').waitFor()
    const [{ kind, files }] = await sharesOf('bike-5')
    assert.deepEqual([kind, files], ['link', []])
    assert.ok(!(await use(url)).text.includes('left.png'))
  })

  async function openCertificate(externalId: string, key: string): Promise<void> {
    const { page } = dashboard
    await page.addInitScript('window.print = () => { window.printed = (window.printed ?? 0) + 1 }')
    await dashboard.signIn(key, `#/evidences/${externalId}`)
    await link(page, 'Certificate').click()
    await heading(page, 'Red bike').waitFor()
  }

  /** Makes a code, waits until it is printed, and returns its link. */
  async function printWithCode(name: string): Promise<string> {
    const { page } = dashboard
    const isCreation = (response: { url(): string; request(): { method(): string } }): boolean =>
      response.url().endsWith('/shares') && response.request().method() === 'POST'
    const [created] = await Promise.all([page.waitForResponse(isCreation), button(page, name).click()])
    await eventually(() => page.evaluate<boolean>('window.printed === 1'))
    return (await created.json()).url
  }
})

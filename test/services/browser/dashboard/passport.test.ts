import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Bundle } from '../../../../core/schemas/bundle.ts'
import { openBundleRegistry } from '../../../support/bundle-fixture.ts'
import { button, describeDashboard, field, heading, PHOTO, text } from '../../../support/dashboard.ts'
import { formOf } from '../../../support/form.ts'
import { temporaryFor } from '../../../support/temporary.ts'

const BIKE = { categoryName: 'Bikes', subcategoryName: 'City', name: 'Red bike', owner: 'Ada', description: 'private' }
const [TRUST, OWN_KEYS] = ['Trust this registry on this device', "Consistent with this registry's own keys"]

describeDashboard('the page of a link in Chromium', (it, dashboard) => {
  /** Records a bike with a photo and an invoice. */
  async function createBike(externalId: string): Promise<void> {
    const form = formOf({ ...BIKE, externalId, meta: '{"frame":"F-77"}' }, [
      ['image', 'front.png', PHOTO, 'image/png'],
      ['images.items', 'invoice.pdf', 'invoice', 'application/pdf'],
    ])
    await dashboard.ok('createEvidence', { form })
  }

  /** Makes a link, and returns it once all that it shows is sealed. */
  async function linkOf(externalId: string, json: object): Promise<{ url: string; id: string; secret: string }> {
    const { id, url } = await dashboard.ok('createShare', { params: { EVIDENCE_EXTERNAL_ID: externalId }, json })
    await dashboard.service.registry.sealNow()
    return { url, id, secret: url.slice(url.lastIndexOf('.') + 1) }
  }

  /** The page has no violation of accessibility, in light and dark, and is not wider than a phone. */
  async function assertFits(page: Page): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await dashboard.assertAccessible()
    }
    assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390)
    const low = await page
      .locator('main :is(button, .button, summary)')
      .filter({ visible: true })
      .evaluateAll((all: readonly { offsetHeight: number; innerText: string }[]) =>
        all.filter(({ offsetHeight }) => offsetHeight < 44).map(({ innerText }) => innerText),
      )
    assert.deepEqual(low, [])
  }

  /** Lets the registry answer with another bundle. */
  const answerWith = async (bundle: Bundle): Promise<void> =>
    void (await dashboard.page.route('**/api/v1/shares/*', (route) => route.fulfill({ json: { bundle, files: [] } })))

  it('shows a phone that has only the link that the thing is stolen', async ({ page, service }) => {
    await createBike('stolen-1')
    const choice = { fields: ['name', 'meta', 'categoryId'], files: ['image'] }
    const { url, secret } = await linkOf('stolen-1', choice)
    await dashboard.update('stolen-1', { updateType: 'stolen', updateDescription: 'at night' })
    await service.registry.sealNow()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await dashboard.usePhone()
    await page.goto(url)
    await heading(page, 'Reported stolen').first().waitFor()
    await page.getByText(/^Since .* UTC\. Do not buy it; tell the police\.$/).waitFor()
    await page.getByText(/Complete up to event 2, as the registry knows it now \(.* UTC\)\./).waitFor()
    await page.getByRole('img', { name: 'Red bike' }).waitFor()
    for (const shown of ['F-77', 'not shown by this link', 'Created']) await text(page, shown).first().waitFor()
    await page.getByText('The registry files it under Bikes / City; no proof covers that.').waitFor()
    await page.getByText(OWN_KEYS).click()
    await page.locator('li', { hasText: 'A timestamp authority stamped the tree' }).waitFor()
    await assertFits(page)
    const all = await page.content()
    assert.doesNotMatch(all, /Ada|private|at night|invoice|stolen-1|Not reported stolen/)
    const asked = requests.filter((requested) => requested.includes('/api/'))
    assert.deepEqual(
      asked.map((requested) => new URL(requested).pathname.replaceAll(/[0-9a-f-]{36}/g, 'ID')),
      ['/api/v1/shares/ID', '/api/v1/shares/ID/file/ID'],
    )
    assert.ok(requests.every((requested) => !requested.includes(secret)))
  })

  it('says that there is another owner, and not who', async ({ page, service }) => {
    await createBike('sold-1')
    const { url } = await linkOf('sold-1', { fields: ['name', 'owner', 'externalId', 'texts'], files: 'all' })
    await dashboard.usePhone()
    await page.goto(url)
    await text(page, 'Not reported stolen').waitFor()
    await text(page, 'Ada').first().waitFor()
    await text(page.getByRole('region', { name: 'The thing' }), 'private').waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download: invoice.pdf').click()])
    assert.equal(download.suggestedFilename(), 'invoice.pdf')
    await dashboard.update('sold-1', { owner: 'Grace', description: 'new' })
    await service.registry.sealNow()
    await page.reload()
    await page.getByText(/It has another owner since .*\. This link is older and does not say who\./).waitFor()
    await text(page, 'Owner before').waitFor()
    await heading(page, 'Transferred').waitFor()
    await assertFits(page)
    assert.doesNotMatch(await page.content(), /Grace|>new</)
  })

  it('shows facts that have no name, and no row if there are none', async ({ page }) => {
    await createBike('facts-1')
    const facts = page.getByRole('region', { name: 'The thing' }).locator('dt', { hasNotText: 'Owner' })
    for (const [meta, names] of [
      [{ '': 'F-78' }, ['(no name)']],
      [{}, []],
    ] as const) {
      await dashboard.update('facts-1', { meta })
      await page.goto((await linkOf('facts-1', { fields: ['meta'], files: [] })).url)
      await page.getByText(/Complete up to event/).waitFor()
      assert.deepEqual(await facts.allTextContents(), names)
    }
  })

  it('is proven by the keys of a registry that the user trusted, until the user forgets it', async ({ page }) => {
    await createBike('trust-1')
    const { url } = await linkOf('trust-1', { fields: ['name'], files: [] })
    await dashboard.usePhone()
    await page.goto(url)
    await page.getByText(OWN_KEYS).waitFor()
    const words = await page
      .getByRole('list', { name: 'Words of the fingerprint' })
      .getByRole('listitem')
      .allInnerTexts()
    assert.equal(words.length, 8)
    await page.getByRole('img', { name: 'Picture of the fingerprint' }).waitFor()
    await assertFits(page)
    await button(page, TRUST).click()
    const proven = page.getByText(/^Proven by the keys that you trusted on /)
    await proven.waitFor()
    await page.reload()
    await proven.waitFor()
    assert.equal(await button(page, TRUST).count(), 0)

    // A dropped file of the same log, too.
    await page.locator('summary', { hasText: 'Keep this page' }).click()
    const path = await dashboard.download(page, 'Save this proof as a file')
    await page.goto(dashboard.urlOf('#/verify'))
    await field(page, 'or choose them').setInputFiles(path)
    await proven.waitFor()
    await page.locator('summary', { hasText: 'Forget what I trusted on this device' }).click()
    await button(page, 'Forget it').click()
    await heading(page, 'Consistent with the keys that the file itself states').waitFor()
  })

  it('stops if the registry sends a key that does not follow from the trusted one', async ({ page }, t) => {
    const other = await openBundleRegistry({ directory: await temporaryFor(t), anchor: 'none' })
    t.after(() => other.close())
    await other.evidence()
    await other.settle()
    const first = await other.history()
    await other.rotate()
    await other.registry.evidences.update(other.scope, 'e-1', { updateType: 'stolen' })
    await other.settle()
    const rotated = await other.history()
    assert.equal(rotated.keys.length, 2)

    await createBike('keys-1')
    const { url } = await linkOf('keys-1', { fields: ['name'], files: [] })
    await dashboard.usePhone()
    await answerWith(first)
    await page.goto(url)
    await button(page, TRUST).click()
    // A handover leads to the new key.
    await page.unrouteAll()
    await answerWith(rotated)
    await page.reload()
    await page.getByText(/^Proven by the keys that you trusted on /).waitFor()
    await heading(page, 'Reported stolen').first().waitFor()
    // Another log, and a key that the one before did not sign.
    for (const bundle of [undefined, withoutHandover(rotated)]) {
      await page.unrouteAll()
      if (bundle !== undefined) await answerWith(bundle)
      await page.reload()
      await heading(page, 'Stop: the keys have changed').waitFor()
      await assertFits(page)
      assert.doesNotMatch(await page.content(), /Red bike|Reported stolen|History/)
    }
    await page.locator('summary', { hasText: 'Forget what I trusted on this device' }).click()
    await button(page, 'Forget it').click()
    await heading(page, 'Forged or damaged').waitFor()
    await page.unrouteAll()
    await page.reload()
    await button(page, 'They differ').click()
    await heading(page, 'Stop: the words differ').waitFor()
    assert.doesNotMatch(await page.content(), /Red bike|You trusted/)
  })

  it('shows no photo that is not the recorded one, and nothing of an ended link', async ({ page }) => {
    await createBike('photo-1')
    const { url, id: SHARE_ID } = await linkOf('photo-1', { fields: ['name'], files: ['image'] })
    await page.route('**/file/*', (route) => route.fulfill({ body: 'another photo', contentType: 'image/png' }))
    await page.goto(url)
    await page.getByText('front.png is not shown: what the registry sent is not the file that was recorded.').waitFor()
    assert.equal(await page.getByRole('img', { name: 'Red bike' }).count(), 0)
    await dashboard.ok('endShare', { params: { EVIDENCE_EXTERNAL_ID: 'photo-1', SHARE_ID } })
    await dashboard.usePhone()
    for (const ended of [url, url.slice(0, -1), url.slice(0, url.lastIndexOf('.'))]) {
      await page.goto('about:blank')
      await page.goto(ended)
      await heading(page, 'This link shows nothing').waitFor()
      await page.getByText('Do not take it for “not stolen”.').waitFor()
    }
    await assertFits(page)
  })

  it('says that an event is not sealed yet', async ({ page }, t) => {
    const other = await openBundleRegistry({ directory: await temporaryFor(t), anchor: 'none' })
    t.after(() => other.close())
    await other.evidence()
    await other.settle()
    await other.registry.evidences.update(other.scope, 'e-1', { updateType: 'stolen' })
    await answerWith(await other.history())
    await createBike('pending-1')
    const { url } = await linkOf('pending-1', { fields: ['name'], files: [] })
    await page.goto(url)
    await heading(page, 'Reported stolen').first().waitFor()
    await page.getByText('Event 2 is recorded, but not sealed yet').waitFor()
    await page.locator('summary', { hasText: 'Not sealed yet' }).waitFor()
    assert.equal(await button(page, TRUST).count(), 0)
  })
})

/** The same bundle, in which no key has signed its newest one. */
function withoutHandover(bundle: Bundle): Bundle {
  const keys = bundle.keys.map((key, i) => {
    const opening = Buffer.from(key.opening, 'hex').toString('latin1')
    const forged = opening.replace(/"sig":"../, (sig) => `${sig.slice(0, -2)}${sig.endsWith('00') ? '01' : '00'}`)
    return i === 0 ? key : { ...key, opening: Buffer.from(forged, 'latin1').toString('hex') }
  })
  return { ...bundle, keys }
}

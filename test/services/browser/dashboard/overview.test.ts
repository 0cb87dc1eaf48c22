import assert from 'node:assert/strict'
import type { Overview } from '../../../../server/client/index.ts'
import { button, describeDashboard, field, heading, link, text } from '../../../support/dashboard.ts'
import { OPERATOR_KEY } from '../../../support/service.ts'

describeDashboard('the overview and the list in Chromium', (it, dashboard) => {
  it('show what happened last and how far it is proven, also when that changes', async ({ page }) => {
    await dashboard.createEvidence('seen-1')
    await dashboard.update('seen-1', { updateType: 'repair', updateDescription: 'new chain' })
    const anchor = await holdAnchors()
    await page.clock.install()
    await dashboard.signIn(dashboard.company.keys.R)
    const line = page.getByRole('listitem').filter({ hasText: 'seen-1' })
    await line.getByText('Repaired · seen-1').waitFor()
    const events = page.locator('.tile', { hasText: 'Events today' })
    await text(events, '2').waitFor()
    await events.getByText('1 created, 1 in 7 days (UTC)').waitFor()
    await text(line, 'Sealed').waitFor()
    await link(page, 'Evidences').click()
    const row = page.getByRole('row').filter({ hasText: 'seen-1' })
    for (const shown of ['Vehicles / Cars', 'Repaired', 'Sealed']) await text(row, shown).waitFor()
    anchor()
    await page.clock.runFor(10_000)
    await text(row, 'Anchored').waitFor()
    assert.equal(await row.getByText('min. ago').count(), 0)
    await page.clock.runFor(120_000)
    await row.getByText('min. ago').waitFor()
  })

  /** Lets no event and no log look anchored, until the function that it returns is called. */
  async function holdAnchors(): Promise<() => void> {
    let isHeld = true
    await dashboard.change('**/evidence/seen-1?*', (body) =>
      body.replace(/("merkleSendStatus":)(null|"[PSC]")/g, `$1"${isHeld ? 'P' : 'C'}"`),
    )
    await dashboard.changeJson<Overview>('**/acme/overview', ({ log, ...rest }) => ({
      ...rest,
      log: { ...log, anchored: { ...log.anchored, size: isHeld ? 0 : 1_000 } },
    }))
    return () => void (isHeld = false)
  }

  it('say what is missing without an authority and a chain, and wait for neither', async ({ page }) => {
    const change = (url: string, edit: (body: Record<string, object>) => object) => dashboard.changeJson(url, edit)
    const none = { stamped: { size: 0 }, anchored: { size: 0 } }
    await change('**/log/policy', (policy) => ({ ...policy, timestampAuthorities: [], chains: [] }))
    await change('**/overview', ({ log, ...rest }) => ({ ...rest, log: { ...log, ...none } }))
    await change('**/merkle/verify/*', ({ tsa: _, merkle, ...rest }) => ({
      ...rest,
      ...(merkle && { merkle: { ...merkle, sendStatus: 'P', anchor: undefined } }),
    }))
    await dashboard.signIn(OPERATOR_KEY, '', 'unstamped')
    await button(page, 'Create the key').click()
    await field(page, 'I have stored the key').check()
    await button(page, 'Close').click()
    // Only then: the form of the key has a field with this name, too.
    await field(page, 'External id').fill('unstamped-1')
    await field(page, 'Name').fill('Drill')
    await button(page, 'Record evidence').click()
    await link(page, 'Verify it now').waitFor()
    assert.equal(await text(page, 'not set up').count(), 2)
    await button(page, 'Hide these steps').click()
    const health = page.locator('section', { has: heading(page, 'Health') })
    for (const setting of ['EVIDENCE_TSA', 'EVIDENCE_ANCHOR']) await health.getByText(setting).waitFor()
  })

  it('keep what they show while the server cannot be reached, and go on by themselves', async ({ page }) => {
    await dashboard.createEvidence('kept-1')
    await page.clock.install()
    await dashboard.signIn(dashboard.company.keys.R)
    await text(page, '1 category, 1 subcategory').waitFor()
    const health = page.locator('section', { has: heading(page, 'Health') })
    for (const part of ['Recording', 'Sealing', 'Stamping', 'Anchoring', 'Backup', 'Disk'])
      await text(health, part).waitFor()
    await page.route('**/api/v1/evidences/**', (route) => route.abort())
    await page.clock.runFor(10_000)
    const alert = page.getByRole('alert').getByText('The server cannot be reached')
    await alert.waitFor()
    await text(health, 'Sealing').waitFor()
    await dashboard.assertAccessible()
    await link(page, 'Evidences').click()
    await alert.waitFor()
    await page.unrouteAll()
    await page.clock.runFor(30_000)
    await link(page, 'Golf, kept-1').waitFor()
    assert.equal(await alert.count(), 0)
  })

  it('say when the last backup was and how full the disk is, and what to do', async ({ page }) => {
    await dashboard.createEvidence('healthy-1')
    const disk = { freeBytes: 300e9, sizeBytes: 400e9 }
    let state: Pick<Overview, 'backup' | 'disk'> = {}
    await dashboard.changeJson<Overview>('**/acme/overview', (body) => ({ ...body, ...state }))
    await dashboard.signIn(dashboard.company.keys.R)
    for (const [next, backup, space] of [
      [{}, 'not reported to this page', 'not reported to this page'],
      [{ backup: {}, disk }, 'None was made by this server. To make one,', '25 % used, 300 GB free'],
      [{ backup: { at: new Date(0).toISOString() }, disk }, 'more than a day old', '25 % used'],
      [{ backup: { at: new Date().toISOString() }, disk: { ...disk, freeBytes: 30e9 } }, 'complete', 'Only 30 GB'],
    ] as const) {
      state = next
      await dashboard.signInAgain(dashboard.company.keys.R)
      await page.getByRole('listitem').filter({ hasText: 'Backup' }).getByText(backup).waitFor()
      await page.getByRole('listitem').filter({ hasText: 'Disk' }).getByText(space).waitFor()
    }
    await dashboard.assertAccessible()
  })

  it('search while the user types, and filter at once', async ({ page }) => {
    await dashboard.createEvidence('typed-1', { name: 'Zebra' })
    await dashboard.createEvidence('typed-2', { name: 'Yak' })
    await dashboard.update('typed-2', { updateType: 'stolen' })
    const [zebra, yak] = [link(page, 'Zebra, typed-1'), link(page, 'Yak, typed-2')]
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences')
    await yak.waitFor()
    await field(page, 'Search').pressSequentially('zeb')
    await yak.waitFor({ state: 'detached' })
    await zebra.waitFor()
    // A new search keeps the focus, and one step leads back from all of it.
    await page.keyboard.press('r')
    await page.waitForURL('**/#/evidences?q=zebr')
    await page.goBack()
    await yak.waitFor()
    assert.equal(await field(page, 'Search').inputValue(), '')

    await button(page, 'Stolen 1').click()
    await zebra.waitFor({ state: 'detached' })
    await yak.waitFor()
    await field(page, 'Category').selectOption({ index: 2 })
    await page.waitForURL('**status=stolen&categoryId=*&subcategoryId=*')
    await field(page, 'Order').selectOption('Last change first')
    await page.waitForURL('**&sort=updated')
    await yak.waitFor()
    await dashboard.assertAccessible()
    const typed = { 'Created before': '2020-01-01T00:00' }
    await dashboard.confirm(await dashboard.open('Created', 'Jump to a date', typed), 'Show')
    await page.getByText('No evidence matches.').waitFor()
    await button(page, 'Created before Jan 1, 2020').waitFor()
    await button(page, 'All').click()
    await zebra.waitFor()
    assert.match(page.url(), /#\/evidences\?sort=updated$/)
  })
})

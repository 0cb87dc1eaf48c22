import assert from 'node:assert/strict'
import { button, describeDashboard, field, heading } from '../../../support/dashboard.ts'

describeDashboard('the dashboard in Chromium', (it, dashboard) => {
  // Widths change only the layout, color schemes only the colors.
  for (const [width, colorScheme] of [
    [1_440, 'light'],
    [768, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)
    it(`is accessible and not wider than the window at ${width} pixels, ${colorScheme}`, async ({ page }) => {
      const externalId = `page-${width}-${colorScheme}`
      const id = await dashboard.createConfirmed(externalId)
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await page.goto(dashboard.urlOf('#/sign-in'))
      await field(page, 'API key').waitFor()
      await assertFits()
      await page.goto(dashboard.urlOf(`#/verify/${id}`))
      await heading(page, "Consistent with this registry's own keys").waitFor()
      await assertFits()
      await dashboard.signIn(dashboard.company.keys.A)
      for (const [fragment, title, visible] of [
        ['overview', 'Overview', 'Changed last'],
        ['evidences', 'Evidences', externalId],
        [`evidences/${externalId}`, 'Golf', 'Version 1 ·'],
        ['new-evidence', 'New evidence', 'Record evidence'],
        ['import', 'Import', 'Drop your list here, or choose a file'],
        ['categories', 'Categories', 'Vehicles'],
        ['source-systems', 'Access', 'Made the key'],
        ['log', 'Log', 'Anchored'],
        [`certificate/${id}/${externalId}`, 'Golf', 'Present owner'],
        // With an escape that is none.
        ['no-such-page%', 'There is no page at this address.', 'Go to the evidences'],
      ] as const) {
        await show(fragment)
        await heading(page, title).waitFor()
        await page.getByText(visible).first().waitFor()
        await assertFits()
        if (fragment === 'evidences') await assertTimesFit()
      }
      await show(`evidences/${externalId}`)
      for (const [title, loaded] of [
        ['Download proof', 'Let the reader see whether there are later events'],
        ['Share', 'Make the link'],
        ['Report stolen', 'What happened'],
      ] as const) {
        await button(page, title).click()
        const opened = page.getByRole('dialog')
        await opened.getByText(loaded).first().waitFor()
        await assertFits()
        await page.keyboard.press('Escape')
        await opened.waitFor({ state: 'detached' })
      }
    })

  it('shows texts of 256 characters without a space on a phone, and what it has of each section', async ({ page }) => {
    const long = (character: string): string => character.repeat(256)
    const meta = JSON.stringify({ [long('k')]: long('v') })
    await dashboard.createEvidence('long', { name: long('n'), owner: long('o'), description: long('d'), meta })
    const key = dashboard.company.keys.U
    const json = { owner: long('w'), updateActionPersona: long('p'), updateActionDescription: long('u') }
    await dashboard.ok('updateEvidence', { params: { EVIDENCE_EXTERNAL_ID: 'long' }, json })
    await dashboard.usePhone()
    await dashboard.signIn(key, '#/evidences/long')
    await page.getByText('Version 1 ·').waitFor()
    for (const name of ['Photos 1', 'History 2', 'Facts']) await button(page, name).waitFor()
    await assertFits()
  })

  it('has a heading on pages that cannot be loaded', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.R, '#/categories')
    await heading(page, 'Categories').waitFor()
    await page.route('**/ui/assets/*', (route) => route.abort())
    await page.route('**/api/v1/evidences/**', (route) => route.abort())
    for (const [fragment, title, problem] of [
      ['overview', 'Overview', 'The server cannot be reached.'],
      ['evidences/none', 'none', 'The server cannot be reached.'],
      ['verify', 'Verify a proof', 'This part of the page cannot be loaded.'],
    ] as const) {
      await show(fragment)
      await heading(page, title).waitFor()
      await page.getByRole('alert').filter({ hasText: problem }).waitFor()
      await assertFits()
    }
  })

  /** No time of the list is cut off by its column. */
  async function assertTimesFit(): Promise<void> {
    const cells = dashboard.page.getByRole('cell').filter({ has: dashboard.page.locator('time') })
    const excesses = await cells.evaluateAll((elements: readonly { scrollWidth: number; clientWidth: number }[]) =>
      elements.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
    )
    assert.ok(
      excesses.every((excess) => excess <= 0),
      `times are cut off by ${excesses.join(', ')} pixels`,
    )
  }

  const show = (fragment: string): Promise<void> =>
    dashboard.page.evaluate(`location.hash = ${JSON.stringify(`#/${fragment}`)}`)

  /** The page has no violation of accessibility, and needs no horizontal scrolling. */
  async function assertFits(): Promise<void> {
    const { page } = dashboard
    await dashboard.assertAccessible()
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(excess <= 0, `${page.url()} is ${excess} pixels wider than the window`)
  }
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  assertAccessible,
  button,
  describeDashboard,
  dialog,
  field,
  heading,
  text,
} from '../../../support/dashboard.ts'

describeDashboard('the dashboard in Chromium', (dashboard) => {
  // Widths change only the layout, color schemes only the colors.
  for (const [width, colorScheme] of [
    [1_200, 'light'],
    [390, 'dark'],
  ] as const)
    it(`is accessible and not wider than the window at ${width} pixels, ${colorScheme}`, async () => {
      const { page } = dashboard
      const externalId = `page-${width}-${colorScheme}`
      const id = await dashboard.createEvidence(externalId)
      await dashboard.untilConfirmed(id)
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await page.goto(dashboard.urlOf('#/sign-in'))
      await field(page, 'API key').waitFor()
      await assertFits()
      await page.goto(dashboard.urlOf(`#/verify/${id}`))
      await heading(page, 'Result').waitFor()
      await assertFits()
      await dashboard.signIn(dashboard.company.keys.A)
      for (const [fragment, title, visible] of [
        ['evidences', 'Evidences', externalId],
        [`evidences/${externalId}`, 'Golf', 'C · Confirmed'],
        [`evidences/${externalId}/update`, `Update ${externalId}`, 'Record the update'],
        [`evidences/${externalId}/transfer`, `Transfer ${externalId}`, 'Record the transfer'],
        ['new-evidence', 'Create an evidence', 'Create'],
        ['categories', 'Categories', 'Vehicles'],
        ['source-systems', 'Source Systems', 'created'],
        ['log', 'The log', 'C · Confirmed'],
        [`certificate/${id}/${externalId}`, 'Certificate of registration', 'Present state'],
        ['no-such-page', 'There is no page at this address.', 'Go to the evidences'],
      ] as const) {
        await show(fragment)
        await heading(page, title).waitFor()
        await text(page, visible).first().waitFor()
        await assertFits()
        if (fragment === 'evidences') await assertTimesFit()
      }
      await show(`evidences/${externalId}`)
      for (const [title, loaded] of [
        ['Download proof', 'Let the reader find later versions in the log'],
        ['Share', 'Copy'],
      ] as const) {
        await button(page, title).click()
        const opened = dialog(page, title)
        await text(opened, loaded).waitFor()
        await assertFits()
        await page.keyboard.press('Escape')
        await opened.waitFor({ state: 'detached' })
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
    await assertAccessible(page)
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(excess <= 0, `${page.url()} is ${excess} pixels wider than the window`)
  }
})

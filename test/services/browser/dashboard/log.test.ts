import assert from 'node:assert/strict'
import { assertAccessible, button, describeDashboard, field, heading, link, text } from '../../../support/dashboard.ts'

describeDashboard('the page of the log in Chromium', (it, dashboard) => {
  it('shows batches, plots, and the path of a transaction in the tree', async ({ page }) => {
    const id = await dashboard.createConfirmed('log-1')
    const { txId, merkle } = await dashboard.proofOf(id)
    await page.goto(dashboard.urlOf('#/log'))
    await heading(page, 'Newest checkpoint').waitFor()
    for (const name of [/^Growth: from 0 to /, /^From seal to block: at most /])
      await page.getByRole('img', { name }).waitFor()
    // One batch is enough for a line that can be seen.
    const line = await page.locator('.bars polyline').boundingBox()
    assert.ok(line !== null && line.width > 0 && line.height > 0, JSON.stringify(line))
    const row = page.getByRole('row').filter({ has: page.getByTitle(merkle.merkleRoot, { exact: true }) })
    await text(row, 'Anchored').waitFor()
    await field(page, 'txId').fill(txId)
    await button(page, 'Show').click()
    await heading(page, 'Path from the leaf to the root').waitFor()
    const nodes = (role: string): Promise<number> => page.locator(`.proof-tree .node.${role}`).count()
    assert.deepEqual([await nodes('path'), await nodes('sibling')], [merkle.proof.length + 1, merkle.proof.length])
    await assertAccessible(page)
  })

  it('says that it loads until the first response', async ({ page }) => {
    const release = await dashboard.hold('**/log/batches?*')
    await page.goto(dashboard.urlOf('#/log'))
    const batches = page.locator('section', { has: heading(page, 'Batches') })
    await text(batches, 'Loading …').waitFor()
    assert.equal(await batches.getByText('Nothing is sealed yet').count(), 0)
    release()
    await text(batches, 'Loading …').waitFor({ state: 'detached' })
    await batches.getByRole('table').waitFor()
  })

  it('shows the path of the event whose txId was clicked in the history', async ({ page }) => {
    const id = await dashboard.createSealed('log-2')
    const { txId, merkle } = await dashboard.proofOf(id)
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences/log-2')
    await page.locator('summary', { hasText: 'Hashes' }).click()
    await link(page, txId).click()
    await heading(page, 'Path from the leaf to the root').waitFor()
    assert.equal(await field(page, 'txId').inputValue(), txId)
    await page.locator('.path li', { hasText: `Leaf ${merkle.leafIndex}: ${txId}` }).waitFor()
    await page.goto(dashboard.urlOf('#/log/no-txid'))
    await page.locator('input[aria-invalid="true"]').waitFor()
  })
})

import assert from 'node:assert/strict'
import { button, describeDashboard, field, heading, link, text } from '../../../support/dashboard.ts'

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
    await dashboard.assertAccessible()
  })

  it('shows the fingerprint, the quorum, and what each witness has cosigned', async ({ page }) => {
    const [cosignedAt, alarm] = [new Date().toISOString(), 'WITNESS_OTHER_HISTORY']
    const witnesses = [
      { name: 'police', treeSize: 31_903, cosignedAt },
      { name: 'insurers', treeSize: 12, cosignedAt, alarm },
      { name: 'notary', treeSize: 0 },
    ]
    const names = witnesses.map(({ name }) => name)
    const groups = [{ name: 'enough', threshold: 2, members: names }]
    const named = { witnesses: names.map((name) => ({ name, vkey: name })), groups, quorum: 'enough' }
    await page.route('**/log/witnesses', (route) => route.fulfill({ json: { witnesses } }))
    await dashboard.changeJson('**/log/policy', (policy: object) => ({ ...policy, ...named }))
    await page.goto(dashboard.urlOf('#/log'))
    await text(page, '2 of 3: police, insurers, notary').waitFor()
    assert.equal(await page.getByRole('list', { name: 'Words of the fingerprint' }).getByRole('listitem').count(), 8)
    const rows = page.locator('section', { has: heading(page, 'Witnesses') }).getByRole('listitem')
    for (const [i, said] of [
      /police.*signed 31,903 entries/s,
      /insurers.*is asked no more/s,
      /has not signed/,
    ].entries())
      assert.match(await rows.nth(i).innerText(), said)
    await text(rows.nth(1), 'evidence-registry witnesses resume insurers').waitFor()
    await dashboard.assertAccessible()
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

  it('waits for a response that takes longer than the pause between two requests', async ({ page }) => {
    await dashboard.createSealed('log-3')
    const [url, asked] = ['**/log/checkpoint', [] as string[]]
    page.on('request', (request) => asked.push(...request.url().split('/').slice(-1)))
    const release = await dashboard.hold(url)
    await page.clock.install()
    await Promise.all([page.waitForRequest(url), page.goto(dashboard.urlOf('#/log'))])
    await page.clock.runFor(10_000)
    assert.equal(asked.filter((name) => name === 'checkpoint').length, 1)
    release()
    await page
      .locator('section', { has: heading(page, 'Newest checkpoint') })
      .locator('pre')
      .waitFor()
    await Promise.all([page.waitForRequest(url), page.clock.runFor(3_000)])
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

import assert from 'node:assert/strict'
import { button, describeDashboard, dialog, field, fill, heading, link } from '../../../support/dashboard.ts'
import { OPERATOR_KEY } from '../../../support/service.ts'

describeDashboard('the ways through the dashboard in Chromium', (it, dashboard) => {
  it('lead from an empty company to its first verified proof', async ({ page }) => {
    await dashboard.signIn(OPERATOR_KEY, '', 'fresh')
    await button(page, 'Create the key').click()
    await field(page, 'I have stored the key').check()
    await button(page, 'Close').click()
    await page.getByText('“Front desk” of fresh may update.').waitFor()
    assert.equal(await page.locator('.pipeline .idle').count(), 4)
    await fill(page, { Name: 'Drill', 'External id': 'D-1' })
    await button(page, 'Record evidence').click()
    await link(page, 'Verify it now').waitFor()
    assert.equal(await page.locator('.pipeline .idle').count(), 0)
    await dashboard.assertAccessible()
    await link(page, 'Verify it now').click()
    await heading(page, "Consistent with this registry's own keys").waitFor()
    await link(page, 'Overview').click()
    await heading(page, 'Changed last').waitFor()
  })

  it('lead the operator to another company without the key', async ({ page }) => {
    await dashboard.service.company('other')
    await dashboard.signIn(OPERATOR_KEY, '', 'acme')
    await link(page, 'Switch company').click()
    await button(page, 'other').waitFor()
    assert.equal(await field(page, 'API key').count(), 0)
    await dashboard.assertAccessible()
    await button(page, 'other').click()
    await page.locator('.account', { hasText: 'other' }).waitFor()
  })

  it('ask before they lose what was entered', async ({ page }) => {
    await dashboard.createEvidence('kept-1')
    const asked: string[] = []
    let isDiscarded = false
    page.on('dialog', (question) => {
      asked.push(question.message())
      void (isDiscarded ? question.accept() : question.dismiss())
    })
    await dashboard.signIn(dashboard.company.keys.U, '#/new-evidence')
    await field(page, 'Name').fill('Drill')
    await link(page, 'Log').click()
    await page.waitForURL('**/#/new-evidence')
    assert.equal(await field(page, 'Name').inputValue(), 'Drill')
    // Neither a dialog that was open over the form, nor another way out.
    await button(page, 'Keyboard').click()
    await page.keyboard.press('Escape')
    await dialog(page, 'Keyboard').waitFor({ state: 'detached' })
    await link(page, 'Log').click()
    await button(page, 'Sign out').click()
    assert.equal(await field(page, 'Name').inputValue(), 'Drill')
    await fill(page, { Name: '', Owner: 'Ada' })
    await link(page, 'Log').click()
    await page.waitForURL('**/#/new-evidence')
    assert.equal(await field(page, 'Owner').inputValue(), 'Ada')
    isDiscarded = true
    await link(page, 'Log').click()
    await heading(page, 'Log').waitFor()

    isDiscarded = false
    await page.evaluate("location.hash = '#/evidences/kept-1'")
    const transfer = await dashboard.open('Transfer', 'Transfer to another owner', { 'New owner': 'Grace' })
    await button(transfer, 'Dismiss').click()
    // Chromium asks the page only about the first Escape.
    for (const key of ['Escape', 'Escape']) await page.keyboard.press(key)
    assert.equal(await field(transfer, 'New owner').inputValue(), 'Grace')
    isDiscarded = true
    await page.keyboard.press('Escape')
    await transfer.waitFor({ state: 'detached' })
    assert.deepEqual(
      asked,
      Array.from({ length: 9 }, () => 'Discard what you have entered?'),
    )
  })

  it('give dialogs the order of the Tab key that they show', async ({ page }) => {
    await dashboard.createEvidence('order-1')
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/order-1')
    for (const width of [1_200, 390]) {
      await page.setViewportSize({ width, height: 800 })
      const repair = await dashboard.open('Record repair', 'Record a repair')
      const buttons = [button(repair, 'Cancel'), button(repair, 'Record repair')] as const
      await buttons[0].focus()
      await page.keyboard.press('Tab')
      await buttons[1].and(page.locator(':focus')).waitFor()
      const [cancel, record] = await Promise.all(buttons.map((each) => each.boundingBox()))
      assert.ok(cancel && record && cancel.x < record.x && cancel.y === record.y)
      await dashboard.confirm(repair, 'Cancel')
    }
  })

  it('keep the first evidence that is typed, whatever happens meanwhile', async ({ page, service }) => {
    const companyId = 'busy'
    const { keys } = await service.company(companyId)
    await page.clock.install()
    await dashboard.signIn(keys.U, '', companyId)
    await field(page, 'Name').fill('Drill')
    let reads = 0
    page.on('request', (request) => (reads += Number(request.url().endsWith('/overview'))))
    await page.clock.runFor(60_000)
    // A read that finds the evidence of somebody else, or fails, ends the form.
    assert.equal(reads, 0)
  })

  it('take another key in place of one that has ended, and keep what was typed', async ({ page, company }) => {
    const key = company.keys.A
    const apiKey = 'key-of-a-clerk-who-left'
    const json = { name: 'clerk', apiKey, permissions: 'U' }
    const { id: SYSTEM_ID } = await dashboard.ok('createSourceSystem', { key, json })
    await dashboard.createEvidence('ended-1')
    await dashboard.signIn(apiKey, '#/evidences/ended-1')
    const repair = await dashboard.open('Record repair', 'Record a repair', { Remark: 'new chain' })
    await dashboard.ok('updateSourceSystem', { key, params: { SYSTEM_ID }, json: { active: false } })
    await button(repair, 'Record repair').click()
    const ended = dialog(page, 'Your key does not work any more')
    await field(ended, 'API key').fill('not-a-key-of-this-company')
    await button(ended, 'Go on with this key').click()
    await ended.getByRole('alert').waitFor()
    await dashboard.assertAccessible()
    await field(ended, 'API key').fill(company.keys.U)
    await dashboard.confirm(ended, 'Go on with this key')
    assert.equal(await repair.getByRole('alert').filter({ hasText: /./ }).count(), 0)
    await dashboard.confirm(repair, 'Record repair')
    await page.getByText('new chain').waitFor()
  })

  it('keep a dialog that is opened in the moment in which its page appears', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.A, '#/source-systems')
    await heading(page, 'Access').waitFor()
    await page.evaluate(`location.hash = '#/log'`)
    await heading(page, 'Log').waitFor()
    await page.evaluate(`new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        const opener = [...document.querySelectorAll('button')].find((it) => it.textContent === 'New key')
        if (opener === undefined) return
        observer.disconnect()
        opener.click()
        requestAnimationFrame(() => setTimeout(resolve))
      }).observe(document.body, { childList: true, subtree: true })
      location.hash = '#/source-systems'
    })`)
    await dialog(page, 'New key').waitFor()
  })

  it('say what was recorded, and show it', async ({ page }) => {
    await dashboard.createEvidence('said-1')
    // The message stays, however slow the test is.
    await page.addInitScript('const wait = setTimeout; setTimeout = (run, ms) => (ms === 6000 ? 0 : wait(run, ms))')
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/said-1')
    const repair = await dashboard.open('Record repair', 'Record a repair', { Remark: 'new chain' })
    await button(repair, 'Record repair').click()
    const toast = page.getByRole('status').filter({ hasText: 'Repaired. Sealing …' })
    await button(toast, 'Show').click()
    await dashboard.assertAccessible()
  })

  it('show ages as times after a tap on one, or the key t, and ages again', async ({ page }) => {
    await dashboard.createEvidence('aged-1')
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences?externalId=aged-')
    const age = page.locator('.age').first()
    const exact = page.locator('.age', { hasText: /:\d\d/ }).first()
    await age.click()
    await exact.waitFor()
    // The row below the time is a link.
    assert.match(page.url(), /externalId=aged-$/)
    await page.keyboard.press('t')
    await exact.waitFor({ state: 'detached' })
    assert.equal(await age.count(), 1)
  })

  it('follow single keys, unless they are switched off', async ({ page }) => {
    for (const id of ['key-1', 'key-2']) await dashboard.createEvidence(id)
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences?externalId=key-')
    await link(page, 'Golf, key-1').waitFor()
    for (const [key, row] of [
      ['j', 'key-2'],
      ['j', 'key-1'],
      ['k', 'key-2'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator(`a:focus[aria-label="Golf, ${row}"]`).waitFor()
    }
    await page.keyboard.press('?')
    await dashboard.assertAccessible()
    await field(dialog(page, 'Keyboard'), 'Use these keys').uncheck()
    await page.keyboard.press('Escape')
    await page.locator('a:focus').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await heading(page, 'History').waitFor()
    assert.match(page.url(), /key-2$/)
  })
})

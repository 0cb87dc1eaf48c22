import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import type { EvidenceEvent, EvidencePage } from '../../../../server/client/index.ts'
import {
  button,
  describeDashboard,
  field,
  fill,
  heading,
  link,
  PHOTO,
  SCOPE,
  text,
  textFile,
} from '../../../support/dashboard.ts'
import { present } from '../../../support/present.ts'

const MANY_EVIDENCES = 1_500
const MANY_EVENTS = 520
/** The service cuts longer pages. */
const MAX_PAGE_EVENTS = 500
/** For any number of rows: those that are visible, and some around them. */
const MAX_ROWS = 80
/** The height of a row of the list. */
const ROW_PX = 64

describeDashboard('the pages of evidences in Chromium', (it, dashboard) => {
  it('create, update and transfer an evidence, and show its history until it is confirmed', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.U, '#/new-evidence')
    const typed = { Category: 'Vehicles', Subcategory: 'Cars', 'External id': 'VIN/1 ü', Name: '<b>Golf</b>' }
    await fill(page, typed)
    await field(page, 'Choose files').setInputFiles({ name: 'car.png', mimeType: 'image/png', buffer: PHOTO })
    await button(page, 'Record evidence').click()
    await heading(page, '<b>Golf</b>').waitFor()
    await page.getByRole('img', { name: '<b>Golf</b>' }).first().waitFor()
    await text(page.locator('.timeline'), 'Anchored').waitFor()
    await dashboard.assertAccessible()

    const change = await dashboard.open('Change', 'Change name and facts')
    await button(change, 'Change').click()
    await text(change, 'Nothing is changed yet').waitFor()
    await button(change, 'Edit as JSON').click()
    await field(change, 'Facts as JSON').fill('not JSON')
    await button(change, 'Change').click()
    await change.getByText('Enter a JSON object').waitFor()
    await field(change, 'Facts as JSON').and(page.locator(':focus')).waitFor()
    await field(change, 'Facts as JSON').fill('{"color":"red"}')
    await button(change, 'Change').click()
    await text(page, 'Changed').waitFor()
    await text(page.getByRole('table', { name: 'What this event changed' }), 'red').waitFor()

    await transferTo('Grace')
    await page.locator('ins', { hasText: 'Grace' }).waitFor()

    await transferWithoutNewOwner('Grace')

    const attachment = await dashboard.open('Attach', 'Attach photos or files')
    await field(attachment, 'Choose files').setInputFiles(textFile('wrong.txt', 'b'))
    await button(attachment, 'Leave out: wrong.txt').click()
    await field(attachment, 'Choose files').setInputFiles(textFile('a.txt', 'a'))
    await button(attachment, 'Attach').click()
    await text(page, 'Files attached').waitFor()
    assert.equal((await dashboard.service.registry.evidences.get(SCOPE, 'VIN/1 ü')).evidence.version, 4)
    await dashboard.confirm(await dashboard.open('Delete: a.txt', 'Delete a.txt?'), 'Delete')
    await text(page, 'File deleted').waitFor()
  })

  /** A transfer with a description and without a new owner is rejected at the field, and not recorded as a note. */
  async function transferWithoutNewOwner(owner: string): Promise<void> {
    const { page } = dashboard
    const transfer = await dashboard.open('Transfer', 'Transfer to another owner')
    await text(transfer.locator('dl', { hasText: 'Present owner' }), owner).waitFor()
    await field(transfer, 'Remark').fill('sold')
    for (const [typed, problem] of [
      ['', 'Enter the new owner'],
      [owner, 'This is the present owner: enter another one'],
    ] as const) {
      await field(transfer, 'New owner').fill(typed)
      await button(transfer, 'Transfer').click()
      await page
        .locator('.field', { has: field(page, 'New owner') })
        .getByText(problem, { exact: true })
        .waitFor()
      assert.equal(await field(page, 'New owner').getAttribute('aria-invalid'), 'true')
    }
    await dashboard.assertAccessible()
    await dashboard.confirm(transfer, 'Cancel')
  }

  async function transferTo(owner: string): Promise<void> {
    const { page } = dashboard
    const transfer = await dashboard.open('Transfer', 'Transfer to another owner', { 'New owner': owner })
    await button(transfer, 'Transfer').click()
    await text(page, 'Transferred').waitFor()
  }

  /** Sends a form. The service applies it, and its response is lost. */
  const sendAndLose = async (form: Locator | Page, verb: string): Promise<void> => {
    const { page } = dashboard
    await page.route('**/api/v1/**', async (route) => {
      if (route.request().method() === 'GET') return route.continue()
      await route.fetch()
      await route.abort()
    })
    await button(form, verb).click()
    await form.getByText('The server cannot be reached, or its response was lost.').waitFor()
    await page.unrouteAll()
  }

  it('say all that is wrong at once, each beside its field, before anything is sent', async ({ page }) => {
    await dashboard.createEvidence('taken-1')
    await dashboard.signIn(dashboard.company.keys.U, '#/new-evidence')
    await field(page, 'Name').waitFor()
    let sent = 0
    page.on('request', (request) => (sent += Number(request.method() === 'POST')))
    await page.locator('summary', { hasText: 'More facts' }).click()
    await field(page, 'Fact 1, value').fill('red')
    await field(page, 'Summary').fill('s'.repeat(8_193))
    await page.evaluate(`document.querySelector('meta[name=max-file-bytes]').content = '3'`)
    const files = [textFile('small.txt', 'abc'), textFile('large.txt', 'abcd')]
    await field(page, 'Choose files').setInputFiles(files)
    await button(page, 'Record evidence').click()
    for (const said of [
      'Too large: large.txt (4 byte). A file has at most 3 byte.',
      'Enter a name',
      'Enter an external id',
      'Enter or choose a category',
      'Enter or choose a subcategory',
      'At most 8,192 characters; these are 8,193',
      'Each fact needs a name, and no other fact has it',
    ])
      await text(page, said).waitFor()
    await button(page, 'Leave out: small.txt').waitFor()
    await field(page, 'Name').and(page.locator(':focus')).waitFor()
    await dashboard.assertAccessible()
    assert.equal(sent, 0)

    await fill(page, { Name: 'Bike', 'External id': 'taken-1', Category: 'Vehicles', Subcategory: 'Bikes' })
    await fill(page, { Summary: '', 'Fact 1, name': 'color' })
    await button(page, 'Record evidence').click()
    await link(page, 'This external id is taken by Golf').waitFor()
    assert.equal(await page.locator('[aria-invalid=true]').count(), 1)
    await field(page, 'External id').and(page.locator(':focus')).fill('free-1')
    await button(page, 'Record evidence').click()
    await heading(page, 'Bike').waitFor()
    assert.deepEqual((await dashboard.service.registry.evidences.get(SCOPE, 'free-1')).evidence.meta, { color: 'red' })
  })

  it('change facts in rows, and keep which of them are numbers', async ({ page, service }) => {
    const { evidences } = service.registry
    await dashboard.createEvidence('facts-1', { meta: '{"color":"red","seats":5,"is new":true,"size":{"cm":3}}' })
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/facts-1')
    const change = await dashboard.open('Change', 'Change name and facts')
    // Rows have no objects in objects.
    await field(change, 'Facts as JSON').fill('{"color":"red","seats":5,"is new":true}')
    await button(change, 'Edit as rows').click()
    const typeFact = (row: number, name: string, value: string): Promise<void> =>
      fill(change, { [`Fact ${row}, name`]: name, [`Fact ${row}, value`]: value })
    await field(change, 'Fact 2, value').fill('')
    await typeFact(2, 'seats', '4')
    await typeFact(4, 'color', '7')
    await button(change, 'Change').click()
    await text(change, 'Each fact needs a name, and no other fact has it').waitFor()
    await field(change, 'Fact 1, name').and(page.locator(':focus')).waitFor()
    await dashboard.assertAccessible()
    await typeFact(4, 'plate', '7')
    await button(change, 'Remove fact 1').click()
    await dashboard.confirm(change, 'Change')
    const { evidence } = await evidences.get(SCOPE, 'facts-1')
    assert.deepEqual(evidence.meta, { 'is new': true, plate: '7', seats: 4 })
  })

  it('keep what somebody else wrote meanwhile, and show it', async ({ service }) => {
    const before = { owner: 'Ada', summary: 'old summary', description: 'old description', name: 'Golf' }
    await dashboard.createEvidence('both-1', before)
    const { evidences } = service.registry
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/both-1')
    const change = await dashboard.open('Change', 'Change name and facts')
    await evidences.update(SCOPE, 'both-1', { summary: 'brake is broken', name: 'Golf (broken)' })
    await evidences.update(SCOPE, 'both-1', { description: 'their description' })
    await field(change, 'Description').fill('my description')
    await button(change, 'Change').click()
    await change.getByText('This record was changed after you opened it').waitFor()
    await button(change, 'Load the newest, keep my text').click()
    await text(change, 'The newest: their description').waitFor()
    const shown = ['Name', 'Summary', 'Description'].map((label) => field(change, label).inputValue())
    assert.deepEqual(await Promise.all(shown), ['Golf (broken)', 'brake is broken', 'my description'])
    await dashboard.assertAccessible()
    await dashboard.confirm(change, 'Change')
    const { evidence } = await evidences.get(SCOPE, 'both-1')
    const { name, summary, description } = evidence
    assert.deepEqual([name, summary, description], ['Golf (broken)', 'brake is broken', 'my description'])

    const transfer = await dashboard.open('Transfer', 'Transfer to another owner')
    await evidences.update(SCOPE, 'both-1', { owner: 'Bob' })
    await field(transfer, 'New owner').fill('Ada')
    await button(transfer, 'Transfer').click()
    // The owner of the time at which the dialog was opened.
    await text(transfer, 'This is the present owner: enter another one').waitFor()
    await field(transfer, 'New owner').fill('Carol')
    await button(transfer, 'Transfer').click()
    await button(transfer, 'Load the newest, keep my text').click()
    await text(transfer.locator('dl', { hasText: 'Present owner' }), 'Bob').waitFor()
    await field(transfer, 'New owner').fill('Ada')
    await dashboard.confirm(transfer, 'Transfer')
  })

  it('record once what is sent again because its response was lost', async ({ page, service }) => {
    const { evidences } = service.registry
    await dashboard.signIn(dashboard.company.keys.U, '#/new-evidence')
    await fill(page, { Name: 'Bike', 'External id': 'lost-1', Category: 'Vehicles', Subcategory: 'Bikes' })
    await field(page, 'Choose files').setInputFiles({ name: 'bike.png', mimeType: 'image/png', buffer: PHOTO })
    await sendAndLose(page, 'Record evidence')
    await button(page, 'Record evidence').click()
    await heading(page, 'History').waitFor()

    const repair = await dashboard.open('Record repair', 'Record a repair', { Remark: 'new brakes' })
    await sendAndLose(repair, 'Record repair')
    await dashboard.confirm(repair, 'Record repair')

    const deletion = await dashboard.open('Attach', 'Attach photos or files')
    await field(deletion, 'Choose files').setInputFiles(textFile('a.txt', 'a'))
    await dashboard.confirm(deletion, 'Attach')
    const remove = await dashboard.open('Delete: a.txt', 'Delete a.txt?')
    await sendAndLose(remove, 'Delete')
    await dashboard.confirm(remove, 'Delete')
    const { events } = await evidences.get(SCOPE, 'lost-1')
    assert.deepEqual(
      events.map(({ type, updateType }) => updateType ?? type),
      ['create', 'repair', 'addfile', 'deletefile'],
    )
  })

  it('keep a dialog until the page shows what it recorded: the next change must know its version', async ({ page }) => {
    await dashboard.createEvidence('twice-1')
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/twice-1')
    const repair = await dashboard.open('Record repair', 'Record a repair', { Remark: 'new brakes' })
    const newest = '**/evidence/twice-1?last=1000000000&len=1'
    const release = await dashboard.hold(newest)
    await Promise.all([page.waitForRequest(newest), button(repair, 'Record repair').click()])
    const isShown = await repair.isVisible()
    release()
    assert.ok(isShown)
    await repair.waitFor({ state: 'detached' })
    const transfer = await dashboard.open('Transfer', 'Transfer to another owner', { 'New owner': 'Grace' })
    await dashboard.confirm(transfer, 'Transfer')
  })

  it('show what may be recorded before they send another request', async ({ page, service }) => {
    const { evidences } = service.registry
    await dashboard.createEvidence('lost-2')
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences/lost-2')
    const repair = await dashboard.open('Record repair', 'Record a repair', { Remark: 'new brakes' })
    await sendAndLose(repair, 'Record repair')
    await field(repair, 'Remark').fill('new brakes, front')
    await button(repair, 'Record repair').click()
    await repair.getByText('Your last request may have been recorded').waitFor()
    await text(repair, 'Repaired · new brakes').waitFor()
    await dashboard.assertAccessible()
    assert.equal((await evidences.get(SCOPE, 'lost-2')).events.length, 2)
    await dashboard.confirm(repair, 'Record repair')

    const transfer = await dashboard.open('Transfer', 'Transfer to another owner', { 'New owner': 'Grace' })
    await sendAndLose(transfer, 'Transfer')
    await button(transfer, 'Cancel').click()
    await text(page.getByRole('region', { name: 'Golf' }), 'Grace').waitFor()
  })

  it('say what is wrong with a time in the address', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences?createdFrom=yesterday')
    await page.getByRole('alert').getByText('createdFrom').waitFor()
  })

  it('show the present state if another user has changed it meanwhile', async ({ page }) => {
    await dashboard.createEvidence('two-tabs', { owner: 'Ada' })
    // The history is read again while an event is not confirmed.
    await dashboard.change('**/evidence/two-tabs?*', (body) =>
      body.replaceAll('"merkleSendStatus":"C"', '"merkleSendStatus":"P"'),
    )
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences/two-tabs')
    const tag = page.locator('.tag')
    await text(tag, 'Active').waitFor()
    await text(page.locator('.timeline'), 'Created').waitFor()
    await dashboard.update('two-tabs', { updateType: 'stolen' })
    await text(tag, 'Stolen').waitFor()
  })

  it('show every event of a long history', async ({ page }) => {
    await dashboard.createEvidence('long-1')
    // A stand-in for the service: 520 real events take half a minute to make. The last is confirmed at the second read.
    let readsOfLast = 0
    await page.route('**/evidence/long-1?*', async (route) => {
      const { origin, pathname, searchParams } = new URL(route.request().url())
      const real = await route.fetch({ url: `${origin}${pathname}` })
      const body = (await real.json()) as EvidencePage
      const last = Number(searchParams.get('last') ?? 0)
      const len = Number(searchParams.get('len') ?? 50)
      const count = Math.max(0, Math.min(len, MAX_PAGE_EVENTS, MANY_EVENTS - last))
      const events = Array.from({ length: count }, (_, i) => longEvent(body.events[0], last + 1 + i))
      const isMore = last + count < MANY_EVENTS
      if (!isMore && count > 0) readsOfLast += 1
      const shown = events.map((event) =>
        event.version === MANY_EVENTS && readsOfLast === 1 ? { ...event, merkleSendStatus: 'P' } : event,
      )
      const lastVersion = Math.min(last + count, MANY_EVENTS)
      await route.fulfill({ json: { ...body, events: shown, lastVersion, isMore } })
    })
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences/long-1')
    const events = page.locator('.timeline > li')
    for (let shown = 50; shown < MANY_EVENTS; shown += 50) {
      await events.nth(shown - 1).waitFor()
      await button(page, 'Load more').click()
    }
    await text(events.first().locator('ins'), `owner ${MANY_EVENTS}`).waitFor()
    await text(events.first(), 'Anchored').waitFor()
    await events.last().getByText('Version 1 ·').waitFor({ state: 'attached' })
    assert.equal(await events.count(), MANY_EVENTS)
    // A read that a click ends is repeated.
    assert.ok(readsOfLast >= 2, `the newest event was read ${readsOfLast} times`)
    assert.equal(await button(page, 'Load more').count(), 0)
    // Each event is compared with the one before, also across pages.
    await text(events.nth(50).locator('del'), `owner ${MANY_EVENTS - 51}`).waitFor()
  })

  /** An event that sets another owner, made of a real one. */
  function longEvent(real: EvidenceEvent | undefined, version: number) {
    const owner = { text: JSON.stringify(['owner', `owner ${version}`]) }
    return { ...real, type: 'transfer', version, merkleSendStatus: 'C', disclosure: { fields: { owner }, files: {} } }
  }

  it('keep the list small while it is scrolled', async ({ page, service, company }) => {
    await service.fill('acme', MANY_EVIDENCES, { name: 'Row' })
    const { categoryId } = present((await service.registry.evidences.list(SCOPE, { limit: 1 })).items[0])
    await dashboard.signIn(company.keys.R, `#/evidences?categoryId=${categoryId}`)
    // The newest is first, and the header is row 1, so the row with the number 400 is row 1,101.
    await link(page, 'Row, e1499').waitFor()
    const table = page.getByRole('region', { name: 'Evidences', exact: true })
    await scrollTo(table, 1_101)
    await link(page, 'Row, e400').waitFor()
    await dashboard.assertAccessible()
    // Back shows the list where it was left.
    await link(page, 'Row, e400').click()
    await heading(page, 'History').waitFor()
    await page.goBack()
    await link(page, 'Row, e400').waitFor()
    await page.getByText('1,200 loaded').waitFor()
  })

  it('claim no number of evidences that they do not know', async ({ page }) => {
    let fail = (): void => {}
    const failing = new Promise<void>((resolve) => (fail = resolve))
    await page.route('**/evidences?*', async (route) => {
      await failing
      await route.abort()
    })
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences?externalId=nothing-has-this')
    const status = page.getByRole('status')
    await text(status, 'Loading …').waitFor()
    fail()
    await page.getByText('The server cannot be reached').waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /\d evidences/)
  })

  it('show a changed evidence when the user goes back to the list', async ({ page }) => {
    await dashboard.createEvidence('back-1', { owner: 'Ada' })
    await dashboard.signIn(dashboard.company.keys.U, '#/evidences?externalId=back-1')
    const owner = (name: string): Locator => page.getByRole('cell', { name, exact: true })
    await owner('Ada').waitFor()
    await link(page, 'Golf, back-1').click()
    await transferTo('Grace')
    await page.goBack()
    await owner('Grace').waitFor()
  })

  /** Scrolls page by page until a row is the first that is visible, and waits for the first row of each page. */
  async function scrollTo(table: Locator, row: number): Promise<void> {
    for (let topRow = 0; topRow < row;) {
      topRow = await table.evaluate(
        (element: { scrollTop: number; clientHeight: number }, { rowPx, endPx }) => {
          element.scrollTop = Math.min(element.scrollTop + element.clientHeight, endPx)
          return Math.floor(element.scrollTop / rowPx) + 2
        },
        // Row 2 is the first below the header.
        { rowPx: ROW_PX, endPx: (row - 2) * ROW_PX },
      )
      await table.locator(`[aria-rowindex="${topRow}"]`).waitFor({ state: 'attached' })
      const rows = await table.getByRole('row').count()
      assert.ok(rows <= MAX_ROWS, `${rows} rows are in the page`)
    }
  }
})

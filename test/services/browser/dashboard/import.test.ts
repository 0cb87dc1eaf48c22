import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { button, describeDashboard, field, heading, link, SCOPE, text } from '../../../support/dashboard.ts'

const csvFile = (lines: readonly string[]) => ({
  name: 'inventory.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(lines.join('\r\n')),
})

describeDashboard('the import in Chromium', (it, dashboard) => {
  it('creates evidences from a CSV file, and says of each other row why it is left out', async ({ page, service }) => {
    await dashboard.createEvidence('BIKE-1')
    await dashboard.signIn(dashboard.company.keys.I, '#/evidences')
    await link(page, 'Import').click()
    await heading(page, 'Import').waitFor()
    await dashboard.assertAccessible()
    await field(page, 'Drop your list here, or choose a file').setInputFiles(
      csvFile([
        'Inventory no;Name;Owner;Category;Group;Serial;Remarks',
        'BIKE-1;Taken;;Vehicles;Cars;;',
        'BIKE-2;"Nordlicht; blue";Grace;Vehicles;Cars;NL7;back room',
        'BIKE-3;;Grace;Vehicles;Cars;NL8;',
        'BIKE-2;Again;Grace;Vehicles;Cars;NL9;',
        'BIKE-4;Scooter;Grace;Vehicles;E-scooters;NL9;',
        `BIKE-5;${'x'.repeat(257)};Grace;Vehicles;Cars;NL9;`,
        'BIKE-6;City bike;Grace;Vehicles;Cars;NL9;;shifted',
      ]),
    )

    await text(page, 'Choose a column for: External id, Subcategory').waitFor()
    assert.equal(await field(page, 'Name becomes').inputValue(), 'name')
    assert.equal(await field(page, 'Remarks becomes').inputValue(), '')
    await field(page, 'Inventory no becomes').selectOption('External id')
    await field(page, 'Group becomes').selectOption('Subcategory')
    await field(page, 'Serial becomes').selectOption('A fact: Serial')
    await dashboard.assertAccessible()
    await button(page, 'Check 7 rows').click()

    await text(page, '2 of 7 rows are ready').waitFor()
    for (const tally of ['1\nare new', '1\nare there already', '5\nhave a fault'])
      await page.locator('.answer', { hasText: new RegExp(tally.replace('\n', '\\s*')) }).waitFor()
    const reasons = await page
      .getByRole('list', { name: 'Rows that are left out' })
      .getByRole('listitem')
      .allInnerTexts()
    assert.deepEqual(
      reasons.map((row) =>
        row
          .split('\n')
          .filter((part) => part !== '')
          .slice(0, 2)
          .join(': '),
      ),
      [
        'Row 4: Name is empty',
        'Row 5: The external id is also in row 3',
        'Row 6: There is no active subcategory “E-scooters”, or there are several: give its category, too',
        'Row 7: Name is too long, not a text, or has a character that cannot be printed',
        'Row 8: “column 8” is not a field of a record',
      ],
    )
    await dashboard.assertAccessible()
    const saved = await readFile(await dashboard.download(page, '5 rows with reasons, CSV'), 'utf8')
    assert.match(saved, /^\ufeffRow,External id,Reason\r\n4,BIKE-3,Name is empty\r\n5,BIKE-2,/)

    await button(page, 'Import 1 record').click()
    await text(page, '1 record created').waitFor()
    await page.getByText('0 already there, 5 with a fault, 1 refused. It took').waitFor()
    await page.getByText('The external id is in use, with other values').waitFor()
    await dashboard.assertAccessible()
    const { evidence } = await service.registry.evidences.get(SCOPE, 'BIKE-2')
    assert.deepEqual([evidence.name, evidence.owner, evidence.meta], ['Nordlicht; blue', 'Grace', { Serial: 'NL7' }])
    await link(page, 'Show the new records').click()
    await link(page, 'Nordlicht; blue, BIKE-2').waitFor()
  })

  it('goes on where it stopped if the same file is dropped again', async ({ page, service }) => {
    await dashboard.createEvidence('first')
    await dashboard.signIn(dashboard.company.keys.I, '#/import')
    const rows = Array.from({ length: 1_500 }, (_, i) =>
      JSON.stringify({ externalId: `row-${i}`, name: 'Golf', categoryName: 'Vehicles', subcategoryName: 'Cars' }),
    )
    const file = { name: 'rows.jsonl', mimeType: 'text/plain', buffer: Buffer.from(rows.join('\n')) }
    let requests = 0
    await page.route('**/evidences', async (route) => {
      if (route.request().method() === 'POST' && ++requests > 1) return route.fulfill({ status: 403, json: {} })
      return route.continue()
    })
    await field(page, 'Drop your list here, or choose a file').setInputFiles(file)
    await button(page, 'Import 1,500 records').click()
    await page.getByRole('alert').waitFor()
    await page.unrouteAll({ behavior: 'wait' })

    await dashboard.signInAgain(dashboard.company.keys.I)
    await field(page, 'Drop your list here, or choose a file').setInputFiles(file)
    await page.getByText('are there already').waitFor()
    await button(page, 'Import 1,000 records').or(button(page, 'Import 500 records')).click()
    await button(page, 'Import another').waitFor()
    const shown = await page.locator('main section').innerText()
    const [created = '', present = ''] = /([\d,]+) records created\s+([\d,]+) already there/.exec(shown)?.slice(1) ?? []
    assert.deepEqual([created, present].toSorted(), ['1,000', '500'], shown)
    assert.equal((await service.registry.evidences.list(SCOPE, { words: 'row' })).count, 1_500)
  })

  it('says what is wrong with a file before anything is sent', async ({ page }) => {
    await dashboard.signIn(dashboard.company.keys.I, '#/import')
    const files: readonly (readonly [string, string | Uint8Array, string])[] = [
      ['empty.csv', 'externalId,name\n', 'The file has no rows. Row 1 of a CSV file has the names of its columns.'],
      ['a.csv', 'a,b\n1,"c\n', 'In row 2 a quotation mark is not closed, or not at the end of its cell.'],
      [
        'latin.csv',
        Uint8Array.from([0x61, 0x2c, 0xe4]),
        'The file is not text in UTF-8. Save it as “CSV UTF-8”, then choose it again.',
      ],
    ]
    for (const [name, content, message] of files) {
      const file = { name, mimeType: 'text/csv', buffer: Buffer.from(content) }
      await field(page, 'Drop your list here, or choose a file').setInputFiles(file)
      await page.getByRole('alert').getByText(message).waitFor()
    }
  })
})

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { verifyBundle } from '../../../../core/verify/index.ts'
import {
  button,
  describeDashboard,
  field,
  heading,
  link,
  PHOTO,
  SCOPE,
  text,
  textFile,
} from '../../../support/dashboard.ts'
import { openBundleRegistry } from '../../../support/bundle-fixture.ts'
import { ends, runCli } from '../../../support/server-process.ts'
import { temporaryFor } from '../../../support/temporary.ts'

const OWN_KEYS = "Consistent with this registry's own keys"
const KEYS_OF_FILE = 'Consistent with the keys that the file itself states'

describeDashboard('the pages of proofs in Chromium', (it, dashboard) => {
  const read = async (path: string, key?: string): Promise<string> =>
    (await dashboard.service.fetch(path, key === undefined ? {} : { headers: { 'x-api-key': key } })).text()

  const openDetails = (): Promise<void> => dashboard.page.locator('summary', { hasText: 'Details' }).click()

  it('verify the public proof of an evidence step by step, without a key', async ({ page }) => {
    const id = await dashboard.createConfirmed('verify-1')
    const worker = page.waitForEvent('worker')
    await page.goto(dashboard.urlOf(`#/verify/${id}`))
    await worker
    await text(page, OWN_KEYS).waitFor()
    await field(page, 'or choose them').setInputFiles(textFile('hello.txt', 'hello\n'))
    await text(page, 'hello.txt cannot be compared.').waitFor()
    await button(page, 'Leave it out').click()
    await text(page, 'hello.txt cannot be compared.').waitFor({ state: 'detached' })
    await text(page, OWN_KEYS).waitFor()
    await openDetails()
    for (const [step, state] of [
      ['A key of the log signed the tree', 'ok'],
      ['A timestamp authority stamped the tree', 'named by the registry'],
    ] as const)
      await text(page.locator('li', { hasText: step }), state).waitFor()
    const policy = textFile('policy.json', await read('/api/v1/log/policy'))
    await field(page, 'Policy that you trust').setInputFiles(policy)
    await text(page, 'Proven').waitFor()
    for (const scope of [
      'This one event has not changed since it was recorded.',
      "operator's own test authority or ledger: it proves",
    ])
      await page.getByText(scope).first().waitFor()
    await dashboard.assertAccessible()
  })

  it('say that a proof in JSON is the short form, and verify the bundle in its place', async ({ page }) => {
    const id = await dashboard.createSealed('short-1')
    await page.goto(dashboard.urlOf('#/verify'))
    const short = textFile('proof.json', await read(`/api/v1/merkle/verify/${id}`))
    await field(page, 'or choose them').setInputFiles(short)
    await page.getByText('The server was asked for the proof bundle').waitFor()
    await text(page, OWN_KEYS).waitFor()
    const { txId } = await dashboard.proofOf(id)
    await page.reload()
    const transaction = textFile('proof.json', await read(`/api/v1/merkle/proof/${txId}`))
    await field(page, 'or choose them').setInputFiles(transaction)
    await page.getByText('Fetch the proof bundle').waitFor()
  })

  it('compare a file with a bundle in the browser, and find a changed bundle', async ({ page }) => {
    await dashboard.createEvidence('verify-2')
    const form = new FormData()
    form.append('files', new Blob([PHOTO], { type: 'image/png' }), 'photo.png')
    await dashboard.ok('updateEvidence', { params: { EVIDENCE_EXTERNAL_ID: 'verify-2' }, form })
    await dashboard.service.registry.sealNow()
    const path = '/api/v1/evidences/acme/evidence/verify-2/bundle?fields=all&files=all'
    const bundle = await read(path, dashboard.company.keys.R)
    await page.goto(dashboard.urlOf('#/verify'))
    const input = field(page, 'or choose them')
    await input.setInputFiles([textFile('proof.json', bundle), textFile('hello.txt', 'hello\n')])
    await openDetails()
    await text(page.locator('li', { hasText: 'Your file has the hash' }), 'ok').waitFor()
    await text(page, 'hello.txt is in this proof.').waitFor()
    await input.setInputFiles([{ name: 'copy.png', mimeType: 'image/png', buffer: PHOTO }])
    await text(page, 'copy.png is in this proof.').waitFor()
    await page.getByRole('img', { name: 'copy.png' }).waitFor()
    await dashboard.assertAccessible()
    await input.setInputFiles([textFile('other.txt', 'other')])
    await text(page, 'other.txt is not in this proof.').waitFor()
    await text(page, KEYS_OF_FILE).waitFor()
    await input.setInputFiles([textFile('proof.json', bundle.slice(0, -1))])
    await text(page, 'Not a readable proof').waitFor()
    await page.reload()
    await input.setInputFiles([textFile('proof.json', bundle.replace('Golf', 'Gulf'))])
    await text(page, 'Forged or damaged').waitFor()
    await openDetails()
    for (const [step, state] of [
      ['The document is well-formed', 'ok'],
      ['Every event hashes to its txId', 'failed'],
      ['The event is in the tree', 'not checked'],
    ] as const)
      await text(page.locator('li', { hasText: step }), state).waitFor()
  })

  it('say which proofs of a drop were checked, and what was saved in place of a proof', async ({ page }) => {
    const ids = [await dashboard.createSealed('drop-1'), await dashboard.createSealed('drop-2')] as const
    const paths = ids.map((id) => `/api/v1/merkle/verify/${id}?format=bundle`)
    const [first = '', second = ''] = await Promise.all(paths.map((path) => read(path)))
    await page.goto(dashboard.urlOf('#/verify'))
    const input = field(page, 'or choose them')
    const error = await read(`/api/v1/merkle/verify/nothing?format=bundle`)
    await input.setInputFiles([
      textFile('error.evidence.json', error),
      textFile('login.html', '<!DOCTYPE html><title>Sign in</title>'),
      textFile('empty.evidence.json', ''),
      textFile('photo.txt', 'a content'),
    ])
    for (const said of ['an error of the server: ', 'a web page', 'empty', 'No proof was dropped yet'])
      await page.getByText(said).waitFor()
    assert.equal(await text(page, 'photo.txt').count(), 0)
    await dashboard.assertAccessible()
    await page.reload()
    const proofs = [textFile('a.json', first), textFile('b.json', second), textFile('empty.json', '')]
    await input.setInputFiles(proofs)
    await page.getByText('Only a.json is checked here. Not checked: b.json.').waitFor()
    await text(page, KEYS_OF_FILE).waitFor()
    await openDetails()
    await text(page, (await dashboard.proofOf(ids[0])).txId).waitFor()
    await text(page, 'empty.json cannot be compared.').waitFor()
    await page.getByText('This is not a proof: it is empty').waitFor()
    await input.setInputFiles([textFile('b.json', second)])
    await page.getByText('Not checked: ').waitFor({ state: 'detached' })
  })

  it('download a bundle that discloses only what was chosen, and verify it when it is dropped', async ({ page }) => {
    await dashboard.createSealed('choice-1', { owner: 'Ada', description: 'private' })
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences/choice-1')
    const choice = await dashboard.open('Download proof')
    for (const group of ['Fields that the reader may see', 'Files whose name, type and hash the reader may see'])
      await button(choice.getByRole('group', { name: group, exact: true }), 'None').click()
    await field(choice, 'Owner').check()
    const bundle = await readFile(await dashboard.download(choice, 'Download'), 'utf8')
    const result = verifyBundle(bundle)
    assert.ok(result.state === 'consistent')
    const [event] = result.claims.events
    assert.deepEqual([[...(event?.fields ?? [])], event?.files.size], [[['owner', 'Ada']], 0])

    await choice.waitFor({ state: 'detached' })
    await page.goto(dashboard.urlOf('#/verify'))
    await heading(page, 'Verify a proof').waitFor()
    const file = `new File([${JSON.stringify(bundle)}], 'choice.json')`
    const dataTransfer = await page.evaluateHandle(
      `{ const transfer = new DataTransfer(); transfer.items.add(${file}); transfer }`,
    )
    await page.getByText('Drop a proof').dispatchEvent('drop', { dataTransfer })
    await text(page, KEYS_OF_FILE).waitFor()
    await openDetails()
    await page.getByRole('definition').filter({ hasText: /^Ada$/ }).waitFor()
    assert.equal(await page.getByText('private').count(), 0)
  })

  it('say nothing of the present that a later event hides', async ({ page, company, service }) => {
    await dashboard.createEvidence('hidden-1', { owner: 'Mallory' })
    const { evidences } = service.registry
    await evidences.update(SCOPE, 'hidden-1', { updateType: 'stolen' })
    await evidences.update(SCOPE, 'hidden-1', { owner: 'Police' })
    await evidences.update(SCOPE, 'hidden-1', { updateType: 'stolen', stolen: false })
    await page.goto(dashboard.urlOf('#/verify'))
    const record = page.getByRole('region', { name: 'The record' })
    const hidden = 'Present state not disclosed'
    const cases = [
      ['name,owner', '1-4', 'Owner Police', hidden, 'This proof hides whether'],
      ['all', '1', 'Present owner not disclosed; at event 1: Mallory', hidden, 'This proof hides whether'],
      ['all', '1-3', 'Owner Police', hidden, 'At event 2 the record says: reported stolen.'],
      ['all', '1-4', 'Owner Police', 'Active', undefined],
    ] as const
    for (const [fields, versions, owner, state, notice] of cases) {
      const path = `/api/v1/evidences/acme/evidence/hidden-1/bundle?fields=${fields}&files=none&versions=${versions}`
      await field(page, 'or choose them').setInputFiles(textFile('proof.json', await read(path, company.keys.R)))
      await text(record, state).waitFor()
      await record.getByText(owner).waitFor()
      if (notice !== undefined) await page.getByText(notice).waitFor()
      assert.equal(await text(record, 'Active').count(), state === 'Active' ? 1 : 0)
      await page.reload()
    }
  })

  it('ask the registry about the history of the proof', async ({ page, company }) => {
    await dashboard.createEvidence('VIN-1')
    const own = await read('/api/v1/evidences/acme/evidence/VIN-1/bundle?fields=all&files=none', company.keys.R)
    await dashboard.signIn(company.keys.R, '#/evidences')
    await link(page, 'Verify').click()
    const ask = async (answer: string): Promise<void> => {
      await field(page, 'or choose them').setInputFiles(textFile('proof.json', own))
      await page.getByText(answer).waitFor()
    }
    await ask('The registry says that there is none later.')
    await dashboard.update('VIN-1', { updateType: 'stolen' })
    await ask('The registry says that there are later events: the newest is event 2.')
    await page.getByText('Newest event: Reported stolen').waitFor()
  })

  it('say only what was checked', async ({ page }, t) => {
    const chain = await openBundleRegistry({ directory: await temporaryFor(t), anchor: 'evm' })
    await chain.evidence()
    await chain.settle()
    const bundle = JSON.stringify(await chain.history())
    const policy = JSON.stringify(await chain.registry.log.policy())
    await chain.close()
    await page.goto(dashboard.urlOf('#/verify'))
    await field(page, 'Policy that you trust').setInputFiles(textFile('policy.json', policy))
    await field(page, 'or choose them').setInputFiles(textFile('proof.json', bundle))
    await text(page, 'Proven').waitFor()
    await openDetails()
    const step = page.locator('li', { hasText: 'The chain holds the anchored tree' })
    await text(step, 'not checked').waitFor()
    await step.getByText('eip155:7 1 (if a node confirms the block)').waitFor()
    // The operator's own stamp is the only time, so it is named as such beside the event.
    await page.getByRole('definition').filter({ hasText: "(the operator's own test authority or ledger" }).waitFor()
    const other = await read('/api/v1/log/policy')
    await field(page, 'Policy that you trust').setInputFiles(textFile('policy.json', other))
    await text(page, 'Unknown log').waitFor()
    assert.equal(await heading(page, 'It proves').count(), 0)
    await page.getByText('Anything that it shows: only its form was checked').waitFor()
  })

  it('verify a bundle in the saved page, without the server', async ({ page }, t) => {
    const id = await dashboard.createSealed('saved-1')
    const bundle = await read(`/api/v1/merkle/verify/${id}?format=bundle`)
    const path = join(await temporaryFor(t), 'verify.html')
    await writeFile(path, await read('/ui/verify.html'))
    await page.goto(pathToFileURL(path).href)
    await field(page, 'or choose them').setInputFiles(textFile('proof.json', bundle))
    await text(page, KEYS_OF_FILE).waitFor()
    await dashboard.assertAccessible()
  })

  it('are a report in one file, which holds the proof and lets the reader check it', async ({ page, company }, t) => {
    const owner = '</script><script>alert(1)</script><!--'
    await dashboard.createSealed('report-1', { owner })
    const path = '/api/v1/evidences/acme/evidence/report-1/bundle?fields=all&files=all'
    const bundle = await read(path, company.keys.R)
    const file = join(await temporaryFor(t), 'file')
    await writeFile(file, bundle)
    await writeFile(`${file}.policy`, await read('/api/v1/log/policy'))
    await ends(0, runCli(['report', file, '--policy', `${file}.policy`, '--to', `${file}.html`]))
    await page.goto(pathToFileURL(`${file}.html`).href)
    await text(page, KEYS_OF_FILE).waitFor()
    await text(page.getByRole('definition'), owner).waitFor()
    await page.getByRole('definition').filter({ hasText: / UTC$/ }).first().waitFor()
    await page.getByText('Not checked: whether an authority').waitFor()
    await dashboard.assertAccessible()
    assert.equal(await readFile(await dashboard.download(page, 'Save the proof'), 'utf8'), bundle)
    await field(page, 'Policy that you trust').setInputFiles(`${file}.policy`)
    await text(page, 'Proven').waitFor()
  })

  it('print a certificate of the present state on few sheets, with content in any script', async ({ page }) => {
    const [externalId, name] = ['هيكل-٠٠١', 'سيارة تويوتا كورولا']
    const id = await dashboard.createEvidence(externalId, { name, owner: 'Łukasz Żółć', description: 'حمراء اللون' })
    const { evidences } = dashboard.service.registry
    await evidences.update(SCOPE, externalId, { updateType: 'stolen' })
    await evidences.update(SCOPE, externalId, { updateType: 'stolen', stolen: false })
    await evidences.update(SCOPE, externalId, { owner: 'Grace' })
    for (let i = 0; i < 12; i++) await evidences.update(SCOPE, externalId, { eventDescription: `note ${i}` })
    await evidences.update(SCOPE, externalId, { updateType: 'stolen' })
    await dashboard.untilConfirmed(id)
    const { txId } = await dashboard.proofOf(id)
    await page.goto(dashboard.urlOf(`#/certificate/${id}`))
    await heading(page, 'Certificate of registration').waitFor()
    await text(page, txId).waitFor()
    await page.getByRole('img', { name: 'QR code of the link', exact: true }).waitFor()
    assert.equal(await page.getByText(name).count(), 0, 'without a key, only the public proof is shown')
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences')
    await page.getByRole('link', { name: externalId }).click()
    await link(page, 'Certificate').click()
    await heading(page, name).waitFor()
    const content = page.getByRole('region', { name: 'Present state' })
    for (const value of ['Grace', 'Stolen']) await text(content, value).waitFor()
    const rows = await page
      .getByRole('table', { name: 'History, newest event first' })
      .locator('tbody tr')
      .allInnerTexts()
    assert.equal(rows.length, 17)
    assert.match(rows[0] ?? '', /^Reported stolen/)
    // It is as of the newest event, not of the creation.
    const params = { txid: /[0-9a-f]{64}/.exec(rows[0] ?? '')?.[0] ?? '' }
    const { treeSize } = await dashboard.service.ok('getProof', { params })
    await page.getByText(`As of log size ${treeSize}.`).waitFor()
    assert.match(rows[13] ?? '', /^Transferred to Grace/)
    assert.match(rows[14] ?? '', /^No longer stolen/)
    const pdf = (await page.pdf({ format: 'A4', preferCSSPageSize: true })).toString('latin1')
    const sheets = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0
    assert.ok(sheets >= 2 && sheets <= 3, `${sheets} sheets`)
    await dashboard.assertAccessible()
  })
  it('print a green seal only for a time that is not the operator’s own', async ({ page, service }) => {
    const id = await dashboard.createEvidence('seal-1')
    const { evidences } = service.registry
    await evidences.update(SCOPE, 'seal-1', { updateType: 'stolen' })
    const newest = async () => (await evidences.get(SCOPE, 'seal-1')).events.at(-1)
    await service.until(async () => (await newest())?.batch?.sendStatus === 'C', 'the report is anchored')
    await dashboard.untilConfirmed(id)
    await dashboard.signIn(dashboard.company.keys.R, '#/evidences/seal-1')
    await page.getByText("By the operator's own test authority or ledger: it proves no time to others").waitFor()
    const renamed = (body: string): string => body.replaceAll(/"(name|authority)":"local"/g, '"$1":"stamp.example"')
    const cases: readonly (readonly [pattern: string, change: (body: string) => string])[] = [
      ['**/bundle?*', (bundle) => bundle],
      // The certificate of an embedded authority says whose it is, whatever its name is.
      ['**/bundle?*', renamed],
      ['**/bundle?*', (bundle) => bundle.replaceAll(/"(tokens|anchors)":\[(?:[^[\]]|\[[^\]]*\])*\]/g, '"$1":[]')],
      // Without a key, the page shows what the registry states. A time by which something existed is rounded up.
      [
        '**/merkle/verify/*',
        (proof) =>
          renamed(proof)
            .replaceAll(/"network":"local"/g, '"network":"chain.example"')
            .replaceAll(/"blockTime":"[^"]*"/g, '"blockTime":"2001-11-28T21:23:33.586Z"'),
      ],
    ]
    const shown: (readonly [string | null, boolean])[] = []
    const proof = page.locator('.cert-proof')
    for (const [pattern, change] of cases) {
      await dashboard.change(pattern, change)
      // Else the page of the case before could be read while the new one loads.
      await page.goto(dashboard.urlOf('#/evidences'))
      await proof.waitFor({ state: 'detached' })
      await page.goto(dashboard.urlOf(pattern.includes('bundle') ? '#/evidences/seal-1' : `#/certificate/${id}`))
      if (pattern.includes('bundle')) await link(page, 'Certificate').click()
      const said = await proof.locator('.big-proof').textContent()
      shown.push([
        said?.replace(/ on .*|\sPM.*/s, '') ?? null,
        (await proof.getAttribute('class')) === 'cert-proof independent',
      ])
      await page.unroute(pattern)
    }
    assert.deepEqual(shown, [
      ['Stamped', false],
      ['Stamped', false],
      ['No time is proven yet', false],
      ['Proven by Nov 28, 2001, 9:23:34', true],
    ])
  })
})

import assert from 'node:assert/strict'
import { cp, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../support/repository.ts'
import { it, type TestContext } from 'node:test'
import { FileSignedHead, openLocalBlobs, readSecret } from '../../../adapters/files/index.ts'
import { openFormat1Records, openLevelRecords } from '../../../adapters/level/index.ts'
import { copyRecords, openRegistry, OPERATOR, upgradedRecords, type RecordStore } from '../../../core/index.ts'
import { createSealer, InlineEngine } from '../../../sealer/index.ts'
import { FaultyRecords } from '../../support/faulty-records.ts'
import { runCli } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

/**
 * Made by version 0.1.0: four evidences of two companies, updates, files, a deleted file. The last event is not sealed.
 */
const FIXTURE = `${root}test/fixtures/data-0.1.0`

async function copyOfFixture(t: TestContext): Promise<string> {
  const directory = await temporaryFor(t)
  await cp(FIXTURE, directory, { recursive: true })
  return directory
}

const upgrade = (directory: string) => runCli(['migrate', '--upgrade', '--data-dir', directory])
const recordsOf = (directory: string): string => join(directory, 'records')

/** The log of a store in hex. */
async function logOf(records: RecordStore): Promise<string> {
  return Buffer.from(await records.readLog(0, await records.logSize())).toString('hex')
}

it('a data directory of version 0.1.0 is rejected with one line that names the remedy', async (t) => {
  const directory = await copyOfFixture(t)
  const { code, stderr } = await runCli(['fsck', '--data-dir', directory])
  assert.equal(code, 2, stderr)
  assert.match(stderr.trim(), /^[^\n]*store format 1 \(version 0\.1\.0\); this version needs 2:[^\n]*--upgrade[^\n]*$/)
  // Nothing was changed.
  const old = await openFormat1Records(recordsOf(directory))
  assert.equal(await old.logSize(), 12)
  await old.close()
})

it('migrate --upgrade converts it: the log stays the same, fsck finds nothing, and a registry continues', async (t) => {
  const directory = await copyOfFixture(t)
  const old = await openFormat1Records(recordsOf(directory))
  const log = await logOf(old)
  await old.close()
  const { code, stdout, stderr } = await upgrade(directory)
  assert.equal(code, 0, stdout + stderr)
  const checked = await runCli(['fsck', '--data-dir', directory])
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)

  const records = await openLevelRecords(recordsOf(directory))
  assert.equal(await logOf(records), log)
  const registry = await openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: await readSecret(join(directory, 'secret')),
    sealer: createSealer({ engine: new InlineEngine() }),
  })
  const scope = { companyId: 'acme', principal: OPERATOR }
  const updated = await registry.evidences.list(scope, { sort: 'updated', owner: 'FIRST' })
  assert.deepEqual(
    updated.items.map(({ externalId }) => externalId),
    ['item 2', 'item 1'],
  )
  const { items, count } = await registry.evidences.list(scope)
  assert.equal(count, 3)
  assert.deepEqual(
    items.map(({ externalId }) => externalId),
    ['item 2', 'item 1', 'item 0'],
  )
  const { events } = await registry.evidences.get(scope, 'item 1')
  assert.deepEqual(
    events.map(({ type, updateType }) => updateType ?? type),
    ['create', 'change', 'addfile', 'deletefile'],
  )
  await registry.evidences.update(scope, 'item 1', { description: 'after the upgrade' })
  await registry.sealNow()
  assert.equal((await registry.proofs.transaction(events[3]?.txId ?? '')).status, 'ok')
  await registry.close()
  const again = await upgrade(directory)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /nothing to upgrade/)
})

it('fsck verifies the anchors of version 0.1.0 with the key of the local ledger', async (t) => {
  const directory = await copyOfFixture(t)
  assert.equal((await upgrade(directory)).code, 0)
  const records = await openLevelRecords(recordsOf(directory))
  for await (const { key, value } of records.list({ gte: 'an/', lt: 'an0' })) {
    const text = Buffer.from(value).toString()
    assert.doesNotMatch(text, /"account"/)
    const later = text.replace(/"blockTime":(\d)/, (_, digit: string) => `"blockTime":${Number(digit) + 1}`)
    await records.commit({ writes: [{ key, value: Buffer.from(later) }] })
  }
  await records.close()
  const { code, stdout } = await runCli(['fsck', '--data-dir', directory])
  assert.equal(code, 1, stdout)
  assert.match(stdout, /^anchor: an\/.*the proof is of another block$/m)
})

it('migrate --upgrade continues after an interruption in each step of the copy, and between the renames', async (t) => {
  const commits = 5
  for (let commit = 1; commit <= commits; commit += 1) {
    const directory = await copyOfFixture(t)
    const from = upgradedRecords(await openFormat1Records(recordsOf(directory)))
    const store = await openLevelRecords(join(directory, 'records.upgrade'))
    const to = new FaultyRecords(store)
    to.failCommit(commit, commit % 2 === 0 ? 'before' : 'after')
    const handlers = { onDifference: assert.fail, onProgress: () => undefined }
    await assert.rejects(copyRecords({ from, to }, handlers, { derivesIndexes: true }), `commit ${commit}`)
    await store.close()
    await from.close()
    const { code, stdout, stderr } = await upgrade(directory)
    assert.equal(code, 0, stdout + stderr)
    assert.equal((await runCli(['fsck', '--data-dir', directory])).code, 0)
    // As if it had been stopped before the second rename.
    await rename(recordsOf(directory), join(directory, 'records.upgrade'))
    const started = await runCli(['--port', '0', '--data-dir', directory])
    assert.deepEqual(
      [started.code, /was interrupted: run evidence-registry migrate --upgrade again/.test(started.stderr)],
      [2, true],
    )
    assert.equal((await upgrade(directory)).code, 0)
    assert.equal((await runCli(['fsck', '--data-dir', directory])).code, 0)
  }
})

it('migrate --upgrade changes nothing if a record of the old store is damaged', async (t) => {
  const directory = await copyOfFixture(t)
  await rename(join(directory, 'signed-head.json'), join(directory, 'other.json'))
  await new FileSignedHead(join(directory, 'signed-head.json')).write({ size: 2, root: new Uint8Array(32) })
  const { code, stdout } = await upgrade(directory)
  assert.equal(code, 1, stdout)
  assert.match(stdout, /signed head/)
  const old = await openFormat1Records(recordsOf(directory))
  assert.equal(await old.logSize(), 12)
  await old.close()
})

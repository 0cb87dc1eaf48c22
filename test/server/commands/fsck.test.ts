import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { readOrCreateSecret } from '../../../adapters/files/index.ts'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { keys, keysUnder } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { directoryWith } from '../../support/configured-registry.ts'
import { present } from '../../support/present.ts'

/** A data directory with one evidence that has a file. */
const dataDirectory = (t: TestContext): Promise<string> =>
  directoryWith(t, ['drill'], undefined, { EVIDENCE_TSA: 'none', EVIDENCE_ANCHOR: 'none' })

/** Changes the name of the evidence in its event. Returns the key of the record. */
async function damageEvent(path: string): Promise<string> {
  const records = await openLevelRecords(join(path, 'records'))
  const [event] = await listEntries(records, keysUnder('ev'))
  const { key, value } = present(event)
  await records.commit({ writes: [{ key, value: Buffer.from(Buffer.from(value).toString().replace('"A d', '"A t')) }] })
  await records.close()
  return key
}

it('ends with 0 for a sound directory, and says what it checked', async (t) => {
  const path = await dataDirectory(t)
  const byFlag = await ends(0, runCli(['fsck', '--data-dir', path]))
  assert.equal(byFlag.stdout, '2 log entries, 1 events, 33 other records and 1 files checked: nothing differs\n')
  const byVariable = await ends(0, runCli(['fsck', '--skip-files'], { EVIDENCE_DATA_DIR: path }))
  assert.match(byVariable.stdout, /and 0 files checked: nothing differs/)
})

it('compares the markers of the folders with the records, as a start does', async (t) => {
  const path = await dataDirectory(t)
  const marker = (origin: string): string => `${JSON.stringify({ origin, id: 'x', folders: [] })}\n`
  await writeFile(join(path, 'blobs', 'registry.json'), marker('another-registry/0'))
  const foreignFolder = await ends(1, runCli(['fsck', '--data-dir', path]))
  assert.match(foreignFolder.stdout, /^identity: registry\.json: .*blobs belongs to the registry another-registry\/0/m)
  await rm(join(path, 'blobs', 'registry.json'))
  await writeFile(join(path, 'registry.json'), marker('another-registry/0'))
  const foreignRecords = await ends(1, runCli(['fsck', '--data-dir', path]))
  assert.match(foreignRecords.stdout, /^identity: registry\.json: .*records belongs to the registry /m)
})

it('names damage in the files of the record store, and does not open it', async (t) => {
  const path = await dataDirectory(t)
  // LevelDB writes what is in its log to a table when it opens.
  await ends(0, runCli(['fsck', '--data-dir', path]))
  const database = join(path, 'records', 'db')
  const name = present((await readdir(database)).find((each) => each.endsWith('.ldb')))
  const table = await readFile(join(database, name))
  await writeFile(join(database, name), table.with(10, (table[10] ?? 0) ^ 4))
  const { stdout, stderr } = await ends(1, runCli(['fsck', '--data-dir', path]))
  assert.equal(stdout, `store file: ${name}: It is damaged at byte 0\n`)
  assert.match(stderr, /^evidence-registry fsck: .*ldb at byte 0\. Restore a backup: see "Damaged data" in .*\n$/)
  assert.deepEqual(await readFile(join(database, name)), Buffer.from(table.with(10, (table[10] ?? 0) ^ 4)))
  const readOnly = { EVIDENCE_READ_ONLY: 'true' }
  await ends(1, runCli(['fsck', '--data-dir', path, '--repair'], readOnly))
  // Only the checksum of the filter, the block before the metaindex: all records can be read.
  const at = metaindexAt(table) - 1
  await writeFile(join(database, name), table.with(at, (table[at] ?? 0) ^ 4))
  const left = await ends(1, runCli(['fsck', '--data-dir', path], readOnly))
  assert.match(left.stdout, new RegExp(`^store file: ${name}: .*\\n.* checked: 1 difference\\n$`))
})

/** Where the metaindex of a table begins, by the footer: a number in groups of seven bits. */
function metaindexAt(table: Uint8Array): number {
  let [at, scale] = [0, 1]
  for (const byte of table.subarray(-48)) {
    at += (byte & 127) * scale
    if (byte < 128) break
    scale *= 128
  }
  return at
}

it('ends with 1 and names each difference', async (t) => {
  const path = await dataDirectory(t)
  const key = await damageEvent(path)
  const { stdout } = await ends(1, runCli(['fsck', '--data-dir', path]))
  assert.match(stdout, new RegExp(`^event: ${key}: Its values and salts result in another txId$`, 'm'))
  assert.match(stdout, /\d+ differences\n$/)
})

it('says what to do about files that are damaged, which it cannot repair', async (t) => {
  const path = await dataDirectory(t)
  const content = join(path, 'blobs', 'content')
  const [name = ''] = await filesBelow(content)
  await writeFile(join(content, name), new Uint8Array([1, 2, 4]))
  const { stdout } = await ends(1, runCli(['fsck', '--data-dir', path]))
  assert.match(stdout, /^blob: blob\/.*\n.* checked: 1 difference\nRestore the files named above from a backup: .*\n$/)
  const repair = await runCli(['fsck', '--data-dir', path, '--repair'])
  assert.match(
    repair.stdout,
    /: 1 difference\nNone of these .*: nothing is written\nRestore the files .* --repair cannot repair files\n$/,
  )
  const json = await runCli(['fsck', '--data-dir', path, '--json'])
  assert.match(json.stdout, /\{"result":.*\n$/)
})

it('reports a wrong secret, and works without one', async (t) => {
  const path = await dataDirectory(t)
  const other = join(await temporaryFor(t), 'secret')
  await readOrCreateSecret(other)
  const { stdout } = await ends(1, runCli(['fsck', '--data-dir', path, '--secret-file', other]))
  assert.match(stdout, /^identity: lg: It was created with another root secret$/m)
  await ends(2, runCli(['fsck', '--data-dir', path, '--secret-file', `${other}.missing`]))
})

it('ends with 2 if there is no registry, and creates nothing', async (t) => {
  const path = await temporaryFor(t)
  const nothing = await ends(2, runCli(['fsck', '--data-dir', path]))
  assert.match(nothing.stderr, /There is no registry in /)
  assert.deepEqual(await readdir(path), [])
})

it('fails while another process has the directory open', async (t) => {
  const path = await dataDirectory(t)
  const records = await openLevelRecords(join(path, 'records'))
  t.after(() => records.close())
  const { code, stdout, stderr } = await runCli(['fsck', '--data-dir', path])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^evidence-registry fsck: /)
})

it('repairs an index after it has named it, and nothing if an event is damaged', async (t) => {
  const path = await dataDirectory(t)
  const key = keys.externalId('acme', 'drill')
  const removeIndex = async (): Promise<void> => {
    const records = await openLevelRecords(join(path, 'records'))
    await records.commit({ writes: [{ key, value: null }] })
    await records.close()
  }
  await removeIndex()
  const { stdout } = await ends(0, runCli(['fsck', '--data-dir', path, '--repair']))
  const lines = stdout.trim().split('\n')
  assert.equal(lines[0], `index: ${key}: It is missing`)
  assert.match(lines[1] ?? '', /: 1 difference$/)
  assert.equal(lines[2], `repair: write ${key}`)
  assert.match(lines[3] ?? '', /: nothing differs$/)

  await removeIndex()
  await damageEvent(path)
  const refused = await ends(1, runCli(['fsck', '--data-dir', path, '--repair']))
  assert.match(
    refused.stdout,
    /^Nothing is repaired: \d+ differences are in records from which others follow\. Restore/m,
  )
  assert.ok(!refused.stdout.includes('repair: '))
})

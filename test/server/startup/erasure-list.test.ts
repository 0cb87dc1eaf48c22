import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { fromHex, toHex } from '../../../core/bytes.ts'
import { receiptHash } from '../../../core/commitment/receipt.ts'
import { RegistryError, type RecordStore } from '../../../core/index.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { keys } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { withErasureList } from '../../../server/startup/erasure-list.ts'
import { present } from '../../support/present.ts'
import { openFixture, Stores } from '../../support/registry-fixture.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { temporaryFor } from '../../support/temporary.ts'

/** A registry whose erasures are listed in `list`. `members`: instead of those of the records. */
async function openListed(t: TestContext, members: Partial<RecordStore> = {}) {
  const stores = new Stores()
  const directory = await temporaryFor(t)
  const list = join(directory, 'erasures.jsonl')
  const records = decorateRecords(stores.records, { close: async () => undefined, ...members })
  const start = () => withErasureList({ records, signedHead: stores.signedHead }, directory, silentLogger)
  const open = async (listing?: RecordStore) => {
    const listed = listing ?? (await start()).records
    return openFixture({ t, stores, records: { commit: (changes) => listed.commit(changes) } })
  }
  return { stores, list, open, start }
}

const linesOf = async (path: string): Promise<readonly string[]> => (await readFile(path, 'utf8')).split('\n')

it('an erasure is in the list when it returns: a line for each field and file, without a text of it', async (t) => {
  const { stores, list, open } = await openListed(t)
  const { evidences, evidence, stage, scope } = await open()
  assert.equal(await readFile(list, 'utf8'), '')
  const file = await stage('content')
  const id = await evidence({ owner: 'Alice', files: [file] })
  await evidences.update(scope, id, { owner: 'Bob' })
  const txIds = (await evidences.get(scope, id)).events.map(({ txId }) => txId)
  await evidences.erase(scope, id, { fields: ['owner'], versions: [2], reason: 'request' })
  const receiptsNow = async (): Promise<readonly string[]> =>
    (await listEntries(stores.records, keys.allErasures())).map((entry) => {
      const { salt, text } = decodeRecord(entry)
      return toHex(receiptHash(present(fromHex(salt)), text))
    })
  const [first] = await receiptsNow()
  assert.equal(await readFile(list, 'utf8'), `{"field":"owner","receipt":"${first}","txId":"${txIds[1]}"}\n`)
  await evidences.erase(scope, id, { files: [file.id], reason: 'request' })
  const [, line = '', ...end] = await linesOf(list)
  const { file: listed, txId, field, receipt = '' } = JSON.parse(line) as Record<string, string>
  assert.deepEqual([listed, txId, field, end], [file.id, txIds[0], 'files', ['']])
  assert.ok(receipt !== first && (await receiptsNow()).includes(receipt))
})

it('a commit that is refused adds no line', async (t) => {
  const { stores, list, start, open } = await openListed(t)
  const { records: listing } = await start()
  const { evidences, evidence, scope } = await open(listing)
  await evidences.erase(scope, await evidence({ owner: 'Alice' }), { fields: ['owner'], reason: 'request' })
  const before = await readFile(list, 'utf8')
  const { key, value } = present((await listEntries(stores.records, keys.allErasures()))[0])
  const { ok } = await listing.commit({ checks: [{ key, version: null }], writes: [{ key, value }] })
  assert.deepEqual([ok, await readFile(list, 'utf8')], [false, before])
})

it('a start adds what is missing, keeps what a restore has applied, and drops a line that is cut off', async (t) => {
  const { list, open, start } = await openListed(t)
  const { evidences, evidence, scope } = await open()
  const id = await evidence({ owner: 'Alice', description: 'of Alice' })
  await evidences.erase(scope, id, { fields: ['owner', 'description'], reason: 'court' })
  const complete = await linesOf(list)
  assert.equal(complete.length, 3)
  const applied = (complete[0] ?? '').replaceAll(/[0-9a-f]{64}/g, 'ab'.repeat(32))
  await writeFile(list, `${complete[1]}\n${applied}\n`)
  await appendFile(list, complete[0]?.slice(0, 30) ?? '')
  await start()
  assert.deepEqual((await linesOf(list)).toSorted(), [...complete, applied].toSorted())
  await rm(list)
  await start()
  assert.deepEqual((await linesOf(list)).toSorted(), complete.toSorted())
})

it('an erasure whose commit was applied, but failed, is in the list', async (t) => {
  let isFailing = false
  const { stores, list, open } = await openListed(t, {
    async commit(commit) {
      const outcome = await stores.records.commit(commit)
      if (isFailing) throw new RegistryError('UNKNOWN_OUTCOME', 'The reply was lost')
      return outcome
    },
  })
  const { evidences, evidence, scope } = await open()
  const id = await evidence({ owner: 'Alice' })
  isFailing = true
  await assert.rejects(evidences.erase(scope, id, { fields: ['owner'], reason: 'request' }), {
    code: 'UNKNOWN_OUTCOME',
  })
  assert.equal((await linesOf(list)).length, 2)
})

it('the signed head says how many lines the list has, also if a tree is signed while they are written', async (t) => {
  const { evidences, evidence, scope, stores } = await openFixture({ t })
  const id = await evidence({ owner: 'Alice', description: 'of Alice' })
  await evidences.erase(scope, id, { fields: ['owner', 'description'], reason: 'court' })
  const [erasure] = await listEntries(stores.records, keys.allErasures())
  const { list, start } = await openListed(t)
  const { records, signedHead } = await start()
  const head = { size: 9, root: new Uint8Array(32) }
  const committed = records.commit({ writes: [present(erasure)] })
  await signedHead.write(head)
  assert.deepEqual(await signedHead.read(), { ...head, erasures: 2 })
  assert.equal((await linesOf(list)).length, 3)
  await committed
  await (await start()).signedHead.write({ ...head, erasures: 0 })
  assert.deepEqual(await signedHead.read(), { ...head, erasures: 2 })
})

it('an erasure holds if the list cannot be written, and is in it within a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { list, start, open } = await openListed(t)
  const { records: listing } = await start()
  const { evidences, evidence, scope } = await open(listing)
  const id = await evidence({ owner: 'Alice' })
  await rm(list)
  await mkdir(list)
  const { erased } = await evidences.erase(scope, id, { fields: ['owner'], reason: 'request' })
  assert.equal(erased.length, 1)
  await rmdir(list)
  t.mock.timers.tick(60_000)
  await listing.close()
  assert.equal((await linesOf(list)).length, 2)
})

it('what another server of the same records erases is in the list within a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { stores, list, start } = await openListed(t, { isShared: true })
  const { records: listing } = await start()
  const { evidences, evidence, scope } = await openFixture({ t, stores })
  const id = await evidence({ owner: 'Alice' })
  await evidences.erase(scope, id, { fields: ['owner'], reason: 'request' })
  t.mock.timers.tick(60_000)
  await listing.close()
  assert.equal((await linesOf(list)).length, 2)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFile, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { OPERATOR, type Registry } from '../../../core/index.ts'
import { restoreBackup } from '../../../server/backup/restore.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { assertSuccess, assertUsageError, backUp, folderOf, headOf, withSecrets } from '../../support/backups.ts'
import { changeDirectory, copySecrets, directoryWith, openDirectory } from '../../support/configured-registry.ts'
import { bodyOf } from '../../support/registry-fixture.ts'
import { runCli } from '../../support/server-process.ts'
import { isOnDisk, temporaryFor } from '../../support/temporary.ts'

const SCOPE = { companyId: 'acme', principal: OPERATOR }
/** So random that LevelDB's compression does not hide them. */
const MARKS = ['id', 'name', 'owner', 'description', 'meta', 'persona', 'file', 'bytes', 'small'].map(
  () => `m${randomBytes(9).toString('hex')}`,
)
const [ID = '', NAME = '', OWNER = '', DESCRIPTION = '', META = '', PERSONA = '', FILE = '', BYTES = '', SMALL = ''] =
  MARKS

/** Creates one evidence with marks and one without. Returns the id of the first. */
async function writeMarks(registry: Registry): Promise<string> {
  const stage = (name: string, text: string) =>
    registry.files.stage(SCOPE, { name, mimeType: 'text/plain', body: bodyOf(text) }, { maxBytes: 1_000 })
  const filed = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
  const files = [await stage(`${FILE}.txt`, BYTES), await stage('kept.txt', SMALL)]
  const texts = { name: `${NAME} drill`, owner: OWNER, description: DESCRIPTION, meta: { [META]: 1 } }
  const { id } = await registry.evidences.create(SCOPE, { externalId: ID, ...filed, ...texts, files })
  await registry.evidences.update(SCOPE, ID, { owner: `${OWNER} 2`, persona: PERSONA })
  await registry.evidences.create(SCOPE, { externalId: 'other', name: 'Other', owner: 'Carol', ...filed })
  return id
}

/** A registry with a backup of before an erasure. */
async function createErased(t: TestContext) {
  const directory = await directoryWith(t, [])
  const root = await temporaryFor(t)
  const [backup, target] = [join(root, 'backup'), join(root, 'target')]
  let id = ''
  await changeDirectory(directory, async (registry) => (id = await writeMarks(registry)))
  assertSuccess(await backUp(directory, backup))
  await changeDirectory(directory, async (registry) => {
    await registry.evidences.erase(SCOPE, ID, { content: true, reason: 'request' })
    await registry.evidences.update(SCOPE, 'other', { owner: 'Dora' })
  })
  // Where no list is beside it.
  const head = join(root, 'signed-head.json')
  await copyFile(headOf(directory), head)
  const restore = (...flags: string[]) => runCli(['restore', '--from', backup, '--data-dir', target, ...flags])
  return { directory, root, backup, target, id, head, list: join(directory, 'erasures.jsonl'), restore }
}

const marksIn = async (directory: string): Promise<readonly string[]> => {
  const found = await Promise.all(MARKS.map((mark) => isOnDisk(directory, mark)))
  return MARKS.filter((_, i) => found[i] === true)
}

it('what was erased after a backup is nowhere in its restore, and everything else is there', async (t) => {
  const { directory, target, id, list, restore } = await createErased(t)
  assertSuccess(await restore('--head', headOf(directory)), /verified, without what was erased of 1 evidences after it/)
  assert.deepEqual(await marksIn(target), [])
  assert.equal(await readFile(join(target, 'erasures.jsonl'), 'utf8'), await readFile(list, 'utf8'))

  await copySecrets(directory, target)
  const { registry } = await openDirectory(target, { EVIDENCE_READ_ONLY: 'true' })
  t.after(() => registry.close())
  const { evidence, events } = await registry.evidences.get(SCOPE, id)
  assert.deepEqual([evidence.name, evidence.externalId, events.length], ['', id, 2])
  const erased = evidence.erased?.map(({ field }) => field).toSorted()
  assert.deepEqual(erased, ['description', 'externalId', 'meta', 'name', 'owner'])
  assert.deepEqual((await registry.evidences.files(SCOPE, id)).evidence, [])
  assert.equal((await registry.evidences.list(SCOPE, { owner: 'carol' })).items.length, 1)
})

it('without a list that is as new as the signed head, a restore asks before it changes anything', async (t) => {
  const { directory, root, backup, target, head, list, restore } = await createErased(t)
  const asked = /The backup lacks \d+ log entries .* no erasures\.jsonl beside .*--erasures.*--without-erasures/s
  assertUsageError(await restore('--head', head), asked)
  assert.deepEqual(await readdir(target), ['restore.unfinished'])
  assertUsageError(await restore('--head', head, '--erasures', headOf(directory)), /is not a list of erasures/)
  // Beside the head, without its last line.
  const text = await readFile(list, 'utf8')
  await writeFile(join(root, 'erasures.jsonl'), text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1))
  const older = /The lists have 9 erased fields and files, but erasures\.jsonl had 10 at the time of --head.*--erasures/
  assertUsageError(await restore('--head', head), older)
  assert.deepEqual(await readdir(target), ['restore.unfinished'])
  assertSuccess(await restore('--head', head, '--erasures', list), /of 1 evidences/)
  assert.deepEqual(await marksIn(target), [])

  const foreign = join(root, 'foreign.jsonl')
  await writeFile(foreign, (await readFile(list, 'utf8')).replaceAll(/[0-9a-f]{64}/g, 'ab'.repeat(32)))
  const other = await runCli(['restore', '--from', backup, '--data-dir', join(root, 'other'), '--erasures', foreign])
  assertSuccess(other, /without what was erased of 0 evidences/)
})

it('with --without-erasures, everything of the backup is restored', async (t) => {
  const { directory, target, restore } = await createErased(t)
  assertSuccess(await restore('--head', headOf(directory), '--without-erasures'), /restored and verified\n/)
  assert.deepEqual(await marksIn(target), MARKS)
})

it('the list that is kept with the secrets counts, and a backup has its own', async (t) => {
  const { directory, root, backup, target, list, restore } = await createErased(t)
  assertSuccess(await backUp(directory, join(root, 'later')))
  const own = await readFile(join(await folderOf(join(root, 'later')), 'erasures.jsonl'), 'utf8')
  const lines = (text: string) => text.split('\n').toSorted()
  assert.deepEqual(lines(own), lines(await readFile(list, 'utf8')))

  // A registry of before the erasure, with the list of after it.
  const earlier = join(root, 'earlier')
  assertSuccess(await restore('--without-erasures'))
  await cp(target, earlier, { recursive: true })
  await copyFile(join(await folderOf(backup), 'signed-head.json'), join(earlier, 'signed-head.json'))
  await copySecrets(directory, earlier)
  await copyFile(list, join(earlier, 'erasures.jsonl'))
  const [withList, restored, secrets] = [join(root, 'with-list'), join(root, 'restored'), await withSecrets(t)]
  assertSuccess(await backUp(earlier, withList, ...secrets))
  const again = await runCli(['restore', '--from', withList, '--data-dir', restored, ...secrets])
  assertSuccess(again, /of 1 evidences/)
  assert.deepEqual(await marksIn(restored), [])
  const flags = ['--data-dir', join(root, 'unchanged'), ...secrets, '--without-erasures']
  assertSuccess(await runCli(['restore', '--from', withList, ...flags]), /restored and verified\n/)
})

it('a list that is damaged, older than the backup, or of another registry is refused', async (t) => {
  const { directory, root, list } = await createErased(t)
  const later = join(root, 'later')
  assertSuccess(await backUp(directory, later))
  const text = await readFile(list, 'utf8')
  const refuses = async (content: string, message: RegExp): Promise<void> => {
    const path = join(root, 'list')
    await writeFile(path, content)
    const config = loadConfig({ args: ['--data-dir', join(root, 'refused')], env: {} })
    const request = { from: later, config, head: undefined, passphrase: undefined, erasures: [path] }
    const handlers = { onProblem: (problem: string) => assert.fail(problem), onProgress: () => undefined }
    await assert.rejects(restoreBackup(request, handlers), { code: 'CONFIG_ERROR', message })
  }
  await mkdir(join(root, 'refused'))
  await refuses(text.slice(0, -5), /list is not a list of erasures, or is damaged/)
  await refuses(`${text}{"field":"owner"}\n`, /is not a list of erasures/)
  await refuses(text.slice(text.indexOf('\n') + 1), /lacks erasures of the backup/)
  await refuses('', /lacks erasures of the backup/)
})

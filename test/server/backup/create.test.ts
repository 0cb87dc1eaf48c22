import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rmdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import { openLocalLedger } from '../../../adapters/local-ledger/index.ts'
import { assertSame, collect, inChunks, mustGet } from '../../contract/blob-bodies.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { RegistryError, type BlobStore } from '../../../core/index.ts'
import {
  createBackup,
  type BackupReport,
  type BackupRequest,
  type BackupSources,
} from '../../../server/backup/create.ts'
import { readManifest } from '../../../server/backup/manifest.ts'
import { verifyBackup } from '../../../server/backup/restore.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { send } from '../../support/ledger-directory.ts'
import { present } from '../../support/present.ts'
import { openFixture, type Fixture } from '../../support/registry-fixture.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

async function createFixture(t: TestContext) {
  const fixture = await openFixture({ t })
  const { registry } = fixture
  const ids: string[] = []
  for (let n = 0; n < 6; n += 1) {
    const file = await fixture.stage(`content ${n}`)
    await fixture.evidence({ externalId: `e-${n}`, files: [file] })
    ids.push(file.id)
  }
  await registry.sealNow()
  const root = await temporaryFor(t)
  const to = join(root, 'backup')
  return { fixture, to, dataDir: join(root, 'data'), ids }
}

const sourcesOf = ({ stores, registry }: Fixture, dataDir: string): BackupSources => ({
  records: stores.records,
  snapshots: stores.records,
  blobs: stores.blobs,
  config: { ...loadConfig({ args: [], env: {} }), dataDir },
  origin: registry.log.origin,
})

/** Backs the fixture up. `onGet` runs before the bytes of a file are read. */
function backUp(
  fixture: Fixture,
  { dataDir, ...request }: BackupRequest & { readonly dataDir: string },
  onGet: (id: string) => Promise<void> = async () => undefined,
): Promise<BackupReport> {
  const { blobs } = fixture.stores
  const observed: BlobStore = {
    ...blobs,
    get: async (id, ...others) => {
      await onGet(id)
      return blobs.get(id, ...others)
    },
  }
  const sources = { ...sourcesOf(fixture, dataDir), blobs: observed }
  return createBackup(sources, request, { report: () => undefined, signal: new AbortController().signal })
}

it('a file that is deleted while its bytes are copied is not in the backup', async (t) => {
  const { fixture, ids, ...paths } = await createFixture(t)
  const { registry, scope } = fixture
  let deletions = 0
  // Every copy of a file finds one that has just been deleted, until three are gone.
  const report = await backUp(fixture, paths, async (id) => {
    if (deletions === 3) return
    deletions += 1
    await registry.files.delete(scope, { fileId: id })
  })
  assert.equal(deletions, 3)
  assert.deepEqual(report.problems, [])
  const manifest = await readManifest(paths.to)
  assert.equal(manifest?.blobs.count, ids.length - 3)
  assert.equal((await filesBelow(join(paths.to, 'blobs', 'content'))).length, ids.length - 3)
  const problems: string[] = []
  const { problems: count } = await verifyBackup(
    { from: paths.to, quick: false, passphrase: undefined },
    { onProblem: (message) => problems.push(message), onProgress: () => undefined },
  )
  // The fixture has no signed head in a file, and nothing else differs.
  assert.deepEqual([count, problems], [0, []])
})

it('what is signed and anchored after the snapshot is not in the backup', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const { registry, stores } = fixture
  const ledger = await openLocalLedger(join(paths.dataDir, 'ledger'))
  t.after(() => ledger.close())
  const [head, blocks] = ['signed-head.json', 'ledger/blocks.jsonl']
  const publish = async (): Promise<void> => {
    const checkpoint = Buffer.from(present(await registry.log.latestCheckpoint()))
    await writeFile(join(paths.dataDir, head), checkpoint)
    await send(ledger, checkpoint)
  }
  await publish()
  const before = await Promise.all([head, blocks].map((name) => readFile(join(paths.dataDir, name), 'utf8')))
  const snapshot = async () => {
    const taken = await stores.records.snapshot()
    await fixture.evidence({ externalId: 'later' })
    await registry.sealNow()
    await publish()
    return taken
  }
  const run = { report: () => undefined, signal: new AbortController().signal }
  await createBackup({ ...sourcesOf(fixture, paths.dataDir), snapshots: { snapshot } }, { to: paths.to }, run)
  const folder = join(paths.to, present(await readManifest(paths.to)).folder)
  const saved = [head, join('data', blocks)].map((name) => readFile(join(folder, name), 'utf8'))
  assert.deepEqual(await Promise.all(saved), before)
})

it('a file whose bytes are lost is named, and the backup has everything else', async (t) => {
  const { fixture, ids, ...paths } = await createFixture(t)
  const [lost = ''] = ids
  await fixture.stores.blobs.delete(lost)
  const report = await backUp(fixture, paths)
  assert.equal(report.copiedBlobs, ids.length - 1)
  assert.equal(report.problems.length, 1)
  assert.match(report.problems[0] ?? '', new RegExp(`^${lost}: Its bytes are missing`))
  assert.deepEqual((await readManifest(paths.to))?.damagedBlobs, [lost])
  const again = await backUp(fixture, paths)
  assert.deepEqual([again.copiedBlobs, again.reusedBlobs, again.problems.length], [0, ids.length - 1, 1])
})

it('two backups to one directory do not run at the same time', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  let other: Promise<unknown> | undefined
  await backUp(fixture, paths, async () => {
    other ??= backUp(fixture, paths).catch((error: unknown) => error)
    await other
  })
  assert.equal(((await other) as { readonly code?: string }).code, 'STORE_LOCKED')
})

it('a backup that another machine began continues only if it is taken over', async (t) => {
  const { fixture, ids, ...paths } = await createFixture(t)
  await mkdir(join(paths.to, 'lock'), { recursive: true })
  await writeFile(join(paths.to, 'lock', 'owner'), '4711 other-boot other-host\n')
  const message = /was in use by process 4711 on other-host.* a backup was interrupted there.*--take-over/
  await assert.rejects(backUp(fixture, paths), { code: 'STORE_LOCKED', message })
  assert.deepEqual(await readdir(paths.to), ['lock'])
  const { copiedBlobs } = await backUp(fixture, { ...paths, takeOver: true })
  assert.equal(copiedBlobs, ids.length)
  await backUp(fixture, paths)
})

it('a backup that is cancelled stops, and leaves no manifest', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const stop = new AbortController()
  const sources = sourcesOf(fixture, paths.dataDir)
  const report = ({ stage }: { readonly stage: string }): void => {
    if (stage === 'files') stop.abort(new Error('cancelled'))
  }
  await assert.rejects(createBackup(sources, { to: paths.to }, { report, signal: stop.signal }), /cancelled/)
  assert.equal(await readManifest(paths.to), undefined)
  await backUp(fixture, paths)
  const manifest = JSON.parse(await readFile(join(paths.to, 'backup.json'), 'utf8')) as { readonly origin: string }
  assert.equal(manifest.origin, fixture.registry.log.origin)
})

it('a backup whose disk is full, or whose source cannot be reached, does not replace the earlier one', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  await backUp(fixture, paths)
  const earlier = await readManifest(paths.to)
  const added = await fixture.stage('added later')
  await fixture.evidence({ externalId: 'later', files: [added] })
  const outage = new RegistryError('UNAVAILABLE', 'the store cannot be reached')
  const failing = backUp(fixture, paths, async (id) => {
    if (id === added.id) throw outage
  })
  await assert.rejects(failing, outage)
  assert.deepEqual(await readManifest(paths.to), earlier)
  // A folder has the name of the file, so its bytes cannot be written.
  const hash = createHash('sha256').update(added.id.slice(0, 8)).digest('hex')
  const occupied = join(paths.to, 'blobs', 'content', hash.slice(0, 2), added.id)
  await mkdir(occupied, { recursive: true })
  await assert.rejects(backUp(fixture, paths), { code: 'UNAVAILABLE', message: /could not be deleted/ })
  assert.deepEqual(await readManifest(paths.to), earlier)
  await rmdir(occupied)
  const { copiedBlobs, problems } = await backUp(fixture, paths)
  assert.deepEqual([copiedBlobs, problems], [1, []])
})

it('a backup that is cancelled does not wait for a file that is being copied', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const stop = new AbortController()
  const { blobs } = fixture.stores
  const endless: BlobStore = {
    ...blobs,
    get: async (_id, _range, signal) => ({
      size: 9,
      body: (async function* () {
        yield new Uint8Array(1)
        const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve))
        stop.abort(new Error('cancelled'))
        await aborted
        signal?.throwIfAborted()
      })(),
    }),
  }
  const sources = { ...sourcesOf(fixture, paths.dataDir), blobs: endless }
  const run = { report: () => undefined, signal: stop.signal }
  await assert.rejects(createBackup(sources, { to: paths.to }, run), /cancelled/)
})

it('a backup whose directory cannot be written says so, and not that the data directory is full', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const file = paths.to
  await writeFile(file, '')
  const message = /^The backup in .*\/backup\/today is not complete, .*a file has the name of a directory.*\(ENOTDIR\)$/
  await assert.rejects(backUp(fixture, { ...paths, to: join(file, 'today') }), { code: 'UNAVAILABLE', message })
})

it('a directory that holds something else is refused, and nothing is written to it', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  await mkdir(paths.to)
  await writeFile(join(paths.to, 'file.txt'), 'hi')
  const message = /holds something that is not part of a backup \(file\.txt\)/
  await assert.rejects(backUp(fixture, paths), { code: 'CONFIG_ERROR', message })
  assert.deepEqual(await readdir(paths.to), ['file.txt'])
})

it('a backup is neither in the data directory nor around it', async (t) => {
  const { fixture, ids: _, dataDir, to } = await createFixture(t)
  await mkdir(join(dataDir, 'blobs'), { recursive: true })
  const link = join(to, '..', 'link')
  await symlink(join(dataDir, 'blobs'), link)
  for (const inside of [dataDir, join(dataDir, 'backup'), join(dataDir, 'blobs', 'bk'), join(link, 'a', 'b')]) {
    const message = /^A backup must not be in the data directory /
    await assert.rejects(backUp(fixture, { to: inside, dataDir }), { code: 'CONFIG_ERROR', message }, inside)
  }
  assert.deepEqual([await readdir(dataDir), await readdir(join(dataDir, 'blobs'))], [['blobs'], []])
  // The name `blobs` is one that a backup has, so its content alone does not refuse this directory.
  const around = { to: dataDir, dataDir: join(dataDir, 'blobs') }
  await assert.rejects(backUp(fixture, around), { code: 'CONFIG_ERROR', message: /^The data directory .* is in / })
  assert.deepEqual(await readdir(dataDir), ['blobs'])
  await backUp(fixture, { to: `${dataDir}..2`, dataDir })
})

it('a backup is neither in nor around a folder to which a symbolic link of the data directory leads', async (t) => {
  const { fixture, ids: _, dataDir, to } = await createFixture(t)
  const volume = join(to, '..', 'volume')
  await mkdir(join(volume, 'blobs', 'content'), { recursive: true })
  await mkdir(dataDir)
  await symlink(join(volume, 'blobs'), join(dataDir, 'blobs'))
  const inside = { to: join(volume, 'blobs', 'backup'), dataDir }
  await assert.rejects(backUp(fixture, inside), {
    code: 'CONFIG_ERROR',
    message: /^A backup must not be in .* blobs \(/,
  })
  // Its folder `blobs` would be that of the registry, whose files would be their own copies.
  const around = { to: volume, dataDir }
  await assert.rejects(backUp(fixture, around), { code: 'CONFIG_ERROR', message: /^The .* blobs \(.* is in .*volume,/ })
  assert.deepEqual(await filesBelow(volume), [])
})

it('a backup of a registry that was set back does not replace a newer one', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  await backUp(fixture, paths)
  const newer = await readManifest(paths.to)
  const setBack = { ...sourcesOf(fixture, paths.dataDir), records: new MemoryRecords() }
  const run = { report: () => undefined, signal: new AbortController().signal }
  const message = /it was set back.*another directory/
  await assert.rejects(createBackup(setBack, { to: paths.to }, run), { code: 'CONFIG_ERROR', message })
  assert.deepEqual(await readManifest(paths.to), newer)
  await backUp(fixture, paths)
})

it('a backup with secrets names each secret that is missing', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const request = { ...paths, passphrase: 'correct horse battery staple' }
  const missing = (names: readonly string[]): readonly string[] =>
    names.map((name) => `${name}: It is missing, so the backup does not have it`)
  const { problems } = await backUp(fixture, request)
  const all = ['secret', 'checkpoint-keys.json', 'tsa/ca.key', 'tsa/tsa.pem', 'ledger/ledger.key']
  assert.deepEqual(problems, missing(all))
})

it('a backup without secrets does not replace one that has them', async (t) => {
  const { fixture, ids: _, ...paths } = await createFixture(t)
  const passphrase = 'correct horse battery staple'
  await backUp(fixture, { ...paths, passphrase })
  const before = await filesBelow(paths.to)
  const message = /has secrets.*repeat with --secrets, or name another directory/
  await assert.rejects(backUp(fixture, paths), { code: 'CONFIG_ERROR', message })
  assert.deepEqual(await filesBelow(paths.to), before)
  await backUp(fixture, { ...paths, passphrase })
})

it('a file that is damaged in the backup is copied again within seven runs', async (t) => {
  const { fixture, ids, ...paths } = await createFixture(t)
  await backUp(fixture, paths)
  const copies = await openLocalBlobs(join(paths.to, 'blobs'))
  for (const id of ids) {
    const { length } = await collect((await mustGet(copies, id)).body)
    await copies.delete(id)
    await copies.put(id, inChunks(new Uint8Array(length), 5), { maxBytes: 100 })
  }
  let replaced = 0
  for (let run = 0; run < 7; run += 1) {
    const { copiedBlobs, reusedBlobs, replacedBlobs, problems } = await backUp(fixture, paths)
    assert.deepEqual([copiedBlobs, reusedBlobs, problems], [replacedBlobs, ids.length - replacedBlobs, []])
    replaced += replacedBlobs
  }
  assert.equal(replaced, ids.length)
  for (const id of ids) {
    const original = await collect((await mustGet(fixture.stores.blobs, id)).body)
    assertSame(await collect((await mustGet(copies, id)).body), original)
  }
})

it('a file that an earlier backup did not have is read again, if an interrupted one left only its size', async (t) => {
  const { fixture, ids, ...paths } = await createFixture(t)
  const [lost = ''] = ids
  const { blobs } = fixture.stores
  const original = await collect((await mustGet(blobs, lost)).body)
  await blobs.delete(lost)
  assert.equal((await backUp(fixture, paths)).problems.length, 1)
  await blobs.put(lost, inChunks(original, 5), { maxBytes: 100 })
  const copies = await openLocalBlobs(join(paths.to, 'blobs'))
  await copies.put(lost, inChunks(new Uint8Array(original.length), 5), { maxBytes: 100 })
  const { copiedBlobs, problems } = await backUp(fixture, paths)
  assert.deepEqual([copiedBlobs, problems], [1, []])
  assertSame(await collect((await mustGet(copies, lost)).body), original)
})

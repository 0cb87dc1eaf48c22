import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { RegistryError } from '../../../core/errors.ts'
import type { Files, SourceSystemChange, StagedFile } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { keys } from '../../../core/store/keys.ts'
import type { EvidenceRecord } from '../../../core/store/records.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { pendingDeletion, sweep } from '../../../core/store/blob-lifecycle.ts'
import { displayName } from '../../../core/registry/file/stage.ts'
import { settle } from '../../support/manual-clock.ts'
import { bodyOf, COMPANY, openFixture, it, withStatus, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { recompute } from '../../support/commitment-reference.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const clean = { intents: 0, pendingDeletions: 0, files: [], stored: [] }

describe('staging a file', () => {
  it('stores the bytes, which nothing uses yet', async ({ files, scope, stores }) => {
    const body = bodyOf('hel', '', 'lo')
    const staged = await files.stage(scope, { name: 'a.b.txt', mimeType: 'text/plain', body }, { maxBytes: 5 })
    const { id, intent, ...rest } = staged
    const sha256 = createHash('sha256').update('hello').digest('hex')
    assert.deepEqual(rest, { name: 'a.b.txt', mimeType: 'text/plain', title: 'a.b', size: 5, sha256 })
    assert.ok(intent)
    assert.deepEqual(await stores.blobState(), { intents: 1, pendingDeletions: 0, files: [], stored: [id] })
    await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId: id }))
    await files.discard([staged])
    await files.discard([staged])
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('keeps nothing of a body that is too large, fails or is aborted', async ({ files, scope, stores }) => {
    const file = { name: 'a', mimeType: 'text/plain' }
    await rejectsWith('PAYLOAD_TOO_LARGE', files.stage(scope, { ...file, body: bodyOf('1234', '56') }, { maxBytes: 5 }))
    const broken = (async function* () {
      yield Uint8Array.of(1)
      throw new Error('the line broke')
    })()
    await assert.rejects(files.stage(scope, { ...file, body: broken }, { maxBytes: 5 }), /the line broke/)
    const aborter = new AbortController()
    const hanging = (async function* () {
      yield Uint8Array.of(1)
      await new Promise(() => undefined)
    })()
    const staging = files.stage(scope, { ...file, body: hanging }, { maxBytes: 5, signal: aborter.signal })
    await settle()
    aborter.abort(new Error('enough'))
    await assert.rejects(staging, /enough/)
    for (const wrong of [
      { ...file, mimeType: 'té/x' },
      { ...file, mimeType: '' },
      { ...file, title: 'a\n' },
    ])
      await rejectsWith('VALIDATION_ERROR', files.stage(scope, { ...wrong, body: bodyOf('x') }, { maxBytes: 5 }))
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('leaves to the sweep what it cannot delete itself', async ({ files, scope, stores, process, wait }) => {
    // The put fails after it was applied, and then the clean-up fails too.
    process.fail(2, 'after')
    await rejectsWith(
      'UNAVAILABLE',
      files.stage(scope, { name: 'a', mimeType: 'a/b', body: bodyOf('x') }, { maxBytes: 5 }),
    )
    assert.deepEqual(await stores.blobState(), clean)
    process.disarm()
    const staged = await files.stage(scope, { name: 'a', mimeType: 'a/b', body: bodyOf('x') }, { maxBytes: 5 })
    process.isBlobStoreDown = true
    await files.discard([staged])
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 1, files: [], stored: [staged.id] })
    process.isBlobStoreDown = false
    await wait(1)
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('is for one write: a file that was used or discarded cannot be used again', async (fixture) => {
    const { registry, scope, stage, evidence, process } = fixture
    const [used, discarded] = [await stage(), await stage()]
    await evidence({ files: [used] })
    await registry.files.discard([discarded, used])
    assert.ok(await registry.files.find(scope, { fileId: used.id }), 'a used file is not discarded')
    for (const gone of [used, discarded]) {
      process.disarm()
      await rejectsWith('FILE_NOT_FOUND', registry.evidences.update(scope, 'e-1', { files: [gone] }))
      assert.ok(process.steps <= 2, `not tried again and again: ${process.steps} commits`)
      await rejectsWith('FILE_NOT_FOUND', registry.categories.create(scope, { name: 'C', image: gone }))
    }
    assert.equal((await registry.evidences.get(scope, 'e-1')).lastVersion, 1)
  })

  it('is once in a write: the same file twice changes nothing', async (fixture) => {
    const { registry, scope, stage, stores, evidence } = fixture
    const { categories, evidences } = registry
    await evidence()
    const { id } = await categories.create(scope, { name: 'Saws' })
    const file = await stage()
    const logSize = await stores.records.logSize()
    for (const files of [{ files: [file, file] }, { image: file, files: [file] }]) {
      const rejected = { code: 'VALIDATION_ERROR', field: 'files' }
      await assert.rejects(evidence({ externalId: 'e-2', ...files }), rejected)
      await assert.rejects(categories.update(scope, { categoryId: id }, files), rejected)
    }
    await rejectsWith('VALIDATION_ERROR', evidences.update(scope, 'e-1', { files: [file, file] }))
    assert.equal(await stores.records.logSize(), logSize)
    await evidences.update(scope, 'e-1', { files: [file] })
  })

  test('shortens the name to its last segment without control characters', () => {
    const names: readonly [string, string][] = [
      ['../../etc/passwd', 'passwd'],
      [String.raw`C:\temp\a.txt`, 'a.txt'],
      ['a\u0000b\u001bc\u009f.txt', 'abc.txt'],
      ['ü 😀.png', 'ü 😀.png'],
      ['\ud800x', '\ufffdx'],
      ['a/', 'file'],
      ['..', 'file'],
      ['.', 'file'],
      ['', 'file'],
      ['😀'.repeat(300), '😀'.repeat(256)],
    ]
    for (const [given, shown] of names) assert.equal(displayName(given), shown, JSON.stringify(given))
    // Bidirectional controls (UAX 9) would show `invoice_exe.pdf` for a name that ends with `.exe`.
    for (const control of '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069')
      assert.equal(displayName(`invoice_${control}fdp.exe`), 'invoice_fdp.exe')
  })

  it('uses the given title, or the name without its extension', async ({ files, scope }) => {
    const titleOf = async (name: string, title?: string) => {
      const body = bodyOf('x')
      return (
        await files.stage(
          scope,
          { name, mimeType: 'a/b', body, ...(title !== undefined && { title }) },
          { maxBytes: 9 },
        )
      ).title
    }
    assert.deepEqual(
      [
        await titleOf('a.tar.gz'),
        await titleOf('.profile'),
        await titleOf('none'),
        await titleOf('a.txt', 'T.x'),
        await titleOf('a.', ''),
      ],
      ['a.tar', '.profile', 'none', 'T.x', ''],
    )
  })
})

/** An evidence with an image and two files, and a category and a subcategory with an image each. */
async function filled(fixture: Fixture) {
  const { registry, scope, stage, evidence } = fixture
  const [image, one, two] = [
    await stage('image', 'i.png', 'image/png'),
    await stage('one', 'secret-name.txt'),
    await stage('two'),
  ]
  await evidence({ image, files: [one, two] })
  const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
  const { categoryId, subcategoryId } = stored
  const [ofCategory, ofSubcategory] = [await stage('c'), await stage('s')]
  await registry.categories.update(scope, { categoryId }, { image: ofCategory })
  await registry.categories.update(scope, { categoryId, subcategoryId }, { image: ofSubcategory })
  return { image, one, two, ofCategory, ofSubcategory, categoryId, subcategoryId, id: stored.id }
}

describe('finding and reading a file', () => {
  it('requires that every named owner owns the file', async (fixture) => {
    const { files, categories, scope, evidence } = fixture
    const { one, ofCategory, ofSubcategory, categoryId, subcategoryId, id } = await filled(fixture)
    await evidence({ externalId: 'e-2', category: { name: 'Other' } })
    const { id: other } = await categories.create(scope, { name: 'Third' })
    const found: readonly [StagedFile, object][] = [
      [one, {}],
      [one, { externalId: 'e-1', categoryId, subcategoryId }],
      [one, { subcategoryId }],
      [ofCategory, { categoryId }],
      [ofSubcategory, { categoryId, subcategoryId }],
      [ofCategory, { externalId: 'e-1' }],
      [ofSubcategory, { externalId: 'e-1', categoryId }],
    ]
    for (const [file, owners] of found) {
      const { name, mimeType, size, sha256 } = file
      const { id: fileId, ...info } = await files.find(scope, { fileId: file.id, ...owners })
      assert.equal(fileId, file.id)
      assert.deepEqual(
        { name: info.name, mimeType: info.mimeType, size: info.size, sha256: info.sha256 },
        { name, mimeType, size, sha256 },
      )
    }
    const missing: readonly [string, object][] = [
      [one.id, { externalId: 'e-2' }],
      [one.id, { externalId: id }],
      [one.id, { externalId: 'e-1', categoryId: other }],
      [one.id, { subcategoryId: categoryId }],
      [ofCategory.id, { externalId: 'e-2' }],
      [ofSubcategory.id, { externalId: 'e-2' }],
      [ofCategory.id, { externalId: 'none' }],
      [ofCategory.id, { categoryId, subcategoryId }],
      [ofSubcategory.id, { categoryId: other }],
      ['01890000-0000-7000-8000-000000000000', {}],
      ['x', {}],
      ['', {}],
      [one.id.toUpperCase(), {}],
    ]
    for (const [fileId, owners] of missing)
      await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId, ...owners }))
    await rejectsWith('VALIDATION_ERROR', files.find(scope, { fileId: one.id, path: 'x' } as never))
  })

  it('works in the same company only', async (fixture) => {
    const { files, system } = fixture
    const { one, ofCategory } = await filled(fixture)
    const { scope: foreign } = await system('A', 'other')
    for (const { id } of [one, ofCategory]) {
      await rejectsWith('FILE_NOT_FOUND', files.find(foreign, { fileId: id }))
      await rejectsWith('FILE_NOT_FOUND', files.delete(foreign, { fileId: id }))
      await rejectsWith('FILE_NOT_FOUND', files.createToken(foreign, id))
    }
  })

  it('returns all bytes or a range', async (fixture) => {
    const { files, scope } = fixture
    const { image } = await filled(fixture)
    const info = await files.find(scope, { fileId: image.id })
    assert.equal(await text(await files.read(info)), 'image')
    assert.equal(await text(await files.read(info, { range: { start: 1, end: 3 } })), 'ma')
    await rejectsWith('RANGE_NOT_SATISFIABLE', files.read(info, { range: { start: 3, end: 6 } }))
    let returned = 0
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: true as const, value: undefined }),
        return: async () => ({ done: true as const, value: void returned++ }),
      }),
    }
    fixture.process.blobs.get = async () => ({ size: 4, body })
    await rejectsWith('CORRUPT', files.read(info))
    assert.equal(returned, 1, 'the body is released')
    fixture.process.blobs.get = async () => undefined
    await rejectsWith('CORRUPT', files.read(info))
    assert.equal(fixture.registry.status().damagedReads, 2)
    fixture.process.blobs.get = async () => {
      throw new RegistryError('RANGE_NOT_SATISFIABLE', 'The blob is shorter than the file')
    }
    await rejectsWith('CORRUPT', files.read(info, { range: { start: 3, end: 5 } }))
    assert.equal(fixture.registry.status().damagedReads, 3)
    fixture.process.blobs.get = async () => undefined
    await files.delete(scope, { fileId: info.id })
    await rejectsWith('FILE_NOT_FOUND', files.read(info))
    assert.equal(fixture.registry.status().damagedReads, 3)
  })

  it('yields the last bytes of a file only if its hash matches, and releases what is not read', async (fixture) => {
    const { files, scope } = fixture
    const { image } = await filled(fixture)
    const info = await files.find(scope, { fileId: image.id })
    let returned = 0
    const stored = (...texts: readonly string[]) => {
      fixture.process.blobs.get = async () => {
        const chunks = texts.map((part) => new Uint8Array(Buffer.from(part)))
        const body = {
          [Symbol.asyncIterator]: () => ({
            next: async () => {
              const value = chunks.shift()
              return value === undefined ? { done: true as const, value } : { done: false as const, value }
            },
            return: async () => ({ done: true as const, value: void returned++ }),
          }),
        }
        return { size: info.size, body }
      }
    }
    stored('', 'im', '', 'ag', 'e', '')
    assert.equal(await text(await files.read(info)), 'image')
    stored('im', 'ag', 'E')
    let given = ''
    const reading = (async () => {
      for await (const chunk of await files.read(info)) given += Buffer.from(chunk).toString()
    })()
    await rejectsWith('CORRUPT', reading)
    assert.equal(given, 'imag')
    assert.equal(fixture.registry.status().damagedReads, 1)
    stored('imagE')
    await rejectsWith('CORRUPT', files.read(info), 'before anything is streamed')
    assert.equal(fixture.registry.status().damagedReads, 2)
    assert.equal(await text(await files.read(info, { range: { start: 0, end: 4 } })), 'imagE', 'a part is not checked')
    await assert.rejects(async () => text(await files.read(info, { range: { start: 0, end: 5 } })), { code: 'CORRUPT' })
    stored('im', 'age')
    // The reader may change what it got.
    for await (const chunk of await files.read(info)) chunk.fill(0)
    stored('im', 'age')
    assert.equal(returned, 0)
    await (await files.read(info))[Symbol.asyncIterator]().return?.()
    assert.equal(returned, 1)
  })
})

describe('deleting a file of an evidence', () => {
  it('appends an event, destroys the bytes, and removes the file from every list and count', async (fixture) => {
    const { files, evidences, proofs, scope, stores, clock } = fixture
    const { one, two, image, ofCategory, ofSubcategory } = await filled(fixture)
    await clock.advance(1_000)
    await files.delete(scope, { fileId: one.id, externalId: 'e-1' })
    const { events } = await evidences.get(scope, 'e-1')
    const last = events.at(-1)
    assert.deepEqual([last?.version, last?.type, last?.updateType], [2, 'update', 'deletefile'])
    assert.equal(last?.recordedAt.getTime(), clock.now())
    assert.equal((await evidences.list(scope)).items[0]?.eventCounts.update, 1)
    const ids = (await evidences.files(scope, 'e-1')).evidence.map(({ id }) => id)
    assert.deepEqual(ids, [image.id, two.id])
    assert.equal(withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'pending').fileCount, 2)
    await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId: one.id }))
    await rejectsWith('FILE_NOT_FOUND', files.delete(scope, { fileId: one.id }))
    const left = [two, image, ofCategory, ofSubcategory].map(({ id }) => id).sort()
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: left, stored: left })
  })

  it('removes the image of the evidence', async (fixture) => {
    const { files, evidences, scope } = fixture
    const { image } = await filled(fixture)
    await files.delete(scope, { fileId: image.id })
    assert.equal('image' in (await evidences.get(scope, 'e-1')).evidence, false)
    assert.equal('image' in ((await evidences.list(scope)).items[0] ?? {}), false)
  })

  it('erases name, hash, size and salt everywhere, and the event can still be recomputed', async (fixture) => {
    const { files, evidences, scope, stores } = fixture
    const { one, two } = await filled(fixture)
    const before = (await evidences.get(scope, 'e-1', { disclose: true })).events[0]?.disclosure
    assert.ok(before)
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    const [first] = await stores.records.get([keys.event(scope.companyId, id, 1)])
    const seed = decodeRecord<EvidenceRecord>(first)?.first.salts as string
    await files.delete(scope, { fileId: one.id })
    const { events } = await evidences.get(scope, 'e-1', { disclose: true })
    const [created, deleted] = events.map(({ disclosure }) => disclosure as NonNullable<typeof disclosure>)
    assert.ok(created && deleted)
    assert.deepEqual({ ...created, files: null }, { ...before, files: null }, 'the commitment is the same')
    assert.deepEqual(
      Object.keys(created.files).sort(),
      Object.keys(before.files)
        .filter((fileId) => fileId !== one.id)
        .sort(),
    )
    assert.equal(recompute(created).txId, events[0]?.txId)
    assert.ok(one.id in recompute(created).files, 'its hash is still in the files text')
    assert.equal(recompute(deleted).txId, events[1]?.txId)
    assert.deepEqual(JSON.parse(deleted.files[one.id]?.text ?? ''), { deleted: events[0]?.txId, id: one.id })
    const erased = ['secret-name', one.sha256, before.files[one.id]?.salt as string, seed]
    for await (const { key, value } of stores.records.list({ gte: ' ', lt: '~' }))
      for (const secret of erased)
        assert.ok(!Buffer.from(value).toString('latin1').includes(secret), `${key} still has ${secret}`)
    // A second erasure in the same event works with the remaining salts.
    await files.delete(scope, { fileId: two.id })
    const again = (await evidences.get(scope, 'e-1', { disclose: true })).events
    for (const event of again)
      assert.equal(recompute(event.disclosure as NonNullable<typeof event.disclosure>).txId, event.txId)
    assert.equal(Object.keys(again[0]?.disclosure?.files ?? {}).length, 1)
    assert.deepEqual(Object.keys(again[0]?.disclosure?.fields ?? {}), Object.keys(before.fields))
  })

  it('succeeds while the blob store is down, and a later sweep deletes the bytes', async (fixture) => {
    const { files, scope, stores, process, wait } = fixture
    const { one } = await filled(fixture)
    process.isBlobStoreDown = true
    await files.delete(scope, { fileId: one.id })
    await rejectsWith('FILE_NOT_FOUND', files.find(scope, { fileId: one.id }))
    assert.ok(stores.blobs.kept.has(one.id))
    await wait(1)
    assert.equal((await stores.blobState()).pendingDeletions, 1)
    process.isBlobStoreDown = false
    await wait(1)
    const { pendingDeletions, files: used, stored } = await stores.blobState()
    assert.deepEqual([pendingDeletions, used], [0, stored])
  })
})

describe('file tokens', () => {
  /** The file that a token opens, if any. */
  async function fileOfToken(files: Files, companyId: string, token: string): Promise<string | undefined> {
    const principal = await files.authenticateToken({ companyId, token })
    if (principal === undefined) return undefined
    assert.ok(principal.kind === 'fileToken' && principal.companyId === companyId)
    return principal.fileId
  }

  it('open one file of one company for five minutes', async (fixture) => {
    const { files, scope, clock } = fixture
    const { one, two, ofCategory } = await filled(fixture)
    const { token, expiresAt } = await files.createToken(scope, one.id)
    assert.equal(expiresAt.getTime(), clock.now() + 5 * 60_000)
    assert.equal(await fileOfToken(files, COMPANY, token), one.id)
    assert.equal(await fileOfToken(files, 'other', token), undefined)
    assert.equal(await fileOfToken(files, COMPANY, (await files.createToken(scope, two.id)).token), two.id)
    assert.equal(
      await fileOfToken(files, COMPANY, (await files.createToken(scope, ofCategory.id)).token),
      ofCategory.id,
    )
    clock.set(expiresAt.getTime() - 1)
    assert.equal(await fileOfToken(files, COMPANY, token), one.id)
    // The second time: the clock was two hours ahead when the token was made.
    for (const time of [expiresAt.getTime(), expiresAt.getTime() - 7_200_000]) {
      clock.set(time)
      assert.equal(await fileOfToken(files, COMPANY, token), undefined)
    }
  })

  it('open nothing if any character differs', async (fixture) => {
    const { files, scope } = fixture
    const { one } = await filled(fixture)
    const { token } = await files.createToken(scope, one.id)
    for (let i = 0; i < token.length; i++) {
      const other = token[i] === 'A' ? 'B' : 'A'
      assert.equal(
        await fileOfToken(files, COMPANY, token.slice(0, i) + other + token.slice(i + 1)),
        undefined,
        `at ${i}`,
      )
    }
    for (const wrong of [
      '',
      'x',
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `${token}!`,
      token.slice(1),
      token.slice(0, -1),
    ])
      assert.equal(await fileOfToken(files, COMPANY, wrong), undefined, wrong)
  })

  it('end with the key of their maker: rotated, switched off, expired', async (fixture) => {
    const { files, sourceSystems, scope, system, clock } = fixture
    const { one } = await filled(fixture)
    const { id, apiKey } = await system('R')
    const principal = await sourceSystems.authenticate({ companyId: COMPANY, apiKey })
    assert.ok(principal)
    const opens = async (change: SourceSystemChange): Promise<boolean> => {
      const { token } = await files.createToken({ companyId: COMPANY, principal }, one.id)
      assert.equal(await fileOfToken(files, COMPANY, token), one.id)
      await sourceSystems.update(scope, id, change)
      return (await fileOfToken(files, COMPANY, token)) !== undefined
    }
    assert.equal(await opens({ name: 'renamed' }), true)
    assert.equal(await opens({ apiKey: 'a-second-key-of-the-system', graceSeconds: 60 }), true)
    assert.equal(await opens({ apiKey: 'a-third-key-of-the-system' }), false)
    assert.equal(await opens({ active: false }), false)
    await sourceSystems.update(scope, id, { active: true })
    const { token: ofReplaced } = await files.createToken({ companyId: COMPANY, principal }, one.id)
    await sourceSystems.update(scope, id, { apiKey: 'a-fourth-key-of-the-system', graceSeconds: 60 })
    clock.set(clock.now() + 60_000)
    assert.equal(await fileOfToken(files, COMPANY, ofReplaced), undefined, 'the grace period has ended')
    const expiresAt = new Date(clock.now() + 1_000)
    assert.equal(await opens({ expiresAt }), true)
    await sourceSystems.update(scope, id, { expiresAt })
    const { token } = await files.createToken({ companyId: COMPANY, principal }, one.id)
    clock.set(expiresAt.getTime())
    assert.equal(await fileOfToken(files, COMPANY, token), undefined)
  })

  it('may expire while a download goes on, which ends with the key', async (fixture) => {
    const { files, sourceSystems, scope, system, clock } = fixture
    const { one } = await filled(fixture)
    const { id, apiKey } = await system('R')
    const principal = await sourceSystems.authenticate({ companyId: COMPANY, apiKey })
    assert.ok(principal)
    const { token, expiresAt } = await files.createToken({ companyId: COMPANY, principal }, one.id)
    clock.set(expiresAt.getTime())
    const goesOn = async () =>
      (await files.authenticateToken({ companyId: COMPANY, token, hasBegun: true })) !== undefined
    assert.equal(await goesOn(), true)
    await sourceSystems.update(scope, id, { active: false })
    assert.equal(await goesOn(), false)
  })

  test('are created for existing files only, and mean nothing to another registry', async (t) => {
    const one = await openFixture({ t })
    const other = await openFixture({ t, registry: { secret: new Uint8Array(32).fill(9) } })
    const { one: file } = await filled(one)
    const { token } = await one.registry.files.createToken(one.scope, file.id)
    assert.equal(await fileOfToken(other.registry.files, COMPANY, token), undefined)
    await one.registry.files.delete(one.scope, { fileId: file.id })
    await rejectsWith('FILE_NOT_FOUND', one.registry.files.createToken(one.scope, file.id))
  })
})

describe('the sweep', () => {
  for (const [name, passedMs] of [
    ['a moment later', 1],
    ['in the same millisecond', 0],
    ['after the clock was set back', -60_000],
  ] as const)
    test(`cancels the uploads of the previous process at a start ${name}`, async (t) => {
      const stores = new Stores()
      const before = await openFixture({ stores })
      await before.stage('left')
      await before.evidence({ files: [await before.stage('used')] })
      await before.close()
      stores.clock.set(stores.clock.now() + passedMs)
      await openFixture({ t, stores })
      const { intents, pendingDeletions, files, stored } = await stores.blobState()
      assert.deepEqual([intents, pendingDeletions, files.length, stored], [0, 0, 1, files])
    })

  test('cancels uploads of the previous process later if it fails at the start, but not its own', async (t) => {
    const stores = new Stores()
    const before = await openFixture({ stores })
    await before.stage('left')
    await before.close()
    await stores.clock.advance(1)
    let isBroken = true
    const records = decorateRecords(stores.records, {
      list: (range) => {
        if (isBroken && range.gte === keys.blobIntents().gte) throw new RegistryError('UNAVAILABLE', 'injected')
        return stores.records.list(range)
      },
    })
    const after = await openFixture({ t, stores, registry: { records } })
    assert.equal((await stores.blobState()).intents, 1)
    isBroken = false
    const own = await after.stage('own')
    await after.wait(1)
    assert.deepEqual((await stores.blobState()).stored, [own.id])
  })

  test('leaves running uploads alone, with shared records for a day', async (t) => {
    const stores = new Stores()
    const before = await openFixture({ t, stores, records: { isShared: true } })
    const staged = await before.stage('of another process')
    await stores.clock.advance(1)
    const shared = await openFixture({ t, stores, records: { isShared: true } })
    const own = await shared.stage('own')
    // Servers with shared records look for events four times a second, so only the end is lived through.
    const later = async (hours: number): Promise<void> => {
      stores.clock.set(stores.clock.now() + hours * 3_600_000)
      await shared.wait(0.25)
    }
    await later(22)
    assert.equal((await stores.blobState()).intents, 2)
    await shared.evidence({ files: [own] })
    await before.registry.evidences.update(before.scope, 'e-1', { files: [staged] })
    await shared.stage('never used')
    await later(24)
    const { intents, pendingDeletions, files, stored } = await stores.blobState()
    assert.deepEqual([intents, pendingDeletions, files.length, stored], [0, 0, 2, files])
  })

  test('deletes what is pending also if the uploads cannot be read', async (t) => {
    const stores = new Stores()
    const records = decorateRecords(stores.records, {
      list: (range) => {
        if (range.gte === keys.blobIntents().gte) throw new RegistryError('CORRUPT', 'injected')
        return stores.records.list(range)
      },
    })
    const fixture = await openFixture({ t, stores, registry: { records, blobs: stores.blobs } })
    const file = await fixture.stage()
    await fixture.evidence({ files: [file] })
    const { blobs } = stores
    const destroy = blobs.delete.bind(blobs)
    blobs.delete = () => Promise.reject(new RegistryError('UNAVAILABLE', 'injected'))
    await fixture.registry.files.delete(fixture.scope, { fileId: file.id })
    assert.equal((await stores.blobState()).pendingDeletions, 1)
    blobs.delete = destroy
    await fixture.wait(1)
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('destroys no bytes of a file that a record uses', async ({ stage, evidence, stores, clock, process }) => {
    const [first, second] = [await stage('first'), await stage('second')]
    await evidence({ files: [first, second] })
    // As rows that were deleted come back if the disk loses the newest state of a table.
    await stores.records.commit({
      writes: [
        putRecord(keys.blobIntent(first.id), { at: 1, opening: 'of an earlier process' }),
        pendingDeletion(second.id, 1),
      ],
    })
    const { logger, lines } = recordingLogger()
    const context = { records: process.records, blobs: process.blobs, clock, logger }
    await sweep(context, { before: clock.now() })
    const { stored, intents } = await stores.blobState()
    assert.deepEqual([stored, intents], [[first.id, second.id], 0])
    assert.deepEqual(
      lines.map(({ level, file }) => [level, file]),
      stored.map((id) => ['error', id]),
    )
  })

  it('handles any number of uploads, in pages', async ({ stage, stores, clock, process }) => {
    await Promise.all(Array.from({ length: 250 }, (_, i) => stage(`${i}`)))
    const context = { records: process.records, blobs: process.blobs, clock, logger: silentLogger }
    const before = clock.now() + 1
    await sweep(context, { before, signal: AbortSignal.abort() })
    assert.equal((await stores.blobState()).intents, 250, 'an aborted sweep does nothing')
    await sweep(context, { before })
    assert.deepEqual(await stores.blobState(), clean)
  })
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { isRegistryError } from '../../../core/errors.ts'
import type { Files, StagedFile } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import type { EventRecord } from '../../../core/store/records.ts'
import { sweep } from '../../../core/store/blob-lifecycle.ts'
import { displayName } from '../../../core/registry/file/stage.ts'
import { decodeRecord } from '../../../core/store/record-codec.ts'
import { settle } from '../../support/manual-clock.ts'
import {
  bodyOf,
  COMPANY,
  openFixture,
  refused,
  textOf,
  withRegistry,
  withStatus,
  World,
  type Fixture,
} from '../../support/registry-fixture.ts'
import { recompute } from '../../support/commitment-reference.ts'

const clean = { intents: 0, dooms: 0, files: [], stored: [] }

describe('staging a file', () => {
  it('stores the bytes, and nothing uses them yet', () =>
    withRegistry(async ({ registry: { files }, scope, world }) => {
      const body = bodyOf('hel', '', 'lo')
      const staged = await files.stage(scope, { name: 'a.b.txt', mimeType: 'text/plain', body }, { maxBytes: 5 })
      const { id, intent, ...rest } = staged
      const sha256 = createHash('sha256').update('hello').digest('hex')
      assert.deepEqual(rest, { name: 'a.b.txt', mimeType: 'text/plain', title: 'a.b', size: 5, sha256 })
      assert.ok(intent)
      assert.deepEqual(await world.blobState(), { intents: 1, dooms: 0, files: [], stored: [id] })
      await assert.rejects(files.find(scope, { fileId: id }), refused('FILE_NOT_FOUND'))
      await files.discard([staged])
      await files.discard([staged])
      assert.deepEqual(await world.blobState(), clean)
    }))

  it('keeps nothing of what is too large, breaks off or is aborted', () =>
    withRegistry(async ({ registry: { files }, scope, world }) => {
      const file = { name: 'a', mimeType: 'text/plain' }
      await assert.rejects(
        files.stage(scope, { ...file, body: bodyOf('1234', '56') }, { maxBytes: 5 }),
        refused('PAYLOAD_TOO_LARGE'),
      )
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
        await assert.rejects(
          files.stage(scope, { ...wrong, body: bodyOf('x') }, { maxBytes: 5 }),
          refused('VALIDATION_ERROR'),
        )
      assert.deepEqual(await world.blobState(), clean)
    }))

  it('leaves to the sweep what it cannot destroy itself', () =>
    withRegistry(async ({ registry: { files }, scope, world, process, wait }) => {
      // The put fails after it was applied, and then the store refuses the clean-up.
      process.fail(2, 'after')
      await assert.rejects(
        files.stage(scope, { name: 'a', mimeType: 'a/b', body: bodyOf('x') }, { maxBytes: 5 }),
        refused('UNAVAILABLE'),
      )
      assert.deepEqual(await world.blobState(), clean)
      process.disarm()
      const staged = await files.stage(scope, { name: 'a', mimeType: 'a/b', body: bodyOf('x') }, { maxBytes: 5 })
      process.blobStoreDown = true
      await files.discard([staged])
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 1, files: [], stored: [staged.id] })
      process.blobStoreDown = false
      await wait(1)
      assert.deepEqual(await world.blobState(), clean)
    }))

  it('is for one write: used or discarded, a staged file is gone', () =>
    withRegistry(async ({ registry, scope, stage, evidence, process }) => {
      const [used, discarded] = [await stage(), await stage()]
      await evidence({ files: [used] })
      await registry.files.discard([discarded, used])
      assert.ok(await registry.files.find(scope, { fileId: used.id }), 'a used file is not discarded')
      for (const gone of [used, discarded]) {
        process.disarm()
        await assert.rejects(registry.evidences.update(scope, 'e-1', { files: [gone] }), refused('FILE_NOT_FOUND'))
        assert.ok(process.steps <= 2, `not tried again and again: ${process.steps} commits`)
        await assert.rejects(registry.categories.create(scope, { name: 'C', image: gone }), refused('FILE_NOT_FOUND'))
      }
      assert.equal((await registry.evidences.get(scope, 'e-1')).lastVersion, 1)
    }))

  it('shows the name as its last segment without control characters', () => {
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
  })

  it('takes the title that it is given, else the name without its ending', () =>
    withRegistry(async ({ registry: { files }, scope }) => {
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
    }))
})

/** An evidence with an image and two files, and a category with one. */
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
  await registry.categories.update(scope, categoryId, { image: ofCategory })
  await registry.categories.updateSubcategory(scope, { categoryId, subcategoryId }, { image: ofSubcategory })
  return { image, one, two, ofCategory, ofSubcategory, categoryId, subcategoryId, id: stored.id }
}

describe('finding and reading a file', () => {
  it('works where every owner that is named is one of its owners', () =>
    withRegistry(async (fixture) => {
      const { registry: { files, categories }, scope, evidence } = fixture // prettier-ignore
      const { one, ofCategory, ofSubcategory, categoryId, subcategoryId, id } = await filled(fixture)
      await evidence({ externalId: 'e-2', category: { name: 'Other' } })
      const { id: other } = await categories.create(scope, { name: 'Third' })
      const found: readonly [StagedFile, object][] = [
        [one, {}],
        [one, { externalId: 'e-1', categoryId, subcategoryId }],
        [one, { subcategoryId }],
        [ofCategory, { categoryId }],
        [ofSubcategory, { categoryId, subcategoryId }],
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
        [ofCategory.id, { externalId: 'e-1' }],
        [ofCategory.id, { categoryId, subcategoryId }],
        [ofSubcategory.id, { categoryId: other }],
        ['01890000-0000-7000-8000-000000000000', {}],
        ['x', {}],
        ['', {}],
        [one.id.toUpperCase(), {}],
      ]
      for (const [fileId, owners] of missing)
        await assert.rejects(files.find(scope, { fileId, ...owners }), refused('FILE_NOT_FOUND'))
      await assert.rejects(files.find(scope, { fileId: one.id, path: 'x' } as never), refused('VALIDATION_ERROR'))
    }))

  it('is for the own company', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, system } = fixture // prettier-ignore
      const { one, ofCategory } = await filled(fixture)
      const { scope: foreign } = await system('A', 'other')
      for (const { id } of [one, ofCategory]) {
        await assert.rejects(files.find(foreign, { fileId: id }), refused('FILE_NOT_FOUND'))
        await assert.rejects(files.delete(foreign, { fileId: id }), refused('FILE_NOT_FOUND'))
        await assert.rejects(files.createToken(foreign, id), refused('FILE_NOT_FOUND'))
      }
    }))

  it('gives the bytes, all or a range', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, scope } = fixture // prettier-ignore
      const { image } = await filled(fixture)
      const info = await files.find(scope, { fileId: image.id })
      assert.equal(await textOf(await files.read(info)), 'image')
      assert.equal(await textOf(await files.read(info, { range: { start: 1, end: 3 } })), 'ma')
      await assert.rejects(files.read(info, { range: { start: 3, end: 6 } }), refused('RANGE_NOT_SATISFIABLE'))
      let returned = 0
      const body = {
        [Symbol.asyncIterator]: () => ({
          next: async () => ({ done: true as const, value: undefined }),
          return: async () => ({ done: true as const, value: void returned++ }),
        }),
      }
      fixture.process.blobs.get = async () => ({ size: 4, body })
      await assert.rejects(files.read(info), refused('CORRUPT'))
      assert.equal(returned, 1, 'the body is let go')
      fixture.process.blobs.get = async () => undefined
      await assert.rejects(files.read(info), refused('FILE_NOT_FOUND'))
    }))

  it('gives the last bytes of a whole file only where all are those recorded, and lets go of what is not read', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, scope } = fixture // prettier-ignore
      const { image } = await filled(fixture)
      const info = await files.find(scope, { fileId: image.id })
      let returned = 0
      const stored = (...texts: readonly string[]) => {
        fixture.process.blobs.get = async () => {
          const chunks = texts.map((text) => new Uint8Array(Buffer.from(text)))
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
      assert.equal(await textOf(await files.read(info)), 'image')
      stored('im', 'ag', 'E')
      let given = ''
      const reading = (async () => {
        for await (const chunk of await files.read(info)) given += Buffer.from(chunk).toString()
      })()
      await assert.rejects(reading, refused('CORRUPT'))
      assert.equal(given, 'imag')
      assert.equal(
        await textOf(await files.read(info, { range: { start: 0, end: 5 } })),
        'imagE',
        'a range is not checked',
      )
      stored('image')
      assert.equal(returned, 0)
      await (await files.read(info))[Symbol.asyncIterator]().return?.()
      assert.equal(returned, 1)
    }))
})

describe('deleting a file of an evidence', () => {
  it('appends an event, destroys the bytes, and leaves it in no listing and no count', () =>
    withRegistry(async (fixture) => {
      const { registry: { files, evidences, proofs }, scope, world, clock } = fixture // prettier-ignore
      const { one, two, image, ofCategory, ofSubcategory } = await filled(fixture)
      await clock.advance(1_000)
      await files.delete(scope, { fileId: one.id, externalId: 'e-1' })
      const { events } = await evidences.get(scope, 'e-1')
      const last = events.at(-1)
      assert.deepEqual([last?.version, last?.type, last?.updateType], [2, 'update', 'deletefile'])
      assert.equal(last?.recordedAt.getTime(), clock.now())
      assert.equal((await evidences.list(scope)).items[0]?.eventCounts.update, 1)
      assert.deepEqual(
        (await evidences.files(scope, 'e-1')).evidence.map(({ id }) => id),
        [image.id, two.id],
      )
      assert.equal(withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'pending').fileCount, 2)
      await assert.rejects(files.find(scope, { fileId: one.id }), refused('FILE_NOT_FOUND'))
      await assert.rejects(files.delete(scope, { fileId: one.id }), refused('FILE_NOT_FOUND'))
      const left = [two, image, ofCategory, ofSubcategory].map(({ id }) => id).sort()
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: left, stored: left })
    }))

  it('takes the image off the evidence', () =>
    withRegistry(async (fixture) => {
      const { registry: { files, evidences }, scope } = fixture // prettier-ignore
      const { image } = await filled(fixture)
      await files.delete(scope, { fileId: image.id })
      assert.equal('image' in (await evidences.get(scope, 'e-1')).evidence, false)
      assert.equal('image' in ((await evidences.list(scope)).items[0] ?? {}), false)
    }))

  it('erases name, hash, size and salt everywhere, while header and files still open', () =>
    withRegistry(async (fixture) => {
      const { registry: { files, evidences }, scope, world } = fixture // prettier-ignore
      const { one, two } = await filled(fixture)
      const before = (await evidences.get(scope, 'e-1', { disclose: true })).events[0]?.disclosure
      assert.ok(before)
      const { id } = (await evidences.get(scope, 'e-1')).evidence
      const [first] = await world.records.get([keys.event(id, 1)])
      const { seed } = (decodeRecord<EventRecord>(first)?.salts ?? {}) as { seed: string }
      await files.delete(scope, { fileId: one.id })
      const { events } = await evidences.get(scope, 'e-1', { disclose: true })
      const [created, deleted] = events.map(({ disclosure }) => disclosure as NonNullable<typeof disclosure>)
      assert.ok(created && deleted)
      assert.deepEqual({ ...created, files: null }, { ...before, files: null }, 'the commitment stays')
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
      for await (const { key, value } of world.records.list({ gte: ' ', lt: '~' }))
        for (const secret of erased)
          assert.ok(!Buffer.from(value).toString('latin1').includes(secret), `${key} still has ${secret}`)
      // A second erasure of the same event finds the salts that remain.
      await files.delete(scope, { fileId: two.id })
      const again = (await evidences.get(scope, 'e-1', { disclose: true })).events
      for (const event of again)
        assert.equal(recompute(event.disclosure as NonNullable<typeof event.disclosure>).txId, event.txId)
      assert.equal(Object.keys(again[0]?.disclosure?.files ?? {}).length, 1)
      assert.deepEqual(Object.keys(again[0]?.disclosure?.fields ?? {}), Object.keys(before.fields))
    }))

  it('is done once, of those that race', () =>
    withRegistry(async (fixture) => {
      const { registry: { files, evidences }, scope } = fixture // prettier-ignore
      const { one, two } = await filled(fixture)
      const deletes = [one, two, one, two, one].map(({ id }) => files.delete(scope, { fileId: id }))
      const updates = [1, 2, 3].map((i) => evidences.update(scope, 'e-1', { description: `${i}` }))
      const results = await Promise.allSettled(deletes)
      await Promise.all(updates)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
      for (const result of results)
        assert.ok(result.status === 'fulfilled' || isRegistryError(result.reason, 'FILE_NOT_FOUND'))
      const { events } = await evidences.get(scope, 'e-1', { disclose: true })
      assert.equal(events.length, 6)
      for (const event of events)
        assert.equal(recompute(event.disclosure as NonNullable<typeof event.disclosure>).txId, event.txId)
    }))

  it('is acknowledged while the blob store is down; the bytes go with a later sweep', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, scope, world, process, wait } = fixture // prettier-ignore
      const { one } = await filled(fixture)
      process.blobStoreDown = true
      await files.delete(scope, { fileId: one.id })
      await assert.rejects(files.find(scope, { fileId: one.id }), refused('FILE_NOT_FOUND'))
      assert.ok(world.stored.has(one.id))
      await wait(1)
      assert.equal((await world.blobState()).dooms, 1)
      process.blobStoreDown = false
      await wait(1)
      const { dooms, files: used, stored } = await world.blobState()
      assert.deepEqual([dooms, used], [0, stored])
    }))
})

describe('file tokens', () => {
  /** The file that a token opens. */
  function fileOfToken(files: Files, companyId: string, token: string): string | undefined {
    const principal = files.authenticateToken({ companyId, token })
    if (principal === undefined) return undefined
    assert.ok(principal.kind === 'fileToken' && principal.companyId === companyId)
    return principal.fileId
  }

  it('open one file of one company for five minutes', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, scope, clock } = fixture // prettier-ignore
      const { one, two, ofCategory } = await filled(fixture)
      const { token, expiresAt } = await files.createToken(scope, one.id)
      assert.equal(expiresAt.getTime(), clock.now() + 5 * 60_000)
      assert.equal(fileOfToken(files, COMPANY, token), one.id)
      assert.equal(fileOfToken(files, 'other', token), undefined)
      assert.equal(fileOfToken(files, COMPANY, (await files.createToken(scope, two.id)).token), two.id)
      assert.equal(fileOfToken(files, COMPANY, (await files.createToken(scope, ofCategory.id)).token), ofCategory.id)
      clock.set(expiresAt.getTime() - 1)
      assert.equal(fileOfToken(files, COMPANY, token), one.id)
      clock.set(expiresAt.getTime())
      assert.equal(fileOfToken(files, COMPANY, token), undefined)
    }))

  it('open nothing once changed anywhere', () =>
    withRegistry(async (fixture) => {
      const { registry: { files }, scope } = fixture // prettier-ignore
      const { one } = await filled(fixture)
      const { token } = await files.createToken(scope, one.id)
      for (let i = 0; i < token.length; i++) {
        const other = token[i] === 'A' ? 'B' : 'A'
        assert.equal(fileOfToken(files, COMPANY, token.slice(0, i) + other + token.slice(i + 1)), undefined, `at ${i}`)
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
        assert.equal(fileOfToken(files, COMPANY, wrong), undefined, wrong)
    }))

  it('are made for files that are there only, and are another registry’s nothing', async () => {
    const [one, other] = [await openFixture(), await openFixture({ registry: { secret: new Uint8Array(32).fill(9) } })]
    const { one: file } = await filled(one)
    const { token } = await one.registry.files.createToken(one.scope, file.id)
    assert.equal(fileOfToken(other.registry.files, COMPANY, token), undefined)
    await one.registry.files.delete(one.scope, { fileId: file.id })
    await assert.rejects(one.registry.files.createToken(one.scope, file.id), refused('FILE_NOT_FOUND'))
    await Promise.all([one.close(), other.close()])
  })
})

describe('the sweep', () => {
  it('at a start abandons the uploads of the process before', async () => {
    const world = new World()
    const before = await openFixture({ world })
    await before.stage('left')
    await before.evidence({ files: [await before.stage('used')] })
    await before.close()
    await world.clock.advance(1)
    const after = await openFixture({ world })
    const { intents, dooms, files, stored } = await world.blobState()
    assert.deepEqual([intents, dooms, files.length, stored], [0, 0, 1, files])
    await after.close()
  })

  it('leaves alone what is under way, and where others write too, what is younger than a day', async () => {
    const world = new World()
    const before = await openFixture({ world })
    const staged = await before.stage('of another process')
    await world.clock.advance(1)
    const shared = await openFixture({ world, registry: { sharedRecords: true } })
    const own = await shared.stage('own')
    await shared.wait(23)
    assert.equal((await world.blobState()).intents, 2)
    await shared.evidence({ files: [own] })
    await before.registry.evidences.update(before.scope, 'e-1', { files: [staged] })
    await shared.stage('never used')
    await shared.wait(25)
    const { intents, dooms, files, stored } = await world.blobState()
    assert.deepEqual([intents, dooms, files.length, stored], [0, 0, 2, files])
    await Promise.all([before.close(), shared.close()])
  })

  it('takes any number, in pages', () =>
    withRegistry(async ({ stage, world, clock, process }) => {
      await Promise.all(Array.from({ length: 250 }, (_, i) => stage(`${i}`)))
      const logger = { debug() {}, info() {}, warn() {}, error() {} }
      const context = { records: process.records, blobs: process.blobs, clock, logger }
      await sweep(context, clock.now() + 1, AbortSignal.abort())
      assert.equal((await world.blobState()).intents, 250, 'an aborted sweep does nothing')
      await sweep(context, clock.now() + 1)
      assert.deepEqual(await world.blobState(), clean)
    }))
})

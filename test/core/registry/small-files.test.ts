import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { MemoryBlobs } from '../../../adapters/memory/index.ts'
import { toBase64 } from '../../../core/bytes.ts'
import type { StagedFile } from '../../../core/index.ts'
import { copyBlobs, filesOf } from '../../../core/ops/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { putRecord } from '../../../core/store/entries.ts'
import type { FileRecord } from '../../../core/store/records.ts'
import { present } from '../../support/present.ts'
import { bodyOf, openFixture, Stores, it, type Fixture } from '../../support/registry-fixture.ts'
import { differencesIn } from '../../support/whole-store.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const LIMIT = 4_096
const SMALL = { registry: { smallFileBytes: LIMIT } }
const clean = { intents: 0, pendingDeletions: 0, files: [], stored: [] }

const stageIn = ({ registry, scope }: Fixture, ...parts: readonly string[]): Promise<StagedFile> =>
  registry.files.stage(scope, { name: 'a.txt', mimeType: 'a/b', body: bodyOf(...parts) }, { maxBytes: 10_000 })

const read = async ({ registry, scope }: Fixture, { id }: StagedFile, range?: { start: number; end: number }) =>
  text(await registry.files.read(await registry.files.find(scope, { fileId: id }), range && { range }))

describe('a small file', () => {
  it('is stored with the write that uses it, and never as a blob', SMALL, async (fixture) => {
    const { registry, scope, stores, evidence } = fixture
    const staged = await stageIn(fixture, 'hel', '', 'lo')
    assert.deepEqual([staged.content, staged.intent, staged.size], [toBase64(Buffer.from('hello')), undefined, 5])
    assert.deepEqual(await stores.blobState(), clean)
    // An embedder can store a staged file, or send it to another process.
    await evidence({ files: [JSON.parse(JSON.stringify(staged)) as StagedFile] })
    assert.deepEqual(await stores.blobState(), clean)
    assert.equal(await read(fixture, staged), 'hello')
    assert.equal(await read(fixture, staged, { start: 1, end: 3 }), 'el')
    const found = await registry.files.find(scope, { fileId: staged.id })
    const range = { start: 1, end: 6 }
    await rejectsWith('RANGE_NOT_SATISFIABLE', registry.files.read(found, { range }))
    await registry.files.delete(scope, { fileId: staged.id })
    await rejectsWith('FILE_NOT_FOUND', registry.files.read(found))
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('has at most as many bytes as the registry was told, in any number of chunks', SMALL, async (fixture) => {
    for (const [parts, isSmall] of [
      [[], true],
      [['x'.repeat(LIMIT)], true],
      [['x'.repeat(LIMIT - 1), '', 'y'], true],
      [['x'.repeat(LIMIT + 1)], false],
      [['x'.repeat(LIMIT), 'y'], false],
      [['x'.repeat(LIMIT - 1), 'yz'], false],
      [['x'.repeat(LIMIT), '', 'y', 'z'.repeat(3_000)], false],
    ] as const) {
      const staged = await stageIn(fixture, ...parts)
      assert.equal(staged.content !== undefined, isSmall)
      assert.equal(staged.intent === undefined, isSmall)
      const externalId = `e-${staged.id}`
      await fixture.evidence({ externalId, files: [staged] })
      assert.equal(await read(fixture, staged), parts.join(''))
      assert.equal(fixture.stores.blobs.kept.has(staged.id), !isSmall)
    }
  })

  test('can be read with any other limit', async (t) => {
    const stores = new Stores()
    const before = await openFixture({ stores, ...SMALL })
    const staged = await stageIn(before, 'y'.repeat(LIMIT))
    await before.evidence({ files: [staged] })
    await before.close()
    const after = await openFixture({ t, stores })
    assert.equal(await read(after, staged), 'y'.repeat(LIMIT))
    assert.ok((await stageIn(after, '')).intent, 'with the limit 0, an empty file is a blob, too')
  })

  it('is for one write, and a second one is not tried again and again', SMALL, async (fixture) => {
    const { registry, scope, evidence, process } = fixture
    const staged = await stageIn(fixture, 'x')
    await evidence({ files: [staged] })
    process.disarm()
    await rejectsWith('FILE_NOT_FOUND', registry.evidences.update(scope, 'e-1', { files: [staged] }))
    assert.ok(process.steps <= 2, `${process.steps} commits`)
    await registry.files.delete(scope, { fileId: staged.id })
    await rejectsWith('FILE_NOT_FOUND', registry.evidences.update(scope, 'e-1', { files: [staged] }))
  })

  it('must be as it was staged', SMALL, async (fixture) => {
    const staged = await stageIn(fixture, 'hello')
    const { content: _, ...bare } = staged
    const { content: none, ...empty } = await stageIn(fixture)
    assert.equal(none, '')
    const { intent } = await stageIn(fixture, 'x'.repeat(LIMIT + 1))
    const large = toBase64(Buffer.alloc(70_000))
    for (const wrong of [
      { ...staged, content: toBase64(Buffer.from('hellO')) },
      { ...staged, content: `${present(staged.content)}\n` },
      { ...staged, size: 4 },
      { ...staged, content: large, size: 70_000 },
      bare,
      empty,
      { ...staged, intent: present(intent) },
    ])
      await assert.rejects(fixture.evidence({ files: [wrong] }), { code: 'VALIDATION_ERROR', field: 'files' })
    await fixture.evidence({ files: [staged] })
  })

  it('keeps nothing of a body that is too large, fails or is aborted', SMALL, async (fixture) => {
    const { registry, scope, stores } = fixture
    let returned = 0
    const bodyThat = (next: () => Promise<IteratorResult<Uint8Array, undefined>>): AsyncIterable<Uint8Array> => ({
      [Symbol.asyncIterator]: () => ({
        next,
        // It hangs, which must not hold the caller.
        return: () => {
          returned += 1
          return new Promise(() => undefined)
        },
      }),
    })
    const stage = (body: AsyncIterable<Uint8Array>, signal?: AbortSignal) =>
      registry.files.stage(scope, { name: 'a', mimeType: 'a/b', body }, { maxBytes: 5, ...(signal && { signal }) })
    const endless = bodyThat(async () => ({ done: false, value: new Uint8Array(3) }))
    await rejectsWith('PAYLOAD_TOO_LARGE', stage(endless))
    await assert.rejects(stage(bodyThat(() => Promise.reject(new Error('the line broke')))), /the line broke/)
    const texts = bodyThat(async () => ({ done: false, value: 'text' as unknown as Uint8Array }))
    await assert.rejects(stage(texts), TypeError)
    const aborter = new AbortController()
    const staging = stage(
      bodyThat(() => new Promise(() => undefined)),
      aborter.signal,
    )
    aborter.abort(new Error('enough'))
    await assert.rejects(staging, /enough/)
    assert.equal(returned, 4)
    assert.deepEqual(await stores.blobState(), clean)
  })

  it('copies the chunks of a body that uses one again', SMALL, async (fixture) => {
    const { registry, scope, evidence } = fixture
    const chunk = new Uint8Array(1)
    const body = (async function* () {
      for (const byte of Buffer.from('hello')) {
        chunk[0] = byte
        yield chunk
      }
    })()
    const staged = await registry.files.stage(scope, { name: 'a', mimeType: 'a/b', body }, { maxBytes: 5 })
    await evidence({ files: [staged] })
    assert.equal(await read(fixture, staged), 'hello')
  })

  it(
    'is found by fsck and by readers if its content is damaged, also without the blob store',
    SMALL,
    async (fixture) => {
      const { registry, scope, stores, evidence } = fixture
      const staged = await stageIn(fixture, 'hello')
      await evidence({ files: [staged] })
      const info = await registry.files.find(scope, { fileId: staged.id })
      const key = keys.file(staged.id)
      const [entry] = await stores.records.get([key])
      const record = decodeRecord<FileRecord>(present(entry))
      const found = async (): Promise<readonly string[]> =>
        (await differencesIn({ records: stores.records }))
          .filter(({ kind }) => kind === 'blob')
          .map(({ key: name }) => name)
      assert.deepEqual(await found(), [])
      for (const content of [toBase64(Buffer.from('hellO')), toBase64(Buffer.from('hell')), 'aGVsbG9=', '']) {
        await stores.records.commit({ writes: [putRecord(key, { ...record, content })] })
        assert.deepEqual(await found(), [`blob/${staged.id}`], content)
        await rejectsWith('CORRUPT', registry.files.read(info))
      }
      await stores.records.commit({ writes: [putRecord(key, record)] })
      assert.equal(await read(fixture, staged), 'hello')
    },
  )

  it('needs no copy of its own, because the records have it', SMALL, async (fixture) => {
    const [small, large] = [await stageIn(fixture, 'x'), await stageIn(fixture, 'y'.repeat(LIMIT + 1))]
    await fixture.evidence({ files: [small, large] })
    const { records, blobs } = fixture.stores
    const copied: string[] = []
    await copyBlobs(
      filesOf(records),
      { from: blobs, to: new MemoryBlobs() },
      {
        onComplete: ({ id }) => copied.push(id),
        onProblem: (id, message) => assert.fail(`${id}: ${message}`),
        onProgress: () => undefined,
      },
    )
    assert.deepEqual(copied, [large.id])
  })
})

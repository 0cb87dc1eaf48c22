import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { createHmac } from 'node:crypto'
import { canonicalJson } from '../../../core/index.ts'
import { deriveSecret } from '../../../core/platform/node.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { bodyOf, inCategory, it } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const named = (name: string) => ({ ...inCategory('C', 'S'), externalId: name, name })
const once = (idempotencyKey: string): { idempotencyKey: string } => ({ idempotencyKey })

describe('a write with an idempotency key', () => {
  it('is executed once, and returns the same result again', async ({ evidences, categories, scope, stores }) => {
    const first = await evidences.create(scope, named('a'), once('k'))
    assert.deepEqual(await evidences.create(scope, named('a'), once('k')), first)
    const changed = await evidences.update(scope, 'a', { description: 'x' }, once('u'))
    assert.deepEqual(await evidences.update(scope, 'a', { description: 'x' }, once('u')), changed)
    const category = await categories.create(scope, { name: 'D' }, once('c'))
    assert.deepEqual(await categories.create(scope, { name: 'D' }, once('c')), category)
    assert.equal(await stores.records.logSize(), 3)
  })

  it('returns one result to two calls, also if one runs between look-up and decision of the other', async (fixture) => {
    const { evidences, categories, scope, stores } = fixture
    const get = stores.records.get.bind(stores.records)
    for (const create of [
      () => evidences.create(scope, named('a'), once('k')),
      // Its decision throws: the name is in use then.
      () => categories.create(scope, { name: 'D' }, once('k')),
    ]) {
      let other: Promise<unknown> | undefined
      stores.records.get = async (keys) => {
        const found = await get(keys)
        if (other === undefined && keys[0]?.startsWith('ik/') === true) await (other = create())
        return found
      }
      const created = await create()
      assert.ok(other !== undefined)
      assert.deepEqual(await other, created)
    }
    assert.equal((await evidences.list(scope)).count, 1)
  })

  it('leaves the staged files of a repeated call to the caller', async ({ registry, scope, stage, stores }) => {
    const [one, again] = [await stage('same'), await stage('same')]
    const first = await registry.evidences.create(scope, { ...named('a'), files: [one] }, once('k'))
    assert.deepEqual(await registry.evidences.create(scope, { ...named('a'), files: [again] }, once('k')), first)
    await registry.files.discard([again])
    assert.deepEqual(await stores.blobState(), { intents: 0, pendingDeletions: 0, files: [one.id], stored: [one.id] })
  })

  it('is looked up before the version is compared', async ({ evidences, scope }) => {
    await evidences.create(scope, named('a'))
    const options = { ifVersion: 1, ...once('k') }
    const first = await evidences.update(scope, 'a', { description: 'x' }, options)
    assert.deepEqual(await evidences.update(scope, 'a', { description: 'x' }, options), first)
    await rejectsWith(
      'VERSION_CONFLICT',
      evidences.update(scope, 'a', { description: 'y' }, { ifVersion: 1, ...once('k2') }),
    )
  })

  it('is looked up before the version of a category is compared', async ({ categories, scope }) => {
    const { id } = await categories.create(scope, { name: 'D' })
    const update = (name: string, key: string) =>
      categories.update(scope, { categoryId: id }, { name }, { ifVersion: 1, ...once(key) })
    assert.deepEqual(await update('E', 'k'), await update('E', 'k'))
    await rejectsWith('VERSION_CONFLICT', update('F', 'k2'))
  })

  it('throws if the input differs', async ({ evidences, scope }) => {
    await evidences.create(scope, named('a'), once('k'))
    await rejectsWith('IDEMPOTENCY_KEY_REUSED', evidences.create(scope, named('b'), once('k')))
    assert.equal((await evidences.list(scope)).count, 1)
  })

  it('throws for a removal after an update with the same key', async ({ categories, scope }) => {
    const { id } = await categories.create(scope, { name: 'D' })
    await categories.update(scope, { categoryId: id }, { description: 'x' }, once('k'))
    await rejectsWith('IDEMPOTENCY_KEY_REUSED', categories.remove(scope, { categoryId: id }, once('k')))
    await categories.remove(scope, { categoryId: id }, once('k2'))
    await categories.remove(scope, { categoryId: id }, once('k2'))
  })

  it('throws if a file differs, and accepts the same content staged again', async (fixture) => {
    const { evidences, scope, stage, evidence } = fixture
    await evidence()
    const update = async (content: string) =>
      evidences.update(scope, 'e-1', { files: [await stage(content)] }, once('k'))
    const first = await update('one')
    assert.deepEqual(await update('one'), first)
    await rejectsWith('IDEMPOTENCY_KEY_REUSED', update('two'))
  })

  it('throws if the name, the type or the title of a file differs', async (fixture) => {
    const { evidences, files, scope, evidence } = fixture
    await evidence()
    const update = async (more: { name?: string; mimeType?: string; title?: string }) => {
      const file = { name: 'a.txt', mimeType: 'text/plain', title: 'Invoice', body: bodyOf('content'), ...more }
      const staged = await files.stage(scope, file, { maxBytes: 99 })
      return evidences.update(scope, 'e-1', { files: [staged] }, once('k'))
    }
    const first = await update({})
    assert.deepEqual(await update({}), first)
    for (const other of [{ name: 'b.txt' }, { mimeType: 'image/png' }, { title: 'Receipt' }])
      await rejectsWith('IDEMPOTENCY_KEY_REUSED', update(other))
  })

  it('stores the fingerprint only as an HMAC, so that the input cannot be guessed from the store', async (fixture) => {
    const { evidences, scope, stores } = fixture
    await evidences.create(scope, named('a'), once('k'))
    const [entry] = await stores.records.get(await stores.keysOf('ik'))
    const fingerprint = createHmac('sha256', deriveSecret(stores.secret, 'idempotency'))
    fingerprint.update(canonicalJson(named('a')))
    assert.equal(decodeRecord<{ fingerprint: string }>(entry)?.fingerprint, fingerprint.digest('hex'))
  })

  it('is separate for each company, source system, operation and what it works on', async (fixture) => {
    const { evidences, categories, scope, system } = fixture
    const { scope: one } = await system('I')
    const { scope: two } = await system('I')
    const { scope: foreign } = await system('I', 'other')
    assert.notDeepEqual(one.principal, two.principal)
    for (const [i, each] of [scope, one, two, foreign].entries()) await evidences.create(each, named(`${i}`), once('k'))
    await categories.create(scope, { name: 'D' }, once('k'))
    assert.equal((await evidences.list(scope)).count, 3)
    const update = (name: string) => evidences.update(scope, name, { summary: 'same' }, once('k'))
    assert.notDeepEqual(await update('0'), await update('1'))
  })

  it('stores no key for a write that throws', async ({ evidences, scope }) => {
    await evidences.create(scope, named('a'))
    await rejectsWith('EXTERNAL_ID_EXISTS', evidences.create(scope, named('a'), once('k')))
    await evidences.create(scope, named('b'), once('k'))
  })

  it('is forgotten after 24 hours, and its records are removed', async ({ evidences, scope, clock, stores, wait }) => {
    const begin = clock.now()
    await evidences.create(scope, named('a'), once('k'))
    clock.set(begin + 24 * 3_600_000 - 1)
    await evidences.create(scope, named('a'), once('k'))
    clock.set(begin + 24 * 3_600_000)
    await rejectsWith('EXTERNAL_ID_EXISTS', evidences.create(scope, named('a'), once('k')))
    // A new use after the expiry is valid for another 24 hours.
    const again = await evidences.create(scope, named('b'), once('k'))
    assert.equal((await stores.keysOf('it')).length, 1, 'also before the sweep')
    await wait(1)
    assert.deepEqual(await evidences.create(scope, named('b'), once('k')), again)
    assert.deepEqual([(await stores.keysOf('ik')).length, (await stores.keysOf('it')).length], [1, 1])
    await wait(25)
    assert.deepEqual([...(await stores.keysOf('ik')), ...(await stores.keysOf('it'))], [])
  })

  for (const isRead of [true, false])
    it(`stays if it is used again ${isRead ? 'after' : 'before'} the sweep has read it`, async (fixture) => {
      const { evidences, scope, stores, wait } = fixture
      await evidences.create(scope, named('a'), once('k'))
      const get = stores.records.get.bind(stores.records)
      let again: Promise<unknown> | undefined
      stores.records.get = async (keys) => {
        const found = await get(keys)
        if (again !== undefined || keys[0]?.startsWith('ik/') !== true) return found
        await (again = evidences.create(scope, named('b'), once('k')))
        return isRead ? found : get(keys)
      }
      await wait(25)
      assert.deepEqual(await evidences.create(scope, named('b'), once('k')), await again)
    })

  it('has one effect if several calls race with the same key', async ({ evidences, scope, stores }) => {
    const creates = Array.from({ length: 10 }, () => evidences.create(scope, named('a'), once('k')))
    const created = await Promise.all(creates)
    for (const each of created) assert.deepEqual(each, created[0])
    const updates = Array.from({ length: 10 }, (_, i) =>
      evidences.update(scope, 'a', { updateType: 'repair', summary: i < 5 ? 'one' : 'two' }, once('u')),
    )
    const results = await Promise.allSettled(updates)
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : '',
    )
    assert.deepEqual([...new Set(codes)].sort(), ['', 'IDEMPOTENCY_KEY_REUSED'])
    assert.equal(await stores.records.logSize(), 3)
  })

  it('does not return a generated API key again', async ({ sourceSystems, scope, stores }) => {
    const first = await sourceSystems.create(scope, { name: 'a' }, once('k'))
    assert.deepEqual(await sourceSystems.create(scope, { name: 'a' }, once('k')), { id: first.id })
    for await (const { key, value } of stores.records.list({ gte: ' ', lt: '~' }))
      assert.ok(!Buffer.from(value).includes(first.apiKey as string), key)
    const own = { name: 'b', apiKey: 'a-key-of-the-caller-s-own' }
    const second = await sourceSystems.create(scope, own, once('k2'))
    assert.deepEqual(await sourceSystems.create(scope, own, once('k2')), second)
  })

  it('accepts 1 to 255 printable ASCII characters, also with the longest external id', async ({ evidences, scope }) => {
    const externalId = '😀'.repeat(128)
    await evidences.create(scope, { ...named('a'), externalId })
    await evidences.update(scope, externalId, { description: 'x' }, once('%'.repeat(255)))
    for (const key of ['', 'x'.repeat(256), 'é', 'a\n'])
      await rejectsWith('VALIDATION_ERROR', evidences.create(scope, named('b'), once(key)), key)
  })
})

describe('a write whose outcome is unknown', () => {
  it('throws UNKNOWN_OUTCOME, and a retry with the same key returns the result', async (fixture) => {
    const { evidences, scope, process } = fixture
    process.fail(1, 'after')
    await rejectsWith('UNKNOWN_OUTCOME', evidences.create(scope, named('a'), once('k')))
    const { txId } = await evidences.create(scope, named('a'), once('k'))
    assert.equal((await evidences.get(scope, 'a')).evidence.txId, txId)
  })
})

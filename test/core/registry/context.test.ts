import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHmac } from 'node:crypto'
import { canonicalJson } from '../../../core/index.ts'
import { deriveSecret } from '../../../core/secrets.ts'
import { decodeRecord } from '../../../core/store/record-codec.ts'
import { inCategory, refused, withRegistry, type Fixture } from '../../support/registry-fixture.ts'

const named = (name: string) => ({ ...inCategory('C', 'S'), externalId: name, name })
const once = (idempotencyKey: string): { idempotencyKey: string } => ({ idempotencyKey })

describe('a write with an idempotency key', () => {
  it('is done once, and answers the same again', () =>
    withRegistry(async ({ registry: { evidences, categories }, scope, world }) => {
      const first = await evidences.create(scope, named('a'), once('k'))
      assert.deepEqual(await evidences.create(scope, named('a'), once('k')), first)
      const changed = await evidences.update(scope, 'a', { description: 'x' }, once('u'))
      assert.deepEqual(await evidences.update(scope, 'a', { description: 'x' }, once('u')), changed)
      const category = await categories.create(scope, { name: 'D' }, once('c'))
      assert.deepEqual(await categories.create(scope, { name: 'D' }, once('c')), category)
      assert.equal(await world.records.logSize(), 3)
    }))

  it('answers both that are sent at once with the one result, where the other comes between look-up and decision', () =>
    withRegistry(async ({ registry: { evidences }, scope, world }) => {
      const get = world.records.get.bind(world.records)
      let other: Promise<unknown> | undefined
      world.records.get = async (keys) => {
        const found = await get(keys)
        if (other === undefined && keys[0]?.startsWith('ik/') === true)
          await (other = evidences.create(scope, named('a'), once('k')))
        return found
      }
      const answer = await evidences.create(scope, named('a'), once('k'))
      assert.ok(other !== undefined)
      assert.deepEqual(await other, answer)
      assert.equal((await evidences.list(scope)).count, 1)
    }))

  it('leaves the second upload to its caller', () =>
    withRegistry(async ({ registry, scope, stage, world }) => {
      const [one, again] = [await stage('same'), await stage('same')]
      const first = await registry.evidences.create(scope, { ...named('a'), files: [one] }, once('k'))
      assert.deepEqual(await registry.evidences.create(scope, { ...named('a'), files: [again] }, once('k')), first)
      await registry.files.discard([again])
      assert.deepEqual(await world.blobState(), { intents: 0, dooms: 0, files: [one.id], stored: [one.id] })
    }))

  it('is answered before If-Match is looked at', () =>
    withRegistry(async ({ registry: { evidences }, scope }) => {
      await evidences.create(scope, named('a'))
      const options = { ifVersion: 1, ...once('k') }
      const first = await evidences.update(scope, 'a', { description: 'x' }, options)
      assert.deepEqual(await evidences.update(scope, 'a', { description: 'x' }, options), first)
      await assert.rejects(
        evidences.update(scope, 'a', { description: 'y' }, { ifVersion: 1, ...once('k2') }),
        refused('VERSION_CONFLICT'),
      )
    }))

  it('is refused with other content', () =>
    withRegistry(async ({ registry: { evidences }, scope }) => {
      await evidences.create(scope, named('a'), once('k'))
      await assert.rejects(evidences.create(scope, named('b'), once('k')), refused('IDEMPOTENCY_KEY_REUSED'))
      assert.equal((await evidences.list(scope)).count, 1)
    }))

  it('is refused for a removal after an update with the same key', () =>
    withRegistry(async ({ registry: { categories }, scope }) => {
      const { id } = await categories.create(scope, { name: 'D' })
      await categories.update(scope, id, { description: 'x' }, once('k'))
      await assert.rejects(categories.remove(scope, id, once('k')), refused('IDEMPOTENCY_KEY_REUSED'))
      await categories.remove(scope, id, once('k2'))
      await categories.remove(scope, id, once('k2'))
    }))

  it('is refused with another file, and accepts the same content staged again', () =>
    withRegistry(async ({ registry: { evidences }, scope, stage, evidence }) => {
      await evidence()
      const update = async (content: string) =>
        evidences.update(scope, 'e-1', { files: [await stage(content)] }, once('k'))
      const first = await update('one')
      assert.deepEqual(await update('one'), first)
      await assert.rejects(update('two'), refused('IDEMPOTENCY_KEY_REUSED'))
    }))

  it('keeps no fingerprint from which a stolen store could be guessed', () =>
    withRegistry(async ({ registry: { evidences }, scope, world }) => {
      await evidences.create(scope, named('a'), once('k'))
      const [entry] = await world.records.get(await world.keysOf('ik'))
      const fingerprint = createHmac('sha256', deriveSecret(world.secret, 'idempotency'))
      fingerprint.update(canonicalJson(named('a')))
      assert.equal(decodeRecord<{ fingerprint: string }>(entry)?.fingerprint, fingerprint.digest('hex'))
    }))

  it('has a key of its own in each company, for each source system, on each route', () =>
    withRegistry(async ({ registry: { evidences, categories }, scope, system }) => {
      const { scope: one } = await system('I')
      const { scope: two } = await system('I')
      const { scope: foreign } = await system('I', 'other')
      assert.notDeepEqual(one.principal, two.principal)
      for (const [i, where] of [scope, one, two, foreign].entries())
        await evidences.create(where, named(`${i}`), once('k'))
      await categories.create(scope, { name: 'D' }, once('k'))
      assert.equal((await evidences.list(scope)).count, 3)
    }))

  it('keeps no key of a write that was refused', () =>
    withRegistry(async ({ registry: { evidences }, scope }) => {
      await evidences.create(scope, named('a'))
      await assert.rejects(evidences.create(scope, named('a'), once('k')), refused('EXTERNAL_ID_EXISTS'))
      await evidences.create(scope, named('b'), once('k'))
    }))

  it('is forgotten after 24 hours, and its records swept', () =>
    withRegistry(async ({ registry: { evidences }, scope, clock, world, wait }) => {
      const begin = clock.now()
      await evidences.create(scope, named('a'), once('k'))
      clock.set(begin + 24 * 3_600_000 - 1)
      await evidences.create(scope, named('a'), once('k'))
      clock.set(begin + 24 * 3_600_000)
      await assert.rejects(evidences.create(scope, named('a'), once('k')), refused('EXTERNAL_ID_EXISTS'))
      // Used again after it expired, it holds for another day.
      const again = await evidences.create(scope, named('b'), once('k'))
      await wait(1)
      assert.deepEqual(await evidences.create(scope, named('b'), once('k')), again)
      assert.deepEqual([(await world.keysOf('ik')).length, (await world.keysOf('it')).length], [1, 1])
      await wait(25)
      assert.deepEqual([...(await world.keysOf('ik')), ...(await world.keysOf('it'))], [])
    }))

  it('has one effect, of those that race with the same key', () =>
    withRegistry(async ({ registry: { evidences }, scope, world }) => {
      const creates = Array.from({ length: 10 }, () => evidences.create(scope, named('a'), once('k')))
      const answers = await Promise.all(creates)
      for (const answer of answers) assert.deepEqual(answer, answers[0])
      const updates = Array.from({ length: 10 }, (_, i) =>
        evidences.update(scope, 'a', { updateType: 'repair', summary: i < 5 ? 'one' : 'two' }, once('u')),
      )
      const results = await Promise.allSettled(updates)
      const codes = results.map((result) =>
        result.status === 'rejected' ? (result.reason as { code: string }).code : '',
      )
      assert.deepEqual([...new Set(codes)].sort(), ['', 'IDEMPOTENCY_KEY_REUSED'])
      assert.equal(await world.records.logSize(), 3)
    }))

  it('replays a source system without its key', () =>
    withRegistry(async ({ registry: { sourceSystems }, scope, world }) => {
      const first = await sourceSystems.create(scope, { name: 'a' }, once('k'))
      assert.deepEqual(await sourceSystems.create(scope, { name: 'a' }, once('k')), { id: first.id })
      for await (const { key, value } of world.records.list({ gte: ' ', lt: '~' }))
        assert.ok(!Buffer.from(value).includes(first.apiKey as string), key)
      const own = { name: 'b', apiKey: 'a-key-of-the-caller-s-own' }
      const second = await sourceSystems.create(scope, own, once('k2'))
      assert.deepEqual(await sourceSystems.create(scope, own, once('k2')), second)
    }))

  it('takes 1 to 255 printable ASCII characters, on the longest route', () =>
    withRegistry(async ({ registry: { evidences }, scope }) => {
      const externalId = '😀'.repeat(128)
      await evidences.create(scope, { ...named('a'), externalId })
      await evidences.update(scope, externalId, { description: 'x' }, once('%'.repeat(255)))
      for (const key of ['', 'x'.repeat(256), 'é', 'a\n'])
        await assert.rejects(evidences.create(scope, named('b'), once(key)), refused('VALIDATION_ERROR'), key)
    }))
})

describe('a write whose outcome is unknown', () => {
  const create = ({ registry: { evidences }, scope }: Fixture, options = {}) =>
    evidences.create(scope, named('a'), options)

  it('says so, and its retry with the same key gives the one result', () =>
    withRegistry(async (fixture) => {
      const { process, registry: { evidences }, scope, world } = fixture // prettier-ignore
      process.fail(1, 'after')
      await assert.rejects(create(fixture, once('k')), refused('UNKNOWN_OUTCOME'))
      const { txId } = await create(fixture, once('k'))
      assert.equal((await evidences.get(scope, 'a')).evidence.txId, txId)
      assert.equal(await world.records.logSize(), 2)
    }))

  it('and that had no key is found by its external id', () =>
    withRegistry(async (fixture) => {
      fixture.process.fail(1, 'after')
      await assert.rejects(create(fixture), refused('UNKNOWN_OUTCOME'))
      await assert.rejects(create(fixture), refused('EXTERNAL_ID_EXISTS'))
    }))

  it('is nothing where nothing was applied', () =>
    withRegistry(async (fixture) => {
      fixture.process.fail(1, 'before')
      await assert.rejects(create(fixture), refused('UNAVAILABLE'))
      assert.equal(await fixture.world.records.logSize(), 1)
      await create(fixture)
    }))
})

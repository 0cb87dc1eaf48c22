import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpointKeys, MemoryBlobs, MemoryRecords, MemorySignedHead } from '../../../adapters/memory/index.ts'
import { openRegistry, type RegistryError, type RegistryOptions } from '../../../core/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { Commit } from '../../../core/ports/index.ts'
import { createSealer, InlineEngine } from '../../../sealer/index.ts'
import { until } from '../../support/manual-clock.ts'
import { openFixture, it, Stores } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const inMemory = (): RegistryOptions => ({
  records: new MemoryRecords(),
  blobs: new MemoryBlobs(),
  signedHead: new MemorySignedHead(),
  sealer: createSealer({ engine: new InlineEngine() }),
  secret: new Uint8Array(32),
  checkpointSigner: new MemoryCheckpointKeys(),
})

describe('a registry', () => {
  test('is the same after a restart: its log, its origin, its evidences and their proofs', async (t) => {
    const stores = new Stores()
    const first = await openFixture({ stores })
    await first.evidence({ files: [await first.stage()] })
    await first.registry.sealNow()
    const { origin, verifierKey } = first.registry.log
    const [page, proof] = [
      await first.registry.evidences.get(first.scope, 'e-1'),
      await first.registry.proofs.evidence({ evidenceId: 'e-1' }),
    ]
    await first.close()
    const second = await openFixture({ t, stores })
    assert.deepEqual([second.registry.log.origin, second.registry.log.verifierKey], [origin, verifierKey])
    assert.match(origin, /^evidence-registry\/[0-9a-f]{32}$/)
    assert.deepEqual(await second.registry.evidences.get(second.scope, 'e-1'), page)
    assert.deepEqual(await second.registry.proofs.evidence({ evidenceId: 'e-1' }), proof)
    await second.evidence({ externalId: 'e-2' })
    await second.registry.sealNow()
    assert.equal((await second.registry.proofs.evidence({ evidenceId: 'e-2' })).status, 'ok')
  })

  for (const finder of ['a write', 'the sealer'])
    test(`accepts nothing if its store is set back while it is open: ${finder} finds it`, async (t) => {
      let current = new MemoryRecords()
      const commits: Commit[] = []
      const { registry, scope, evidence } = await openFixture({
        t,
        records: {
          get: (keys) => current.get(keys),
          list: (range) => current.list(range),
          commit: (commit) => {
            commits.push(commit)
            return current.commit(commit)
          },
          readLog: (from, count) => current.readLog(from, count),
          readPayloads: (from, count) => current.readPayloads(from, count),
          logSize: () => current.logSize(),
          positionsOf: (entries) => current.positionsOf(entries),
        },
      })
      await evidence()
      await registry.sealNow()
      const older = new MemoryRecords()
      for (const commit of commits) await older.commit(commit)
      await evidence({ externalId: 'e-2' })
      await registry.sealNow()
      current = older
      const late = { externalId: 'e-3' }
      if (finder === 'a write') await rejectsWith('UNKNOWN_OUTCOME', evidence(late))
      else await rejectsWith('LOG_BEHIND_SIGNED', registry.sealNow())
      for (const write of [evidence(late), registry.categories.create(scope, { name: 'Late' })])
        await rejectsWith('LOG_BEHIND_SIGNED', write)
      assert.equal(registry.status().writesRefused, 'LOG_BEHIND_SIGNED')
    })

  test('accepts an entry that is sealed before its commit returns', async (t) => {
    const stores = new Stores()
    let sealFirst: (() => Promise<void>) | undefined
    const { registry, evidence } = await openFixture({
      t,
      stores,
      records: {
        commit: async (commit) => {
          const outcome = await stores.records.commit(commit)
          if (commit.append !== undefined) await sealFirst?.()
          return outcome
        },
      },
    })
    sealFirst = () => registry.sealNow()
    await evidence()
    await evidence({ externalId: 'e-2' })
    assert.equal(registry.status().writesRefused, null)
  })

  test('seals what a previous process wrote and did not seal', async (t) => {
    const stores = new Stores()
    const first = await openFixture({ stores })
    await first.evidence()
    await first.close()
    const second = await openFixture({ t, stores })
    await second.registry.sealNow()
    assert.equal((await second.registry.proofs.evidence({ evidenceId: 'e-1' })).status, 'ok')
  })

  test('does not open a store that was set back, with another secret, or with invalid settings', async () => {
    const stores = new Stores()
    const first = await openFixture({ stores })
    await first.evidence()
    await first.registry.sealNow()
    await first.close()
    const fresh = new Stores()
    const head = await stores.signedHead.read()
    assert.ok(head)
    await fresh.signedHead.write(head)
    await rejectsWith('LOG_BEHIND_SIGNED', openFixture({ stores: fresh }))
    await rejectsWith('LOG_KEY_MISMATCH', openFixture({ stores, registry: { secret: new Uint8Array(32) } }))
    await rejectsWith('CONFIG_ERROR', openFixture({ stores, registry: { secret: new Uint8Array(31) } }))
    await rejectsWith('CONFIG_ERROR', openFixture({ stores, registry: { logName: 'another' } }))
    await rejectsWith('CONFIG_ERROR', openFixture({ registry: { logName: 'a b' } }))
    await rejectsWith('CONFIG_ERROR', openFixture({ registry: { operatorKey: 'short' } }))
  })

  test('closes what it was given, also if it cannot be opened', async () => {
    const [good, bad] = [inMemory(), { ...inMemory(), secret: new Uint8Array(1) }]
    const registry = await openRegistry(good)
    await registry.close()
    await rejectsWith('CONFIG_ERROR', openRegistry(bad))
    for (const { records, blobs, sealer } of [good, bad]) {
      await rejectsWith('CLOSED', records.get(['x']))
      await rejectsWith('CLOSED', blobs.get('x'))
      await rejectsWith('CLOSED', sealer.sealNow())
    }
  })

  for (const name of ['sealer', 'blobs', 'records'] as const)
    test(`closes both stores also if its ${name} cannot be closed, and reports the failure`, async () => {
      const options = inMemory()
      const { records, blobs } = options
      const close = options[name].close.bind(options[name])
      options[name].close = async () => {
        await close()
        throw new Error('it failed')
      }
      const registry = await openRegistry(options)
      await assert.rejects(registry.close(), /it failed/)
      await rejectsWith('CLOSED', records.get(['x']))
      await rejectsWith('CLOSED', blobs.get('x'))
    })

  test('names the option that is missing or wrong', async () => {
    const wrong: readonly [string, unknown][] = [
      ['options', undefined],
      ['options', 'x'],
      ['records', {}],
      ...['records', 'blobs', 'signedHead', 'sealer', 'secret'].map((name): [string, unknown] => [
        name,
        { ...inMemory(), [name]: undefined },
      ]),
      ['records', { ...inMemory(), records: { get() {} } }],
      ['records', { ...inMemory(), records: Object.assign(new MemoryRecords(), { readPayloads: undefined }) }],
      ['sealer', { ...inMemory(), sealer: {} }],
      ['secret', { ...inMemory(), secret: 'a text that is longer than 32 characters' }],
      ['operatorKey', { ...inMemory(), operatorKey: 1 }],
      ['operatorKey', { ...inMemory(), operatorKey: 'short' }],
      ['clock', { ...inMemory(), clock: {} }],
      ...['4096', -1, 0.5, Number.NaN, 65_537].map((value): [string, unknown] => [
        'smallFileBytes',
        { ...inMemory(), smallFileBytes: value },
      ]),
      ['logger', { ...inMemory(), logger: { info() {} } }],
      ['acceptclock', { ...inMemory(), acceptclock: true }],
    ]
    for (const [field, options] of wrong)
      await assert.rejects(openRegistry(options as RegistryOptions), (error: RegistryError) => {
        assert.deepEqual([error.code, error.field], ['CONFIG_ERROR', field])
        assert.ok(error.message.startsWith(`${field} `), error.message)
        return true
      })
  })

  test('works the same in two processes with shared records', async (t) => {
    const stores = new Stores()
    const one = await openFixture({ t, stores, records: { isShared: true } })
    const two = await openFixture({ t, stores, records: { isShared: true } })
    await one.evidence()
    const updates = Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? one : two).registry.evidences.update(one.scope, 'e-1', { description: `${i}` }),
    )
    await Promise.all(updates)
    const creates = await Promise.allSettled([one, two].map(({ evidence }) => evidence({ externalId: 'e-2' })))
    assert.equal(creates.filter(({ status }) => status === 'fulfilled').length, 1)
    await one.registry.sealNow()
    const { sealedSize } = one.registry.status()
    assert.ok(two.registry.status().sealedSize < sealedSize, 'it has not looked yet')
    await two.registry.log.consistencyProof({ from: 1, to: sealedSize })
    const { events } = await two.registry.evidences.get(two.scope, 'e-1')
    assert.equal(events.length, 41)
    assert.ok(events.every(({ batch }) => batch !== null))
  })
})

describe('closing a registry', () => {
  test('waits for the sealer, which gives the lease back before the stores are closed', async () => {
    const stores = new Stores()
    const fixture = await openFixture({ stores, records: { isShared: true } })
    const lease = async (): Promise<unknown> => (await stores.records.get([logKeys.sealerLease()]))[0]
    await until(async () => (await lease()) !== undefined)
    await fixture.close()
    assert.equal(await lease(), undefined)
  })
})

describe('the clock', () => {
  it('never makes an event earlier than the event before it', async (fixture) => {
    const { evidences, files, scope, evidence, clock, stage } = fixture
    const file = await stage()
    await evidence({ files: [file] })
    const created = clock.now()
    clock.set(created - 50_000)
    await evidences.update(scope, 'e-1', { description: 'x', owner: 'y' })
    await files.delete(scope, { fileId: file.id })
    clock.set(created + 1)
    await evidences.update(scope, 'e-1', { description: 'z' })
    const { events } = await evidences.get(scope, 'e-1')
    const shown = events.map(({ recordedAt }) => recordedAt.getTime() - created)
    assert.deepEqual(shown, [0, 0, 0, 0, 1])
    // The time of an evidence is the time in its id, and ids always ascend.
    clock.set(created - 1)
    await evidence({ externalId: 'e-2' })
    const { evidence: stored } = await evidences.get(scope, 'e-2')
    assert.equal(stored.createdAt.getTime(), created)
  })

  it('stops writes of events while it is more than 60 s behind the last batch', async (fixture) => {
    const { registry, scope, evidence, clock, stage } = fixture
    const file = await stage()
    await evidence({ files: [file] })
    clock.set(clock.now() - 3_600_000)
    await registry.evidences.update(scope, 'e-1', { description: 'no batch yet' })
    clock.set(clock.now() + 3_600_000)
    await registry.sealNow()
    const sealedAt = clock.now()
    const { categoryId, subcategoryId } = (await registry.evidences.get(scope, 'e-1')).evidence
    clock.set(sealedAt - 60_001)
    const writes = (): readonly Promise<unknown>[] => [
      evidence({ externalId: 'e-2' }),
      registry.evidences.createMany(scope, {
        categoryId,
        subcategoryId,
        evidences: [{ externalId: 'e-3', name: 'x' }],
      }),
      registry.evidences.update(scope, 'e-1', { description: 'x' }),
      registry.files.delete(scope, { fileId: file.id }),
    ]
    const { logSize, sealedSize } = registry.status()
    for (const write of writes()) await rejectsWith('UNAVAILABLE', write)
    // Reads, and writes without an event, still work.
    assert.equal((await registry.evidences.list(scope)).count, 1)
    await registry.categories.create(scope, { name: 'other' })
    await registry.sealNow()
    assert.deepEqual([registry.status().logSize, registry.status().sealedSize], [logSize, sealedSize])
    clock.set(sealedAt - 60_000)
    await Promise.all(writes())
  })

  test('refuses events also in a new log, as long as it is before 2025', async (t) => {
    const stores = new Stores()
    stores.clock.set(7_000)
    const { registry, evidence } = await openFixture({ t, stores })
    await rejectsWith('UNAVAILABLE', evidence())
    assert.equal(registry.status().writesRefused, 'CLOCK')
    stores.clock.set(Date.UTC(2026, 0, 1))
    await evidence()
    await registry.sealNow()
    assert.equal(registry.status().writesRefused, null)
  })

  test('is accepted if the operator confirms it', async (t) => {
    const stores = new Stores()
    const first = await openFixture({ stores })
    await first.evidence()
    await first.registry.sealNow()
    await first.close()
    stores.clock.set(stores.clock.now() - 86_400_000)
    const strict = await openFixture({ stores })
    await rejectsWith('UNAVAILABLE', strict.evidence({ externalId: 'e-2' }))
    await strict.close()
    const confirmed = await openFixture({ t, stores, registry: { acceptClock: true } })
    await confirmed.evidence({ externalId: 'e-2' })
    await confirmed.registry.sealNow()
    assert.equal((await confirmed.registry.proofs.evidence({ evidenceId: 'e-2' })).status, 'ok')
  })
})

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryCheckpointKeys } from '../../../adapters/memory/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { CheckpointSigner, Registry } from '../../../core/index.ts'
import { openLogIdentity } from '../../../core/log/identity.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { checkpointText, parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { formatNote } from '../../../core/log/note.ts'
import { typedKeyOf } from '../../../core/log/verifier-key.ts'
import { listEntries } from '../../../core/store/read.ts'
import { parsePolicy, verifyBundle, verifyLog, verifySignedCheckpoint } from '../../../core/verify/index.ts'
import { openFixture, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { present } from '../../support/present.ts'
import { settle } from '../../support/manual-clock.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const seed = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)

const policyOf = async (registry: Registry) => parsePolicy(JSON.stringify(await registry.log.policy()))

async function bundleOf({ registry, scope }: Fixture, externalId: string): Promise<string> {
  return JSON.stringify(await registry.proofs.bundle(scope, { externalId, fields: 'all', files: 'all' }))
}

/** Every checkpoint so far, verified under the published policy. Returns the sizes. */
async function verifiedSizes({ registry, stores }: Pick<Fixture, 'registry' | 'stores'>): Promise<readonly number[]> {
  const { keys } = await policyOf(registry)
  const entries = await listEntries(stores.records, logKeys.checkpoints())
  return entries.map(({ value }) => {
    const { note } = JSON.parse(Buffer.from(value).toString()) as { readonly note: string }
    return verifySignedCheckpoint(note, keys).size
  })
}

/** Verifies the whole log as a monitor does. */
async function verifyWholeLog({ registry }: Fixture): Promise<void> {
  const checkpoint = present(await registry.log.latestCheckpoint())
  const { size } = parseCheckpoint(checkpoint)
  const openings: Uint8Array[] = []
  for (let index = 0; index * 256 < size; index += 1) {
    const width = Math.min(256, size - index * 256)
    for (const hex of present(await registry.log.openings({ index, width }))) openings.push(Buffer.from(hex, 'hex'))
  }
  const { keys } = verifyLog(openings, { checkpoint, origin: registry.log.origin })
  const pinned = (await policyOf(registry)).keys.map(({ vkey, from, until }) => ({ vkey, from, until }))
  assert.deepEqual(keys, pinned)
}

/** Advances the clock until the promise settles. */
async function whileTimePasses<T>({ clock }: Stores, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => (isSettled = true))
  settled.catch(() => undefined)
  for (let i = 0; !isSettled && i < 200; i += 1) {
    await clock.advance(500)
    await settle()
  }
  assert.ok(isSettled, 'it does not end')
  return settled
}

describe('checkpoint keys', () => {
  it('are rotated, and proofs from before and after verify under the pinned policy', async (t) => {
    const signer = new MemoryCheckpointKeys()
    const fixture = await openFixture({ t, registry: { checkpointSigner: signer } })
    const { registry } = fixture
    await fixture.evidence({ externalId: 'before' })
    await registry.sealNow()
    const before = await bundleOf(fixture, 'before')
    const oldKey = registry.log.verifierKey
    await rejectsWith('CONFIG_ERROR', registry.checkpointKeys.rotate())

    signer.add()
    const listed = await registry.checkpointKeys.list()
    const shown = listed.map(({ state, from, until, isHeld }) => [state, from, until, isHeld])
    assert.deepEqual(shown, [
      ['current', 1, null, true],
      ['pending', null, null, true],
    ])
    const added = await registry.checkpointKeys.rotate()
    assert.equal(added.vkey, listed[1]?.vkey)
    assert.equal(registry.log.verifierKey, added.vkey)
    // Its entry waits for the next batch.
    assert.equal(parseCheckpoint(present(await registry.log.latestCheckpoint())).size, 2)
    await fixture.evidence({ externalId: 'after' })
    await registry.sealNow()

    const policy = await policyOf(registry)
    const { root } = parseCheckpoint(present(await registry.log.checkpoint(2)))
    assert.deepEqual(policy.keys, [
      { vkey: oldKey, from: 1, until: 2, root: new Uint8Array(root), compromised: false },
      { vkey: added.vkey, from: 3, until: null },
    ])
    assert.deepEqual(await verifiedSizes(fixture), [2, 4])
    for (const text of [before, await bundleOf(fixture, 'before'), await bundleOf(fixture, 'after')]) {
      const result = verifyBundle(text, { policy })
      assert.equal(result.state, 'proven', JSON.stringify(result))
    }
    await verifyWholeLog(fixture)
  })

  it('are in the bundles of a process that did not add them', async (t) => {
    const stores = new Stores()
    const signer = new MemoryCheckpointKeys([seed(1), seed(2)])
    const writer = await openFixture({ stores, registry: { checkpointSigner: new MemoryCheckpointKeys([seed(1)]) } })
    await writer.evidence()
    await writer.registry.sealNow()
    await writer.close()
    const reader = await openFixture({ t, stores, registry: { checkpointSigner: signer, readOnly: true } })
    const rotator = await openFixture({ t, stores, registry: { checkpointSigner: signer } })
    await rotator.registry.checkpointKeys.rotate()
    await rotator.evidence({ externalId: 'after' })
    await rotator.registry.sealNow()
    const policy = await policyOf(rotator.registry)
    assert.equal(policy.keys.length, 2)
    const result = verifyBundle(await bundleOf(reader, 'after'), { policy })
    assert.equal(result.state, 'proven', JSON.stringify(result))
  })

  it('that are retired sign no tree with the next key in it', async (t) => {
    const [old, next] = [seed(1), seed(2)]
    const oldOnly = new MemoryCheckpointKeys([old])
    const stores = new Stores()
    const fixture = await openFixture({
      t,
      stores,
      registry: { checkpointSigner: new MemoryCheckpointKeys([old, next]) },
    })
    const { registry } = fixture
    const { records, secret, clock } = stores
    const behind = await openLogIdentity({ records, secret, clock, signer: oldOnly })
    const oldKey = registry.log.verifierKey
    await fixture.evidence()
    await registry.sealNow()
    const { from } = await registry.checkpointKeys.rotate()
    assert.equal(from, 3)
    await behind.refresh()
    assert.equal(parseCheckpoint(await behind.signCheckpoint(2, seed(3))).size, 2)
    await rejectsWith('LOG_KEY_MISMATCH', behind.signCheckpoint(3, seed(3)))
    await rejectsWith('LOG_KEY_MISMATCH', openLogIdentity({ records, secret, clock, signer: oldOnly }))
    assert.ok(await openLogIdentity({ records, secret, clock, signer: oldOnly, isReadOnly: true }))

    // A thief of the old key can make such a note, but no verifier accepts it once the next key has signed, which it
    // does without another event.
    await registry.sealNow()
    const text = checkpointText({ origin: registry.log.origin, size: 3, root: seed(3) })
    const signature = await oldOnly.sign(typedKeyOf(oldKey), encodeUtf8(text))
    const stolen = formatNote(text, oldKey, signature)
    const { keys } = await policyOf(registry)
    assert.throws(() => verifySignedCheckpoint(stolen, keys), { code: 'VERIFICATION_FAILED' })
    assert.equal(verifySignedCheckpoint(stolen, [oldKey]).size, 3, 'only the range makes the difference')
  })

  it('need not be kept once they are retired', async (t) => {
    const stores = new Stores()
    const first = await openFixture({
      stores,
      registry: { checkpointSigner: new MemoryCheckpointKeys([seed(1), seed(2)]) },
    })
    await first.evidence()
    await first.registry.checkpointKeys.rotate()
    await first.registry.sealNow()
    await first.close()
    const again = await openFixture({ t, stores, registry: { checkpointSigner: new MemoryCheckpointKeys([seed(2)]) } })
    await again.evidence({ externalId: 'e-2' })
    await again.registry.sealNow()
    const states = (await again.registry.checkpointKeys.list()).map(({ state, isHeld }) => [state, isHeld])
    assert.deepEqual(states, [
      ['retired', false],
      ['current', true],
    ])
    await verifiedSizes(again)
  })

  it('are rotated under load', async (t) => {
    const signer = new MemoryCheckpointKeys()
    const fixture = await openFixture({ t, registry: { checkpointSigner: signer } })
    const { registry } = fixture
    const rotations = 5
    let isRotating = true
    let created = 0
    const create = async (): Promise<void> => {
      while (isRotating || created < 50) {
        await fixture.evidence({ externalId: `e-${(created += 1)}` })
        // The stores in memory never wait, so without this the other loops would not run.
        await setImmediate()
      }
    }
    const seal = async (): Promise<void> => {
      while (isRotating) {
        await registry.sealNow()
        await setImmediate()
      }
    }
    const rotate = async (): Promise<void> => {
      for (let i = 0; i < rotations; i += 1) {
        signer.add()
        await registry.checkpointKeys.rotate()
        await settle()
      }
      isRotating = false
    }
    await Promise.all([create(), create(), seal(), rotate()])
    await registry.sealNow()
    assert.equal((await policyOf(registry)).keys.length, rotations + 1)
    assert.ok((await verifiedSizes(fixture)).length > rotations)
    await verifyWholeLog(fixture)
    assert.equal(verifyBundle(await bundleOf(fixture, 'e-1'), { policy: await policyOf(registry) }).state, 'proven')
  })

  it('are rotated once, also if the process crashes at any step', async () => {
    for (const when of ['before', 'after'] as const)
      for (let step = 1; step <= 6; step += 1) {
        const stores = new Stores()
        const signer = new MemoryCheckpointKeys()
        const open = () => openFixture({ stores, registry: { checkpointSigner: signer } })
        const crashing = await open()
        await crashing.evidence({ externalId: 'before' })
        await crashing.registry.sealNow()
        signer.add()
        crashing.process.fail(step, when, true)
        await crashing.registry.checkpointKeys.rotate().catch(() => undefined)
        await crashing.evidence({ externalId: 'during' }).catch(() => undefined)
        await crashing.registry.sealNow().catch(() => undefined)
        await crashing.close().catch(() => undefined)

        const fixture = await open()
        const { registry } = fixture
        if ((await registry.checkpointKeys.list()).some(({ state }) => state === 'pending'))
          await registry.checkpointKeys.rotate()
        await fixture.evidence({ externalId: 'after' })
        await registry.sealNow()
        const what = `step ${step} ${when}`
        assert.equal((await policyOf(registry)).keys.length, 2, what)
        await verifiedSizes(fixture)
        await verifyWholeLog(fixture)
        assert.equal(
          verifyBundle(await bundleOf(fixture, 'after'), { policy: await policyOf(registry) }).state,
          'proven',
          what,
        )
        await fixture.close()
      }
  })

  it('are rotated although the signer fails afterwards', async (t) => {
    const own = new MemoryCheckpointKeys([seed(1), seed(2)])
    const stores = new Stores()
    let isDown = false
    const service: CheckpointSigner = {
      publicKeys: async () => (isDown ? assert.fail('the signer is down') : own.publicKeys()),
      sign: async (publicKey, bytes) => {
        // The signature of the key's entry is the last one before the commit.
        isDown = true
        return own.sign(publicKey, bytes)
      },
    }
    const fixture = await openFixture({ t, stores, registry: { checkpointSigner: service } })
    const rotated = await fixture.registry.checkpointKeys.rotate()
    isDown = false
    assert.deepEqual((await fixture.registry.checkpointKeys.list())[1], rotated)
  })

  it('are in the log, or their rotation says that its outcome is not known', async () => {
    const stores = new Stores()
    const signer = new MemoryCheckpointKeys([seed(1), seed(2)])
    const fixture = await openFixture({ stores, registry: { checkpointSigner: signer } })
    fixture.process.fail(1, 'after', true)
    await rejectsWith('UNKNOWN_OUTCOME', fixture.registry.checkpointKeys.rotate())
    const again = await openFixture({ stores, registry: { checkpointSigner: signer } })
    assert.equal((await again.registry.checkpointKeys.list())[1]?.state, 'current')
    await Promise.all([fixture.close().catch(() => undefined), again.close()])
  })

  it('of a signer outside: a signature by another key is not used', async (t) => {
    const own = new MemoryCheckpointKeys([seed(1)])
    const stranger = new MemoryCheckpointKeys([seed(2)])
    let isHonest = true
    const service: CheckpointSigner = {
      publicKeys: () => own.publicKeys(),
      sign: async (publicKey, bytes) =>
        isHonest ? own.sign(publicKey, bytes) : stranger.sign(present((await stranger.publicKeys())[0]), bytes),
    }
    const fixture = await openFixture({ t, registry: { checkpointSigner: service } })
    await fixture.evidence()
    isHonest = false
    await rejectsWith('LOG_KEY_MISMATCH', fixture.registry.sealNow())
    assert.equal(await fixture.registry.log.latestCheckpoint(), undefined)
    isHonest = true
    await fixture.registry.sealNow()
    assert.deepEqual(await verifiedSizes(fixture), [2])
  })

  it('of an algorithm that is not known are rejected with its number', async () => {
    const signer: CheckpointSigner = {
      publicKeys: async () => [new Uint8Array(1313).fill(6)],
      sign: () => assert.fail('nothing to sign'),
    }
    const opening = openFixture({ registry: { checkpointSigner: signer } })
    await assert.rejects(opening, { code: 'CONFIG_ERROR', message: /type 6 with 1312 bytes/ })
  })

  describe('of several servers', () => {
    const openServer = (t: TestContext, stores: Stores, checkpointSigner: CheckpointSigner) =>
      openFixture({ t, stores, registry: { checkpointSigner }, records: { isShared: true } })
    const allServersHaveIt = true

    it('are rotated only if the caller says that all servers have the new key', async (t) => {
      const stores = new Stores()
      const here = await openServer(t, stores, new MemoryCheckpointKeys([seed(1), seed(2)]))
      await assert.rejects(here.registry.checkpointKeys.rotate(), {
        code: 'CONFIG_ERROR',
        message: /--all-servers-have-it/,
      })
      assert.equal((await policyOf(here.registry)).keys.length, 1)
      const { vkey } = await here.registry.checkpointKeys.rotate({ allServersHaveIt })
      assert.equal((await policyOf(here.registry)).keys[1]?.vkey, vkey)
    })

    it('that one server does not have: only that server cannot sign', async (t) => {
      const stores = new Stores()
      const keysThere = new MemoryCheckpointKeys([seed(1)])
      const here = await openServer(t, stores, new MemoryCheckpointKeys([seed(1), seed(2)]))
      const there = await openServer(t, stores, keysThere)
      const { vkey } = await here.registry.checkpointKeys.rotate({ allServersHaveIt })
      assert.equal((await policyOf(there.registry)).keys[1]?.vkey, vkey, 'the other server publishes the new key')
      await there.evidence()
      await rejectsWith('LOG_KEY_MISMATCH', whileTimePasses(stores, there.registry.sealNow()))
      await here.registry.sealNow()
      keysThere.add(seed(2))
      await there.evidence({ externalId: 'e-2' })
      await whileTimePasses(stores, there.registry.sealNow())
      assert.equal(verifySignedCheckpoint(present(await there.registry.log.latestCheckpoint()), [vkey]).size, 4)
      await verifiedSizes(here)
    })

    it('that rotate at the same time add one key', async (t) => {
      const stores = new Stores()
      const signer = new MemoryCheckpointKeys([seed(1), seed(2)])
      const [a, b] = [await openServer(t, stores, signer), await openServer(t, stores, signer)]
      const rotations = Promise.all([a, b].map(({ registry }) => registry.checkpointKeys.rotate({ allServersHaveIt })))
      const [fromA, fromB] = await whileTimePasses(stores, rotations)
      assert.deepEqual(fromA, fromB)
      assert.equal((await policyOf(a.registry)).keys.length, 2)
    })
  })
})

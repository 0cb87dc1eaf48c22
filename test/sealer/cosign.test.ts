import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { createWitnessClient } from '../../adapters/witness/index.ts'
import { RegistryError } from '../../core/errors.ts'
import { logKeys } from '../../core/log/keys.ts'
import { checkpointText } from '../../core/log/checkpoint.ts'
import { createNoteSigner } from '../../core/log/note.ts'
import type { CosignedRecord } from '../../core/log/records.ts'
import type { Sealer } from '../../core/ports/index.ts'
import { decorateRecords } from '../../core/store/decorate.ts'
import { putRecord } from '../../core/store/entries.ts'
import { readOne } from '../../core/store/read.ts'
import { mlDsa44 } from '../../core/verify/ml-dsa.ts'
import { resumeWitness, type SealerOptions } from '../../sealer/index.ts'
import { ForgedWitness } from '../core/verify/forged-witness.ts'
import { until } from '../support/manual-clock.ts'
import { present } from '../support/present.ts'
import { recordsOf, sealerFixtures, type SealerFixture } from '../support/sealer-fixture.ts'
import { temporaryFor } from '../support/temporary.ts'
import type { TestWitness } from '../support/witness.ts'
import { startWitnesses } from '../support/witnessed-log.ts'

const MINUTE_MS = 60_000
const otherRoot = Buffer.alloc(32, 5)

describe('cosigning', () => {
  const { open } = sealerFixtures()

  async function start(t: TestContext, wanted: Parameters<typeof startWitnesses>[1], options: SealerOptions = {}) {
    const { witnesses, options: asked, trust } = await startWitnesses(t, wanted)
    const fixture = await open()
    trust(fixture.identity.origin)
    const restart = (): Promise<Sealer> => fixture.start({ ...options, witnesses: asked })
    return { fixture, witnesses, sealer: await restart(), restart }
  }

  const cosigned = (fixture: SealerFixture, size: number): Promise<CosignedRecord | undefined> =>
    readOne(fixture.records, logKeys.cosigned(size))

  /** Adds an event, seals, and lets time pass until so many witnesses have cosigned the new tree. */
  async function grow(fixture: SealerFixture, sealer: Sealer, count: number): Promise<number> {
    await fixture.seal(sealer, 1)
    const { size } = await fixture.reader.tree.head()
    await until(async () => {
      const record = await cosigned(fixture, size)
      if (record === undefined) await fixture.clock.advance(MINUTE_MS / 2)
      return record?.cosignatures.length === count
    })
    return size
  }

  const alarmsOf = (sealer: Sealer) => sealer.status().witnesses.map(({ alarm }) => alarm)
  const first = (witnesses: readonly TestWitness[]): TestWitness => present(witnesses[0])

  it('keeps the first and the newest cosignature of each witness', async (t) => {
    const client = createWitnessClient()
    let [arrived, release] = [0, (): void => undefined]
    const all = new Promise<void>((resolve) => (release = resolve))
    const addCheckpoint: typeof client.addCheckpoint = async (...request) => {
      const response = await client.addCheckpoint(...request)
      if (++arrived === 3) release()
      await all
      return response
    }
    const { fixture, sealer, witnesses } = await start(t, { count: 3, client: { addCheckpoint } })
    const size = await grow(fixture, sealer, 3)
    assert.equal(arrived, 3, 'each one is kept, also if they come at the same time')
    const before = present(await cosigned(fixture, size))
    assert.deepEqual(
      before.cosignatures.map(({ vkey }) => vkey).toSorted(),
      witnesses.map(({ vkey }) => vkey).toSorted(),
    )
    for (const { first: line, newest } of before.cosignatures) assert.equal(line, newest)
    await fixture.clock.advanceUntil(
      MINUTE_MS,
      async () => (await cosigned(fixture, size))?.cosignatures.every((each) => each.newest !== each.first) === true,
    )
    const after = present(await cosigned(fixture, size))
    const lineOf = ({ cosignatures }: CosignedRecord, vkey: string) =>
      cosignatures.find((each) => each.vkey === vkey)?.first
    for (const { vkey } of witnesses) assert.equal(lineOf(after, vkey), lineOf(before, vkey))
    assert.deepEqual(sealer.status().currentFailures, [])
  })

  it('asks each witness once in an interval, also after a restart', async (t) => {
    const { fixture, sealer, witnesses, restart } = await start(t, { count: 1 })
    await grow(fixture, sealer, 1)
    const asked = first(witnesses).bodies.length
    const since = present(await readOne(fixture.records, logKeys.witnesses())).submittedAt
    await fixture.seal(sealer, 1)
    await fixture.clock.advance(since + MINUTE_MS - 1 - fixture.clock.now())
    await sealer.close()
    await restart()
    await fixture.clock.advance(0)
    assert.equal(first(witnesses).bodies.length, asked)
    await fixture.clock.advance(1)
    await until(() => first(witnesses).bodies.length > asked)
  })

  it('proves each later tree, also over a rotation, and to a witness that lost its state', async (t) => {
    const { fixture, sealer, witnesses } = await start(t, { count: 1 })
    for (let round = 0; round < 3; round++) await grow(fixture, sealer, 1)
    await fixture.identity.rotateCheckpointKey()
    await grow(fixture, sealer, 1)
    first(witnesses).seen = undefined
    const size = await grow(fixture, sealer, 1)
    assert.equal(first(witnesses).seen?.size, size)
    assert.deepEqual(alarmsOf(sealer), [null])
    assert.ok(first(witnesses).bodies.every((body) => body.split('\n— ').length === 3, 'two signatures, no others'))
  })

  it('waits for no witness that does not respond', async (t) => {
    const { fixture, sealer, witnesses } = await start(t, { count: 3, quorum: 2, timeoutMs: 600_000 })
    first(witnesses).mode = 'dead'
    const size = await grow(fixture, sealer, 2)
    first(witnesses).hangUp()
    await until(() => sealer.status().currentFailures.includes('WITNESS_FAILED'))
    assert.equal(sealer.status().witnesses[0]?.cosignedAt, null)
    await fixture.seal(sealer, 1)
    assert.ok(sealer.sealedSize > size)
    first(witnesses).mode = 'honest'
    await grow(fixture, sealer, 3)
    await until(() => sealer.status().currentFailures.length === 0)
  })

  it('keeps no cosignature that does not verify, or is of another text', async (t) => {
    for (const mode of ['wrong key', 'longer text'] as const) {
      const { fixture, sealer, witnesses } = await start(t, { count: 2 })
      first(witnesses).mode = mode
      const size = await grow(fixture, sealer, 1)
      await until(() => sealer.status().currentFailures.includes('WITNESS_FAILED'))
      assert.deepEqual(
        (await cosigned(fixture, size))?.cosignatures.map(({ vkey }) => vkey),
        [witnesses[1]?.vkey],
      )
    }
  })

  it('says of a store that fails that it did, and not that the witness failed', async (t) => {
    const { options: witnesses, trust } = await startWitnesses(t, { count: 1 })
    const fixture = await open()
    trust(fixture.identity.origin)
    const records = decorateRecords(fixture.records, {
      commit: async (commit) => {
        if (commit.writes?.some(({ value }) => Buffer.from(value ?? []).includes('"newest"')))
          throw new RegistryError('UNAVAILABLE', 'injected')
        return fixture.records.commit(commit)
      },
    })
    const sealer = await fixture.start({ witnesses }, records)
    await fixture.seal(sealer, 1)
    await fixture.clock.advanceUntil(MINUTE_MS / 2, () => sealer.status().currentFailures.length > 0)
    assert.deepEqual(sealer.status().currentFailures, ['UNAVAILABLE'])
  })

  for (const mode of ['honest', 'version 1.0.0'] as const)
    it(`asks no witness any more that saw another history, until it is resumed (${mode})`, async (t) => {
      const { fixture, sealer, witnesses, restart } = await start(t, { count: 2 })
      const forked = first(witnesses)
      await grow(fixture, sealer, 2)
      const size = await grow(fixture, sealer, 2)
      const right = present(forked.seen)
      Object.assign(forked, { mode, seen: { ...right, root: otherRoot } })
      await fixture.clock.advanceUntil(MINUTE_MS, () => alarmsOf(sealer)[0] === 'WITNESS_OTHER_HISTORY')
      assert.deepEqual(sealer.status().currentFailures, ['WITNESS_OTHER_HISTORY'])
      await sealer.close()
      const later = await restart()
      const asked = forked.bodies.length
      await grow(fixture, later, 1)
      assert.deepEqual([forked.bodies.length, alarmsOf(later)[0]], [asked, 'WITNESS_OTHER_HISTORY'])
      forked.seen = right
      const state = async () => present(await readOne(fixture.records, logKeys.witnesses()))
      const submittedAt = (await state()).submittedAt - 1
      const changes = [putRecord(logKeys.witnesses(), { ...(await state()), submittedAt })]
      const records = decorateRecords(fixture.records, {
        async commit(commit) {
          await fixture.records.commit({ writes: changes.splice(0) })
          return fixture.records.commit(commit)
        },
      })
      assert.equal(await resumeWitness(records, forked.vkey), true)
      assert.equal((await state()).submittedAt, submittedAt, 'what another server has stored meanwhile')
      assert.equal(await resumeWitness(records, forked.vkey), false)
      assert.ok((await grow(fixture, later, 2)) > size)
      assert.deepEqual(alarmsOf(later), [null, null])
    })

  it('goes on signing if a stranger, or a key that others may know, signed the larger tree of a witness', async (t) => {
    for (const isStranger of [true, false]) {
      const { fixture, sealer, witnesses } = await start(t, { count: 1 })
      const { identity } = fixture
      const tree = { origin: identity.origin, size: 1_000, root: otherRoot }
      const stranger = createNoteSigner(tree.origin, new Uint8Array(32).fill(8))
      const note = isStranger
        ? stranger.signNote(checkpointText(tree))
        : await identity.signCheckpoint(tree.size, tree.root)
      if (!isStranger) await identity.rotateCheckpointKey({ compromised: true })
      const size = await grow(fixture, sealer, 1)
      const right = first(witnesses).seen
      first(witnesses).seen = { ...tree, note }
      await fixture.clock.advanceUntil(MINUTE_MS, () => alarmsOf(sealer)[0] === 'WITNESS_AHEAD')
      await fixture.seal(sealer, 1)
      assert.ok(sealer.sealedSize > size)
      first(witnesses).seen = right
      await grow(fixture, sealer, 1)
      assert.deepEqual(alarmsOf(sealer), [null])
    }
  })

  it('raises no alarm if another server has submitted a later tree of this log', async (t) => {
    let later = (): Promise<number> => Promise.resolve(0)
    const addCheckpoint = async () => ({ state: 'other-size', size: await later() }) as const
    const { fixture, sealer } = await start(t, { count: 1, client: { addCheckpoint } })
    const submitted: (number | undefined)[] = []
    later = async () => {
      submitted.push((await readOne(fixture.records, logKeys.witnesses()))?.size)
      await fixture.seal(sealer, 1)
      return sealer.sealedSize
    }
    await fixture.seal(sealer, 1)
    await fixture.clock.advanceUntil(MINUTE_MS, () => submitted.length > 1)
    assert.deepEqual(submitted, [2, 3], 'stored before it is submitted')
    assert.deepEqual([alarmsOf(sealer), sealer.status().currentFailures], [[null], []])
  })

  it('shows no smaller checkpoint after another server has shown a larger one', async (t) => {
    const client = createWitnessClient()
    let larger = async (): Promise<unknown> => undefined
    const addCheckpoint: typeof client.addCheckpoint = async (...request) => {
      await larger()
      return client.addCheckpoint(...request)
    }
    const { fixture, sealer } = await start(t, { count: 1, client: { addCheckpoint } })
    const state = async () => present(await readOne(fixture.records, logKeys.witnesses()))
    larger = async () =>
      fixture.records.commit({ writes: [putRecord(logKeys.witnesses(), { ...(await state()), shown: 1_000 })] })
    await grow(fixture, sealer, 1)
    assert.equal((await state()).shown, 1_000)
  })

  it('signs nothing any more once a witness shows a tree that the log signed and does not hold', async (t) => {
    for (const of of ['a larger tree', 'another tree of this size']) {
      const { fixture, sealer, witnesses, restart } = await start(t, { count: 1 })
      const size = await grow(fixture, sealer, 1)
      const forkedSize = of === 'a larger tree' ? size + 1_000 : size
      const note = await fixture.identity.signCheckpoint(forkedSize, otherRoot)
      first(witnesses).seen = { size: forkedSize, root: otherRoot, note }
      await fixture.clock.advanceUntil(MINUTE_MS, () => sealer.isSetBack)
      await fixture.append(1)
      await assert.rejects(sealer.sealNow(), { code: 'LOG_BEHIND_SIGNED' })
      assert.equal((await fixture.reader.checkpoints.latest())?.size, size, of)
      await sealer.close()
      await assert.rejects(restart(), { code: 'LOG_BEHIND_SIGNED' })
    }
  })

  it('lets only checkpoints be stamped that were submitted, also if no witness responds', async (t) => {
    const timestampAuthority = await openLocalTsa(await temporaryFor(t), { keepsLastStamp: false })
    const { fixture, sealer, witnesses } = await start(t, { count: 1, timeoutMs: 100 }, { timestampAuthority })
    first(witnesses).mode = 'dead'
    for (let round = 0; round < 6; round++) {
      await fixture.seal(sealer, 1)
      await fixture.clock.advance(MINUTE_MS / 3)
    }
    await fixture.clock.advanceUntil(MINUTE_MS, () => sealer.status().stampedSize === sealer.sealedSize)
    const submitted = [...(await recordsOf(fixture.records, 'cs')).keys()].map((key) => key.slice(3))
    const stamped = [...(await recordsOf(fixture.records, 'st')).keys()].map((key) => key.slice(3))
    assert.ok(stamped.length > 1 && stamped.every((size) => submitted.includes(size)), String([stamped, submitted]))
  })

  it('asks only from the server with the lease, and the others know what it got', async (t) => {
    const { witnesses, options: asked, trust } = await startWitnesses(t, { count: 1, timeoutMs: 600_000 })
    const [witness, fixture] = [first(witnesses), await open()]
    trust(fixture.identity.origin)
    const shared = decorateRecords(fixture.records, { isShared: true })
    const startServer = (): Promise<Sealer> => fixture.start({ witnesses: asked }, shared)
    const [holder, other] = [await startServer(), await startServer()] as const
    const size = await grow(fixture, holder, 1)
    await fixture.clock.advanceUntil(1_000, () =>
      [holder, other].every((server) => server.status().witnesses[0]?.size === size),
    )
    // The holder waits for a response. For the other server, the next two submissions would be due.
    witness.mode = 'dead'
    const before = witness.bodies.length
    for (let seconds = 0; seconds < 150; seconds++) await fixture.clock.advance(1_000)
    await until(() => witness.bodies.length > before)
    assert.equal(witness.bodies.length, before + 1)
    witness.mode = 'honest'
    await holder.close()
    assert.equal(witness.seen?.size, size)
    assert.ok((await grow(fixture, other, 1)) > size)
  })

  it('keeps cosignatures of type 06, and needs what verifies them', async (t) => {
    const { witnesses, options: asked, trust } = await startWitnesses(t, { count: 1 })
    const [witness, modern] = [first(witnesses), new ForgedWitness('modern.example/w', 31, 6)]
    witness.cosignsAs = modern
    const policy = `witness w ${modern.vkey} ${witness.url}\nquorum w\n`
    const fixture = await open()
    trust(fixture.identity.origin)
    await assert.rejects(fixture.start({ witnesses: { ...asked, policy } }), { code: 'CONFIG_ERROR', message: /06/ })
    const sealer = await fixture.start({ witnesses: { ...asked, policy, mlDsa44 } })
    const { cosignatures } = present(await cosigned(fixture, await grow(fixture, sealer, 1)))
    assert.deepEqual(
      cosignatures.map(({ vkey, first: line }) => [vkey, line.startsWith('— modern.example/w ')]),
      [[modern.vkey, true]],
    )
  })

  it('keeps one cosigned checkpoint an hour after a day, and those that were stamped', async (t) => {
    const intervalMs = 20 * MINUTE_MS
    const { fixture, sealer, witnesses } = await start(t, { count: 1, intervalMs }, { pollIntervalMs: intervalMs })
    const sizes: number[] = []
    for (let round = 0; round < 8; round++) {
      first(witnesses).mode = round === 3 ? 'wrong key' : 'honest'
      sizes.push(await grow(fixture, sealer, round === 3 ? 0 : 1))
    }
    const stamps = [logKeys.stamp(present(sizes[1])), logKeys.partialStamp(present(sizes[5]))]
    await fixture.records.commit({ writes: stamps.map((key) => ({ key, value: Buffer.from('{}') })) })
    const timeIn = (value: Uint8Array): number => JSON.parse(Buffer.from(value).toString()).submittedAt
    const times = async (): Promise<number[]> => [...(await recordsOf(fixture.records, 'cs')).values()].map(timeIn)
    const submitted = await times()
    await fixture.clock.advance(25 * 60 * MINUTE_MS)
    // One is thinned with each submission.
    for (let round = 0; round < 12; round++) await grow(fixture, sealer, 1)
    const left = await times()
    const rounds = [...submitted.keys()].filter((round) => left.includes(submitted[round] ?? 0))
    // Three an hour: the first of each that has a quorum, and those that were stamped.
    assert.deepEqual(rounds, [0, 1, 4, 5, 6])
  })

  it('costs nothing without witnesses after the start', async () => {
    const fixture = await open()
    const read = new Set<string>()
    const records = decorateRecords(fixture.records, {
      get: (keys) => (keys.forEach((key) => read.add(key.slice(0, 2))), fixture.records.get(keys)),
    })
    const sealer = await fixture.start({}, records)
    read.clear()
    await fixture.seal(sealer, 1)
    await fixture.clock.advance(10 * MINUTE_MS)
    assert.deepEqual([read.has('th'), read.has('cs'), read.has('wi')], [true, false, false])
    assert.equal(await readOne(fixture.records, logKeys.witnesses()), undefined)
  })
})

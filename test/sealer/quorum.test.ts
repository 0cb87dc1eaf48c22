import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { encodeUtf8, fromBase64, sha256, toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { entryOf, tokenOpening } from '../../core/commitment/log-entry.ts'
import { decodeRecord } from '../../core/store/record-codec.ts'
import type { StampRecord } from '../../core/log/records.ts'
import { claimOf } from '../../core/log/stamp-claim.ts'
import { verifyTimestamp } from '../../core/verify/index.ts'
import { createSealer, InlineEngine, type SealerOptions } from '../../sealer/index.ts'
import { certificate, derOf, keyPair } from '../support/test-authority.ts'
import { FaultyRecords } from '../support/faulty-records.ts'
import { settle, until } from '../support/manual-clock.ts'
import { recordsOf, SealerFixture } from '../support/sealer-fixture.ts'
import { openAuthorities, type LocalAuthorityOptions } from '../support/local-authorities.ts'
import type { ScriptedAuthority } from '../support/scripted-authority.ts'

const three: readonly LocalAuthorityOptions[] = [
  { name: 'a' },
  { name: 'b', skewMs: 2_000 },
  { name: 'c', skewMs: -3_000 },
]

describe('a quorum of timestamp authorities', () => {
  let directory: string
  const benches: SealerFixture[] = []

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'evidence-quorum-'))
  })
  after(() => rm(directory, { recursive: true }))
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  async function openBench(terms = three) {
    const bench = await SealerFixture.open()
    benches.push(bench)
    const authorities = await openAuthorities(directory, bench.clock, terms)
    const [a, b, c] = authorities as readonly [ScriptedAuthority, ScriptedAuthority, ScriptedAuthority]
    return { bench, authorities, a, b, c }
  }

  const recordAt = async (bench: SealerFixture, key: string): Promise<StampRecord | undefined> =>
    decodeRecord<StampRecord>((await bench.records.get([key]))[0])
  const namesIn = (stamp: StampRecord | undefined): string[] =>
    (stamp?.tokens ?? []).map(({ authority }) => authority).toSorted()

  /** Each token is over the checkpoint, of its own authority, and in the log with its opening. */
  async function assertTokens(bench: SealerFixture, stamp: StampRecord, authorities: readonly ScriptedAuthority[]) {
    for (const token of stamp.tokens) {
      const response = fromBase64(token.token) as Uint8Array
      const trustAnchors = authorities.find(({ info }) => info.name === token.authority)?.info.trustAnchors ?? []
      const info = verifyTimestamp(response, { data: encodeUtf8(stamp.checkpoint), trustAnchors })
      assert.equal(info.genTime, token.genTime)
      const opening = tokenOpening(response)
      assert.deepEqual(await bench.reader.controlOpening(entryOf(opening)), opening)
      assert.notEqual((await bench.records.positionsOf([entryOf(opening)]))[0], undefined)
    }
  }

  it('makes a stamp once it is reached, takes later tokens, and claims the k-th smallest time', async () => {
    const { bench, authorities, c } = await openBench()
    c.isDown = true
    const sealer = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await bench.append(1)
    await sealer.sealNow()
    await until(() => sealer.status().stampedSize === 2)
    const begun = bench.clock.now()
    const first = await bench.reader.stampCovering(1)
    assert.deepEqual(namesIn(first), ['a', 'b'])
    assert.equal(first?.quorum, 2)
    assert.equal(claimOf(first)?.token.genTime, begun + 2_000)
    assert.equal((await recordsOf(bench.records, 'sp')).size, 0)
    c.isDown = false
    await until(async () => {
      await bench.clock.advance(1_000)
      return (await bench.reader.stampCovering(1))?.tokens.length === 3
    })
    const whole = await bench.reader.stampCovering(1)
    assert.ok(whole)
    assert.deepEqual(namesIn(whole), ['a', 'b', 'c'])
    await assertTokens(bench, whole, authorities)
    // Of three times the second is claimed, whoever says it.
    const times = whole.tokens.map(({ genTime }) => genTime).toSorted((x, y) => x - y)
    assert.equal(claimOf(whole)?.token.genTime, times[1])
    assert.equal(await bench.records.logSize(), 5, 'the key, the event, three tokens')
    // Tokens alone make no batch and no further round.
    await bench.clock.advance(300_000)
    await sealer.sealNow()
    assert.deepEqual(
      authorities.map(({ stamped }) => stamped),
      [1, 1, 1],
    )
  })

  it('is more than half where nothing is said, and one of one', async () => {
    const { bench, authorities, b, c } = await openBench()
    for (const down of [b, c]) down.isDown = true
    const sealer = await bench.start({ timestampAuthorities: authorities })
    await bench.append(1)
    await sealer.sealNow()
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(2))).length === 1)
    await bench.clock.advance(10_000)
    assert.equal(sealer.status().stampedSize, 0)
    b.isDown = false
    await bench.clock.advance(120_000)
    await until(() => sealer.status().stampedSize === 2)
  })

  it('is not held up by one that is down: batches, the others and newer checkpoints go on', async () => {
    const { bench, authorities, a, b, c } = await openBench()
    c.isDown = true
    const sealer = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    for (let size = 2; size < 20; size = (await bench.reader.treeHead()).size + 1) {
      await bench.append(1)
      await sealer.sealNow()
      const { sealedSize } = sealer.status()
      await until(() => sealer.status().stampedSize === sealedSize)
      await bench.clock.advance(1_000)
    }
    assert.equal(sealer.status().failures.seal.count, 0)
    assert.equal(a.stamped, b.stamped)
    assert.equal(a.calls, a.stamped)
    assert.ok(c.calls >= 3 && c.calls < 20, `${c.calls} calls`)
    assert.deepEqual(sealer.status().failures.stamp, { count: c.calls, lastCode: 'AUTHORITY_FAILED' })
    const warned = bench.lines.filter(({ level }) => level === 'warn')
    assert.deepEqual(new Set(warned.map(({ fields }) => (fields as { authority?: string }).authority)), new Set(['c']))
  })

  it('claims nothing while it is not reached, keeps what there is, and goes on with the newest checkpoint', async () => {
    const { bench, authorities, a, b, c } = await openBench()
    for (const down of [b, c]) down.isDown = true
    const sealer = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await bench.append(1)
    await sealer.sealNow()
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(2))).join() === 'a')
    await bench.append(1)
    await sealer.sealNow()
    const newest = (await bench.reader.treeHead()).size
    await bench.clock.advance(50_000)
    assert.equal(a.stamped, 1, 'the round waits for the others')
    await bench.clock.advance(20_000)
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(newest))).join() === 'a')
    assert.equal(await bench.reader.stampCovering(1), undefined)
    assert.equal(sealer.status().stampedSize, 0)
    b.isDown = false
    await until(async () => {
      await bench.clock.advance(5_000)
      return sealer.status().stampedSize === newest
    })
    const stamp = await bench.reader.stampCovering(1)
    assert.deepEqual([stamp?.size, namesIn(stamp)], [newest, ['a', 'b']])
    const kept = await recordAt(bench, logKeys.partialStamp(2))
    assert.deepEqual(namesIn(kept), ['a'], 'what one said of the earlier checkpoint')
    await assertTokens(bench, kept as StampRecord, authorities)
    assert.deepEqual([a.stamped, b.stamped], [2, 1])
  })

  it('is found again after a restart, where only what is missing is asked for', async () => {
    const { bench, authorities, a, b, c } = await openBench()
    for (const down of [b, c]) down.isDown = true
    const first = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await bench.append(1)
    await first.sealNow()
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(2))).join() === 'a')
    await first.close()
    b.isDown = false
    const second = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await until(() => second.status().stampedSize === 2)
    assert.deepEqual([a.stamped, b.stamped], [1, 1])
    assert.equal((await recordsOf(bench.records, 'sp')).size, 0)
  })

  it('that was lowered is reached by what is there', async () => {
    const { bench, authorities, a, b, c } = await openBench()
    for (const down of [b, c]) down.isDown = true
    const first = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await bench.append(1)
    await first.sealNow()
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(2))).join() === 'a')
    await first.close()
    const second = await bench.start({ timestampAuthority: a })
    await until(() => second.status().stampedSize === 2)
    assert.equal((await bench.reader.stampCovering(1))?.quorum, 1)
    assert.deepEqual([a.stamped, await bench.records.logSize()], [1, 3])
  })

  it('does not count an authority twice, whatever it is called now', async () => {
    const { bench, authorities, b, c } = await openBench()
    for (const down of [b, c]) down.isDown = true
    const first = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    await bench.append(1)
    await first.sealNow()
    await until(async () => namesIn(await recordAt(bench, logKeys.partialStamp(2))).join() === 'a')
    await first.close()
    const [renamed] = await openAuthorities(directory, bench.clock, [{ name: 'a' }])
    Object.assign(renamed as ScriptedAuthority, { info: { ...renamed?.info, name: 'renamed' } })
    const second = await bench.start({ timestampAuthorities: [renamed as ScriptedAuthority, b], quorum: 2 })
    await bench.clock.advance(30_000)
    assert.equal(renamed?.calls, 0)
    assert.equal(second.status().stampedSize, 0)
  })

  it('holds each token once, whether a commit fails or only its answer is lost', async () => {
    for (const fault of ['before', 'after'] as const)
      for (const nth of [3, 4]) {
        const { bench, authorities } = await openBench(three.slice(0, 2))
        const faulty = new FaultyRecords(bench.records)
        const sealer = await bench.start({ timestampAuthorities: authorities, quorum: 2 }, faulty)
        await bench.append(1)
        // The batch, its checkpoint, then the two tokens.
        faulty.failCommit(nth, fault)
        await sealer.sealNow()
        await until(async () => {
          await bench.clock.advance(1_000)
          return sealer.status().stampedSize === 2
        })
        const stamp = await bench.reader.stampCovering(1)
        assert.deepEqual(namesIn(stamp), ['a', 'b'])
        assert.equal(await bench.records.logSize(), 4)
        assert.equal((await recordsOf(bench.records, 'sp')).size, 0)
        await assertTokens(bench, stamp as StampRecord, authorities)
      }
  })

  it('holds each token once where two sealers work at it', async () => {
    const { bench, authorities } = await openBench()
    await (await bench.start()).close()
    await bench.append(1)
    const sealer = await bench.start()
    await sealer.sealNow()
    await sealer.close()
    const both = await Promise.all([
      bench.start({ timestampAuthorities: authorities, quorum: 2 }),
      bench.start({ timestampAuthorities: authorities, quorum: 2 }),
    ])
    await until(async () => (await bench.reader.stampCovering(1))?.tokens.length === 3)
    await bench.clock.advance(5_000)
    await settle()
    assert.equal(await bench.records.logSize(), 5)
    assert.ok(both.every((each) => each.status().stampedSize === 2 && each.status().failures.stamp.count === 0))
  })

  it('keeps what goes with its tokens once, however many have it', async () => {
    const { bench, authorities, a, b } = await openBench(three.slice(0, 2))
    const shared = { type: 'crl', der: Uint8Array.of(0x30, 1, 7) } as const
    const own = { type: 'ocsp', der: Uint8Array.of(0x30, 1, 8) } as const
    a.validationData = [shared, own]
    b.validationData = [shared]
    const sealer = await bench.start({ timestampAuthorities: authorities, quorum: 2 })
    for (const size of [2, 5]) {
      await bench.append(1)
      await sealer.sealNow()
      await until(() => sealer.status().stampedSize === size)
    }
    const hashes = [shared, own].map(({ der }) => toHex(sha256(der))).toSorted()
    assert.deepEqual([...(await recordsOf(bench.records, 'te')).keys()], hashes.map(logKeys.validationData))
    const { tokens } = (await bench.reader.stampCovering(5)) as StampRecord
    for (const { authority, evidence } of tokens)
      assert.deepEqual(await bench.reader.validationData(evidence), authority === 'a' ? [shared, own] : [shared])
  })

  it('is independent only where all of its members are', async () => {
    const assuranceOf = async (...all: readonly LocalAuthorityOptions[]) => {
      const timestampAuthorities = await openAuthorities(directory, { now: () => Date.UTC(2026, 0, 1) }, all)
      return createSealer({ engine: new InlineEngine(), timestampAuthorities }).assurance.time
    }
    assert.equal(await assuranceOf(), 'none')
    assert.equal(await assuranceOf({ name: 'a', assurance: 'independent' }, { name: 'b' }), 'operator')
    const independent = [
      { name: 'a', assurance: 'independent' } as const,
      { name: 'b', assurance: 'independent' } as const,
    ]
    assert.equal(await assuranceOf(...independent), 'independent')
  })

  it('takes distinct authorities only, and a number that can be reached', async () => {
    const { authorities, a, b } = await openBench()
    const otherName = Object.assign(Object.create(a) as ScriptedAuthority, { info: { ...a.info, name: 'z' } })
    const sameName = Object.assign(Object.create(b) as ScriptedAuthority, { info: { ...b.info, name: 'a' } })
    const bare = Object.assign(Object.create(b) as ScriptedAuthority, { info: { ...b.info, trustAnchors: [] } })
    const broken = Object.assign(Object.create(b) as ScriptedAuthority, {
      info: { ...b.info, trustAnchors: [new Uint8Array(3)] },
    })
    const root = { keys: await keyPair('P-256', 'root'), name: 'root', authority: {}, keyUsage: 0x06 }
    const issuer = { keys: root.keys, certificate: await certificate(root) }
    const below = await certificate({ ...root, name: 'below', keys: await keyPair('P-256', 'below'), issuer })
    const renewed = await certificate({ ...root, notAfter: new Date('2041-01-01T00:00:00Z') })
    const anchoredIn = (name: string, made: Parameters<typeof derOf>[0]) =>
      Object.assign(Object.create(a) as ScriptedAuthority, { info: { ...a.info, name, trustAnchors: [derOf(made)] } })
    const refused: readonly SealerOptions[] = [
      { timestampAuthorities: [a, otherName] },
      { timestampAuthorities: [a, sameName] },
      { timestampAuthorities: [a, bare] },
      { timestampAuthorities: [a, broken] },
      { timestampAuthorities: [anchoredIn('x', issuer.certificate), anchoredIn('y', below)] },
      { timestampAuthorities: [anchoredIn('x', below), anchoredIn('y', issuer.certificate)] },
      { timestampAuthorities: [anchoredIn('x', issuer.certificate), anchoredIn('y', renewed)] },
      { timestampAuthorities: authorities, quorum: 4 },
      { timestampAuthorities: authorities, quorum: 0 },
      { timestampAuthorities: authorities, quorum: 1.5 },
      { timestampAuthority: a, timestampAuthorities: authorities },
    ]
    for (const options of refused)
      assert.throws(() => createSealer({ engine: new InlineEngine(), ...options }), { code: 'CONFIG_ERROR' })
  })
})

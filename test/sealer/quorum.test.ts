import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, fromBase64, sha256, toHex } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import { entryOf, tokenOpening } from '../../core/commitment/log-entry.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import type { StampRecord } from '../../core/log/records.ts'
import { claimOf } from '../../core/log/attestation-rules.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import { authorityRules } from '../../sealer/authorities.ts'
import { createSealer, InlineEngine, type SealerOptions } from '../../sealer/index.ts'
import { certificate, derOf, keyPair } from '../support/test-authority.ts'
import { settle, until } from '../support/manual-clock.ts'
import { recordsOf, type SealerFixture, sealerFixtures } from '../support/sealer-fixture.ts'
import { openAuthorities, type LocalAuthorityOptions } from '../support/local-authorities.ts'
import type { ScriptedAuthority } from '../support/scripted-authority.ts'
import { present } from '../support/present.ts'
import { temporaryOfSuite } from '../support/temporary.ts'

/** The same authority with another description. */
const withInfo = (authority: ScriptedAuthority, info: Partial<ScriptedAuthority['info']>): ScriptedAuthority =>
  Object.assign(Object.create(authority) as ScriptedAuthority, { info: { ...authority.info, ...info } })

const three: readonly LocalAuthorityOptions[] = [
  { name: 'a' },
  { name: 'b', skewMs: 2_000 },
  { name: 'c', skewMs: -3_000 },
]

describe('a quorum of timestamp authorities', () => {
  const directory = temporaryOfSuite()
  const { open } = sealerFixtures()

  async function openFixture(authorityOptions = three) {
    const fixture = await open()
    const authorities = await openAuthorities(directory, fixture.clock, authorityOptions)
    const [a, b, c] = authorities as readonly [ScriptedAuthority, ScriptedAuthority, ScriptedAuthority]
    return { fixture, authorities, a, b, c }
  }

  const recordAt = async (fixture: SealerFixture, key: string): Promise<StampRecord | undefined> =>
    decodeRecord<StampRecord>((await fixture.records.get([key]))[0])
  const namesIn = (stamp: StampRecord | undefined): string[] =>
    (stamp?.tokens ?? []).map(({ authority }) => authority).toSorted()

  /** Two of three authorities must stamp, and only the first one does: the token for the checkpoint of size 2 waits. */
  async function openWithOneToken() {
    const opened = await openFixture()
    const { fixture, authorities, b, c } = opened
    for (const down of [b, c]) down.isDown = true
    const sealer = await fixture.start({ timestampAuthorities: authorities, quorum: 2 })
    await fixture.seal(sealer, 1)
    await until(async () => namesIn(await recordAt(fixture, logKeys.partialStamp(2))).join() === 'a')
    return { ...opened, sealer }
  }

  /** Verifies each token: it covers the checkpoint, belongs to its authority, and is in the log with its opening. */
  async function assertTokens(fixture: SealerFixture, stamp: StampRecord, authorities: readonly ScriptedAuthority[]) {
    for (const token of stamp.tokens) {
      const response = present(fromBase64(token.token))
      const trustAnchors = authorities.find(({ info }) => info.name === token.authority)?.info.trustAnchors ?? []
      const info = verifyTimestamp(response, { data: encodeUtf8(stamp.checkpoint), trustAnchors })
      assert.equal(info.genTime, token.genTime)
      const opening = tokenOpening(response)
      assert.deepEqual(await fixture.reader.payloadOf(entryOf(opening)), { kind: 'token', opening })
      assert.notEqual((await fixture.records.positionsOf([entryOf(opening)]))[0], undefined)
    }
  }

  it('makes a stamp when it is reached, adds later tokens, and claims the k-th smallest time', async () => {
    const { fixture, authorities, c } = await openFixture()
    c.isDown = true
    const sealer = await fixture.start({ timestampAuthorities: authorities, quorum: 2 })
    await fixture.seal(sealer, 1)
    await until(() => sealer.status().stampedSize === 2)
    const stampedAt = fixture.clock.now()
    const first = await fixture.reader.stampCovering(1)
    assert.deepEqual(namesIn(first), ['a', 'b'])
    assert.equal(first?.quorum, 2)
    assert.equal(claimOf(first)?.token.genTime, stampedAt + 2_000)
    assert.equal((await recordsOf(fixture.records, 'sp')).size, 0)
    c.isDown = false
    await fixture.clock.advanceUntil(1_000, async () => (await fixture.reader.stampCovering(1))?.tokens.length === 3)
    const whole = await fixture.reader.stampCovering(1)
    assert.ok(whole)
    assert.deepEqual(namesIn(whole), ['a', 'b', 'c'])
    await assertTokens(fixture, whole, authorities)
    // Of three times the second smallest is claimed.
    const times = whole.tokens.map(({ genTime }) => genTime).toSorted((x, y) => x - y)
    assert.equal(claimOf(whole)?.token.genTime, times[1])
    assert.equal(await fixture.records.logSize(), 5, 'the key, the event, three tokens')
    // Tokens alone cause no batch and no further stamp.
    await fixture.clock.advance(300_000)
    await sealer.sealNow()
    const stampedCounts = authorities.map(({ stamped }) => stamped)
    assert.deepEqual(stampedCounts, [1, 1, 1])
  })

  it('is more than half by default', async () => {
    const { fixture, authorities, b, c } = await openFixture()
    for (const down of [b, c]) down.isDown = true
    const sealer = await fixture.start({ timestampAuthorities: authorities })
    await fixture.seal(sealer, 1)
    await until(async () => namesIn(await recordAt(fixture, logKeys.partialStamp(2))).length === 1)
    await fixture.clock.advance(10_000)
    assert.equal(sealer.status().stampedSize, 0)
    b.isDown = false
    await fixture.clock.advance(120_000)
    await until(() => sealer.status().stampedSize === 2)
  })

  it('is not delayed by an authority that is down: batches, other authorities and checkpoints continue', async () => {
    const { fixture, authorities, a, b, c } = await openFixture()
    c.isDown = true
    const sealer = await fixture.start({ timestampAuthorities: authorities, quorum: 2 })
    for (let size = 2; size < 20; size = (await fixture.reader.tree.head()).size + 1) {
      await fixture.seal(sealer, 1)
      const { sealedSize } = sealer.status()
      await until(() => sealer.status().stampedSize === sealedSize)
      await fixture.clock.advance(1_000)
    }
    assert.equal(sealer.status().failures.seal.count, 0)
    assert.equal(a.stamped, b.stamped)
    assert.equal(a.calls, a.stamped)
    assert.ok(c.calls >= 3 && c.calls < 20, `${c.calls} calls`)
    assert.deepEqual(sealer.status().failures.stamp, { count: c.calls, lastCode: 'AUTHORITY_FAILED' })
    const warned = fixture.lines.filter(({ level }) => level === 'warn')
    assert.deepEqual(new Set(warned.map((line) => line['authority'])), new Set(['c']))
  })

  it('claims nothing while it is not reached, keeps the tokens, and continues with the newest checkpoint', async () => {
    const { fixture, authorities, a, b, sealer } = await openWithOneToken()
    await fixture.seal(sealer, 1)
    const newest = (await fixture.reader.tree.head()).size
    await fixture.clock.advance(50_000)
    assert.equal(a.stamped, 1, 'the stamp waits for the others')
    await fixture.clock.advance(20_000)
    await until(async () => namesIn(await recordAt(fixture, logKeys.partialStamp(newest))).join() === 'a')
    assert.equal(await fixture.reader.stampCovering(1), undefined)
    assert.equal(sealer.status().stampedSize, 0)
    b.isDown = false
    await fixture.clock.advanceUntil(5_000, () => sealer.status().stampedSize === newest)
    const stamp = await fixture.reader.stampCovering(1)
    assert.deepEqual([stamp?.size, namesIn(stamp)], [newest, ['a', 'b']])
    const kept = await recordAt(fixture, logKeys.partialStamp(2))
    assert.deepEqual(namesIn(kept), ['a'], 'the token for the earlier checkpoint')
    await assertTokens(fixture, present(kept), authorities)
    assert.deepEqual([a.stamped, b.stamped], [2, 1])
  })

  it('continues after a restart, and requests only the missing tokens', async () => {
    const { fixture, authorities, a, b, sealer } = await openWithOneToken()
    await sealer.close()
    b.isDown = false
    const second = await fixture.start({ timestampAuthorities: authorities, quorum: 2 })
    await until(() => second.status().stampedSize === 2)
    assert.deepEqual([a.stamped, b.stamped], [1, 1])
    assert.equal((await recordsOf(fixture.records, 'sp')).size, 0)
  })

  it('that was lowered is reached by the stored tokens', async () => {
    const { fixture, a, sealer } = await openWithOneToken()
    await sealer.close()
    const second = await fixture.start({ timestampAuthority: a })
    await until(() => second.status().stampedSize === 2)
    assert.equal((await fixture.reader.stampCovering(1))?.quorum, 1)
    assert.deepEqual([a.stamped, await fixture.records.logSize()], [1, 3])
  })

  it('does not count an authority twice after it was renamed', async () => {
    const { fixture, b, sealer } = await openWithOneToken()
    await sealer.close()
    const [renamed] = await openAuthorities(directory, fixture.clock, [{ name: 'a' }])
    Object.assign(present(renamed), { info: { ...renamed?.info, name: 'renamed' } })
    const second = await fixture.start({ timestampAuthorities: [present(renamed), b], quorum: 2 })
    await fixture.clock.advance(30_000)
    assert.equal(renamed?.calls, 0)
    assert.equal(second.status().stampedSize, 0)
  })

  it('holds each token once if two sealers work on it', async () => {
    const { fixture, authorities } = await openFixture()
    await (await fixture.start()).close()
    await fixture.append(1)
    const sealer = await fixture.start()
    await sealer.sealNow()
    await sealer.close()
    const both = await Promise.all([
      fixture.start({ timestampAuthorities: authorities, quorum: 2 }),
      fixture.start({ timestampAuthorities: authorities, quorum: 2 }),
    ])
    await until(async () => (await fixture.reader.stampCovering(1))?.tokens.length === 3)
    await fixture.clock.advance(5_000)
    await settle()
    assert.equal(await fixture.records.logSize(), 5)
    assert.ok(both.every((each) => each.status().stampedSize === 2 && each.status().failures.stamp.count === 0))
  })

  it('stores validation data once for all tokens that use it', async () => {
    const { fixture, authorities, a, b } = await openFixture(three.slice(0, 2))
    const shared = { type: 'crl', der: Uint8Array.of(0x30, 1, 7) } as const
    const own = { type: 'ocsp', der: Uint8Array.of(0x30, 1, 8) } as const
    a.validationData = [shared, own]
    b.validationData = [shared]
    const sealer = await fixture.start({ timestampAuthorities: authorities, quorum: 2 })
    for (const size of [2, 5]) {
      await fixture.seal(sealer, 1)
      await until(() => sealer.status().stampedSize === size)
    }
    const hashes = [shared, own].map(({ der }) => toHex(sha256(der))).toSorted()
    assert.deepEqual([...(await recordsOf(fixture.records, 'te')).keys()], hashes.map(logKeys.validationData))
    const { tokens } = present(await fixture.reader.stampCovering(5))
    for (const { authority, evidence } of tokens)
      assert.deepEqual(await fixture.reader.validationData(evidence), authority === 'a' ? [shared, own] : [shared])
  })

  it('is independent only if all authorities are', async () => {
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

  it('accepts at most as many authorities as a proof holds tokens of', async () => {
    const { a } = await openFixture()
    const named = (count: number) => Array.from({ length: count }, (_, i) => withInfo(a, { name: `a${i}` }))
    const rules = (count: number) => () => authorityRules({ timestampAuthorities: named(count) })
    assert.throws(rules(9), { code: 'CONFIG_ERROR', message: /at most 8 timestamp authorities/ })
    assert.throws(rules(8), { code: 'CONFIG_ERROR', message: /share a trust anchor/ })
  })

  it('refuses trust anchors that would make the policy longer than verifiers read', async () => {
    const { a } = await openFixture()
    const [anchor = new Uint8Array()] = a.info.trustAnchors
    const trustAnchors = Array.from({ length: Math.ceil(262_145 / anchor.length) }, () => anchor)
    assert.throws(() => authorityRules({ timestampAuthority: withInfo(a, { trustAnchors }) }), {
      code: 'CONFIG_ERROR',
      message: /^The trust anchors .* name only the CA certificates to which the tokens lead/,
    })
  })

  it('accepts only distinct authorities and a quorum that can be reached', async () => {
    const { authorities, a, b } = await openFixture()
    const otherName = withInfo(a, { name: 'z' })
    const sameName = withInfo(b, { name: 'a' })
    const bare = withInfo(b, { trustAnchors: [] })
    const broken = withInfo(b, { trustAnchors: [new Uint8Array(3)] })
    const root = { keys: await keyPair('P-256', 'root'), name: 'root', authority: {}, keyUsage: 0x06 }
    const issuer = { keys: root.keys, certificate: await certificate(root) }
    const below = await certificate({ ...root, name: 'below', keys: await keyPair('P-256', 'below'), issuer })
    const renewed = await certificate({ ...root, notAfter: new Date('2041-01-01T00:00:00Z') })
    const anchoredIn = (name: string, made: Parameters<typeof derOf>[0]) =>
      withInfo(a, { name, trustAnchors: [derOf(made)] })
    const rejected: readonly SealerOptions[] = [
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
    for (const options of rejected)
      assert.throws(() => createSealer({ engine: new InlineEngine(), ...options }), { code: 'CONFIG_ERROR' })
  })
})

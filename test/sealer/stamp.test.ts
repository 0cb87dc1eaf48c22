import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { encodeUtf8, fromBase64, sha256, toHex } from '../../core/bytes.ts'
import { entryOf, tokenOpening } from '../../core/commitment/log-entry.ts'
import type { StampRecord } from '../../core/log/records.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import { until } from '../support/manual-clock.ts'
import { recordsOf, type SealerFixture, sealerFixtures } from '../support/sealer-fixture.ts'
import { ScriptedAuthority } from '../support/scripted-authority.ts'
import { present } from '../support/present.ts'
import { temporaryOfSuite } from '../support/temporary.ts'
import { ofSuite } from '../support/of-suite.ts'

/** SHA-256 (hex) of a certificate's public key. */
const keyHash = (der: Uint8Array): string =>
  toHex(sha256(new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' })))

describe('stamping', () => {
  const directory = temporaryOfSuite()
  const { open } = sealerFixtures()

  const local = ofSuite(() =>
    openLocalTsa(directory, {
      clock: { now: () => Date.UTC(2026, 0, 1), sleep: async () => {} },
      keepsLastStamp: false,
    }),
  )

  async function openFixture(): Promise<{ fixture: SealerFixture; authority: ScriptedAuthority }> {
    return { fixture: await open(), authority: new ScriptedAuthority(local()) }
  }

  /** Verifies the stamp of a size: its token covers the checkpoint's bytes and is in the log. */
  async function assertStamped(fixture: SealerFixture, size: number): Promise<StampRecord> {
    const stamp = await fixture.reader.stampCovering(size)
    assert.equal(stamp?.size, size)
    assert.equal(stamp.checkpoint, (await fixture.reader.checkpoints.ofSize(size))?.note)
    const [token] = stamp.tokens
    const response = present(fromBase64(token?.token ?? ''))
    const info = verifyTimestamp(response, { data: encodeUtf8(stamp.checkpoint), trustAnchors: [local().trustAnchor] })
    assert.deepEqual(
      { ...token, token: '' },
      {
        authority: 'local',
        assurance: 'operator',
        genTime: info.genTime,
        serialNumber: info.serialNumber,
        policy: info.policy,
        hashAlgorithm: 'sha256',
        imprint: toHex(sha256(encodeUtf8(stamp.checkpoint))),
        token: '',
        trustAnchors: [keyHash(local().trustAnchor)],
        evidence: [],
      },
    )
    const opening = tokenOpening(response)
    assert.deepEqual(await fixture.reader.payloadOf(entryOf(opening)), { kind: 'token', opening })
    assert.notEqual((await fixture.records.positionsOf([entryOf(opening)]))[0], undefined)
    return stamp
  }

  it('stamps each newest checkpoint, and logs each token', async () => {
    const { fixture, authority } = await openFixture()
    const sealer = await fixture.start({ timestampAuthority: authority })
    for (const size of [3, 5, 7]) {
      await fixture.seal(sealer, size === 3 ? 2 : 1)
      await until(() => sealer.status().stampedSize === size)
      await assertStamped(fixture, size)
    }
    assert.equal(authority.stamped, 3)
    // The last token is an unsealed entry. It alone causes no batch and no further stamp.
    await fixture.clock.advance(60_000)
    await sealer.sealNow()
    assert.equal((await fixture.reader.tree.head()).size, 7)
    assert.equal(await fixture.records.logSize(), 8)
    assert.equal(authority.stamped, 3)
    assert.deepEqual(sealer.assurance, { time: 'operator', anchor: 'none' })
  })

  it('makes no stamp for receipts of erasures alone, which are sealed soon', async () => {
    const { fixture, authority } = await openFixture()
    const start = () => fixture.start({ timestampAuthority: authority, tsaIntervalMs: 60_000, maxWaitMs: 500 })
    const first = await start()
    await fixture.seal(first, 1)
    await until(() => first.status().stampedSize === 2)
    await fixture.erase(40)
    first.notify()
    await fixture.clock.advance(600)
    assert.equal(first.sealedSize, 2 + 1 + 40, 'with the token')
    await first.close()
    const sealer = await start()
    await fixture.clock.advance(600_000)
    assert.deepEqual([authority.stamped, sealer.status().unsealedEvents, sealer.status().currentFailures], [1, 0, []])
    await fixture.seal(sealer, 1)
    await until(() => sealer.status().stampedSize === 44)
  })

  it('waits for the interval between two stamps', async () => {
    const { fixture, authority } = await openFixture()
    const sealer = await fixture.start({ timestampAuthority: authority, tsaIntervalMs: 60_000 })
    await fixture.seal(sealer, 1)
    await until(() => sealer.status().stampedSize === 2)
    await fixture.seal(sealer, 1)
    await fixture.seal(sealer, 1)
    await fixture.clock.advance(59_000)
    assert.equal(authority.stamped, 1)
    await fixture.clock.advance(1_001)
    await until(() => sealer.status().stampedSize === 5)
    assert.equal(authority.stamped, 2)
    assert.equal((await recordsOf(fixture.records, 'st')).size, 2)
    await assertStamped(fixture, 5)
    assert.equal((await fixture.reader.stampCovering(3))?.size, 5, 'the later stamp covers the checkpoint in between')
  })

  for (const [seconds, stamps] of [
    [0, 6],
    [2, 6],
    [59, 6],
    [7_200, 7],
  ] as const)
    it(`costs no stamp and no second one within an interval if the clock is set back by ${seconds} s`, async () => {
      const { fixture, authority } = await openFixture()
      const sealer = await fixture.start({ timestampAuthority: authority, tsaIntervalMs: 60_000 })
      for (let second = 0; second < 340; second += 10) {
        if (second === 10) fixture.clock.set(fixture.clock.now() - seconds * 1_000)
        await fixture.seal(sealer, 1)
        await fixture.clock.advance(10_000)
        await until(async () => (await recordsOf(fixture.records, 'st')).size === authority.calls)
      }
      // One at once, then one each minute. The time of one from a clock that was two hours ahead counts for nothing.
      assert.equal(authority.stamped, stamps)
      assert.deepEqual(sealer.status().currentFailures, [])
    })

  it('says that no stamp is made for three intervals although entries wait, and no more after the next', async () => {
    const { fixture, authority } = await openFixture()
    const stuck: (() => void)[] = []
    const stamp = authority.stamp.bind(authority)
    authority.stamp = async (bytes) => {
      await new Promise<void>((resolve) => stuck.push(resolve))
      return stamp(bytes)
    }
    const sealer = await fixture.start({ timestampAuthority: authority, tsaIntervalMs: 60_000 })
    await fixture.clock.advance(600_000)
    await fixture.seal(sealer, 1)
    await fixture.clock.advance(170_000)
    fixture.clock.set(fixture.clock.now() - 86_400_000)
    assert.deepEqual(sealer.status().currentFailures, [])
    await fixture.clock.advance(70_000)
    assert.deepEqual(sealer.status().currentFailures, ['STAMP_OVERDUE'])
    assert.match(fixture.lines.at(-1)?.message ?? '', /no stamp for 3 intervals although entries wait/)
    for (const release of stuck) release()
    await until(() => sealer.status().stampedSize === 2)
    assert.deepEqual(sealer.status().currentFailures, [])
  })

  it('delays nothing while the authority is down, backs off, and stamps the newest checkpoint in the end', async () => {
    const { fixture, authority } = await openFixture()
    authority.isDown = true
    const sealer = await fixture.start({ timestampAuthority: authority, maxWaitMs: 0 })
    for (let i = 0; i < 10; i++) {
      await fixture.append(1)
      sealer.notify()
      await fixture.clock.advance(60_000)
    }
    assert.equal((await fixture.reader.tree.head()).size, 11)
    const { count, lastCode } = sealer.status().failures.stamp
    assert.equal(lastCode, 'AUTHORITY_FAILED')
    assert.equal(count, authority.calls)
    assert.ok(count >= 8 && count <= 40, `${count} calls in ten minutes`)
    authority.isDown = false
    await fixture.clock.advance(120_000)
    await until(() => sealer.status().stampedSize === 11)
    assert.equal(authority.stamped, 1)
    await assertStamped(fixture, 11)
    assert.equal(sealer.status().failures.seal.count, 0)
  })

  it('rejects a response that stamps other data, and one that is not DER', async () => {
    const { fixture, authority } = await openFixture()
    const responses = [await local().stamp(encodeUtf8('other')), encodeUtf8('not DER')]
    authority.stamp = async (bytes) => responses.shift() ?? local().stamp(bytes)
    const sealer = await fixture.start({ timestampAuthority: authority })
    await fixture.seal(sealer, 1)
    await until(() => sealer.status().failures.stamp.lastCode === 'AUTHORITY_FAILED')
    await fixture.clock.advanceUntil(1_000, () => sealer.status().stampedSize === 2)
    assert.deepEqual(sealer.status().failures.stamp, { count: 2, lastCode: 'VERIFICATION_FAILED' })
    await assertStamped(fixture, 2)
    await fixture.close()
    assert.ok(authority.isClosed)
  })
})

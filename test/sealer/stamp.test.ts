import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { openLocalTsa, type LocalTsa } from '../../adapters/local-tsa/index.ts'
import { encodeUtf8, fromBase64, sha256, toHex } from '../../core/bytes.ts'
import { entryOf, tokenOpening } from '../../core/commitment/log-entry.ts'
import type { StampRecord } from '../../core/log/records.ts'
import { verifyTimestamp } from '../../core/verify/timestamp.ts'
import { FaultyRecords } from '../support/faulty-records.ts'
import { settle, until } from '../support/manual-clock.ts'
import { recordsOf, SealerFixture } from '../support/sealer-fixture.ts'
import { ScriptedAuthority } from '../support/scripted-authority.ts'

/** SHA-256 (hex) of a certificate's public key. */
const keyHash = (der: Uint8Array): string =>
  toHex(sha256(new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' })))

describe('stamping', () => {
  let directory: string
  let local: LocalTsa
  const benches: SealerFixture[] = []

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'stamp-'))
    local = await openLocalTsa(directory, { clock: { now: () => Date.UTC(2026, 0, 1), sleep: async () => {} } })
  })
  after(async () => {
    await local.close()
    await rm(directory, { recursive: true })
  })
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  async function openBench(): Promise<{ bench: SealerFixture; authority: ScriptedAuthority }> {
    const bench = await SealerFixture.open()
    benches.push(bench)
    return { bench, authority: new ScriptedAuthority(local) }
  }

  /** The stamp of a size, checked as anybody would: over the checkpoint's bytes, its token in the log. */
  async function assertStamped(bench: SealerFixture, size: number): Promise<StampRecord> {
    const stamp = await bench.reader.stampCovering(size)
    assert.equal(stamp?.size, size)
    assert.equal(stamp.checkpoint, (await bench.reader.checkpoint(size))?.note)
    const [token] = stamp.tokens
    const response = fromBase64(token?.token ?? '') as Uint8Array
    const info = verifyTimestamp(response, { data: encodeUtf8(stamp.checkpoint), trustAnchors: [local.trustAnchor] })
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
        trustAnchors: [keyHash(local.trustAnchor)],
        evidence: [],
      },
    )
    const opening = tokenOpening(response)
    assert.deepEqual(await bench.reader.controlOpening(entryOf(opening)), opening)
    assert.notEqual((await bench.records.positionsOf([entryOf(opening)]))[0], undefined)
    return stamp
  }

  it('stamps every checkpoint that is the newest, and each token rides in the log', async () => {
    const { bench, authority } = await openBench()
    const sealer = await bench.start({ timestampAuthority: authority })
    for (const size of [3, 5, 7]) {
      await bench.append(size === 3 ? 2 : 1)
      await sealer.sealNow()
      await until(() => sealer.status().stampedSize === size)
      await assertStamped(bench, size)
    }
    assert.equal(authority.stamped, 3)
    // A token waits in the log, and that alone makes no batch and no further stamp.
    await bench.clock.advance(60_000)
    await sealer.sealNow()
    assert.equal((await bench.reader.treeHead()).size, 7)
    assert.equal(await bench.records.logSize(), 8)
    assert.equal(authority.stamped, 3)
    assert.deepEqual(sealer.assurance, { time: 'operator', anchor: 'none' })
  })

  it('stamps no more often than its interval', async () => {
    const { bench, authority } = await openBench()
    const sealer = await bench.start({ timestampAuthority: authority, tsaIntervalMs: 60_000 })
    await bench.append(1)
    await sealer.sealNow()
    await until(() => sealer.status().stampedSize === 2)
    await bench.append(1)
    await sealer.sealNow()
    await bench.append(1)
    await sealer.sealNow()
    await bench.clock.advance(59_000)
    assert.equal(authority.stamped, 1)
    await bench.clock.advance(1_001)
    await until(() => sealer.status().stampedSize === 5)
    assert.equal(authority.stamped, 2)
    assert.equal((await recordsOf(bench.records, 'st')).size, 2)
    await assertStamped(bench, 5)
    assert.equal((await bench.reader.stampCovering(3))?.size, 5, 'the later stamp covers the checkpoint between')
  })

  it('holds up nothing while the authority is down, tries again ever less often, and stamps the newest in the end', async () => {
    const { bench, authority } = await openBench()
    authority.isDown = true
    const sealer = await bench.start({ timestampAuthority: authority, maxWaitMs: 0 })
    for (let i = 0; i < 10; i++) {
      await bench.append(1)
      sealer.notify()
      await bench.clock.advance(60_000)
    }
    assert.equal((await bench.reader.treeHead()).size, 11)
    const { count, lastCode } = sealer.status().failures.stamp
    assert.equal(lastCode, 'AUTHORITY_FAILED')
    assert.equal(count, authority.calls)
    assert.ok(count >= 8 && count <= 40, `${count} calls in ten minutes`)
    authority.isDown = false
    await bench.clock.advance(120_000)
    await until(() => sealer.status().stampedSize === 11)
    assert.equal(authority.stamped, 1)
    await assertStamped(bench, 11)
    assert.equal(sealer.status().failures.seal.count, 0)
  })

  it('stamps again where a token was lost on its way', async () => {
    const { bench, authority } = await openBench()
    authority.faults.push('after', 'before')
    const sealer = await bench.start({ timestampAuthority: authority })
    await bench.append(1)
    await sealer.sealNow()
    await until(async () => {
      await bench.clock.advance(1_000)
      return sealer.status().stampedSize === 2
    })
    assert.deepEqual([authority.calls, authority.stamped], [3, 2])
    await assertStamped(bench, 2)
    assert.equal(await bench.records.logSize(), 3, 'one token in the log')
  })

  it('keeps one token a stamp, whether its commit failed or only its answer was lost', async () => {
    for (const fault of ['before', 'after'] as const) {
      const { bench, authority } = await openBench()
      const faulty = new FaultyRecords(bench.records)
      const sealer = await bench.start({ timestampAuthority: authority }, faulty)
      await bench.append(1)
      // The batch, its checkpoint, the stamp.
      faulty.failCommit(3, fault)
      await sealer.sealNow()
      await until(async () => {
        await bench.clock.advance(1_000)
        return sealer.status().stampedSize === 2
      })
      assert.equal(sealer.status().failures.stamp.count, 1)
      assert.equal(authority.stamped, fault === 'before' ? 2 : 1)
      assert.equal(await bench.records.logSize(), 3)
      await assertStamped(bench, 2)
    }
  })

  it('keeps one token where two sealers stamp the same checkpoint', async () => {
    const { bench, authority } = await openBench()
    await (await bench.start()).close()
    await bench.append(1)
    const sealer = await bench.start()
    await sealer.sealNow()
    await sealer.close()
    const both = await Promise.all([
      bench.start({ timestampAuthority: authority }),
      bench.start({ timestampAuthority: authority }),
    ])
    await until(() => both.every((each) => each.status().stampedSize === 2))
    await settle()
    assert.equal(await bench.records.logSize(), 3)
    await assertStamped(bench, 2)
    assert.ok(both.every((each) => each.status().failures.stamp.count === 0))
  })

  it('refuses an answer that stamps something else, or is none', async () => {
    const { bench, authority } = await openBench()
    const answers = [await local.stamp(encodeUtf8('other')), encodeUtf8('no DER')]
    authority.stamp = async (bytes) => answers.shift() ?? local.stamp(bytes)
    const sealer = await bench.start({ timestampAuthority: authority })
    await bench.append(1)
    await sealer.sealNow()
    await until(() => sealer.status().failures.stamp.lastCode === 'AUTHORITY_FAILED')
    await until(async () => {
      await bench.clock.advance(1_000)
      return sealer.status().stampedSize === 2
    })
    assert.deepEqual(sealer.status().failures.stamp, { count: 2, lastCode: 'VERIFICATION_FAILED' })
    await assertStamped(bench, 2)
    await bench.close()
    assert.ok(authority.isClosed)
  })
})

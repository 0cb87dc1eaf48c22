import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { fromHex, toHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { verifyCheckpoint } from '../../../core/log/checkpoint.ts'
import { assertKeyChain, entryOf, MAX_LOG_KEYS, parseKeyOpening } from '../../../core/commitment/log-entry.ts'
import type { LogIdentityRecord } from '../../../core/log/records.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { openLogIdentity, type LogIdentity } from '../../../core/log/identity.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { faultyRecords } from '../../support/faulty-records.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { appendsOf } from '../../contract/record-store-pair.ts'
import { testSigner } from '../../support/test-signer.ts'

const clock = new ManualClock()
const secret = new Uint8Array(32).fill(1)
const root = new Uint8Array(32).fill(2)
const open = (records: RecordStore, more: { secret?: Uint8Array; logName?: string } = {}): Promise<LogIdentity> =>
  openLogIdentity({ records, secret, clock, signer: testSigner(), ...more })

async function openingsOf(records: RecordStore, identity: LogIdentity): Promise<readonly Uint8Array[]> {
  const reader = new LogReader(records)
  const payloads = await Promise.all(identity.keys.map(({ entry }) => reader.payloadOf(fromHex(entry) as Uint8Array)))
  return payloads.map((payload) => payload?.opening as Uint8Array)
}

describe('the log identity', () => {
  it('adds the first key as entry 0 of the log, at the first start only', async () => {
    const records = new MemoryRecords()
    const identity = await open(records, { logName: 'example.org/log' })
    assert.match(identity.origin, /^example\.org\/log\/[0-9a-f]{32}$/)
    assert.equal(await records.logSize(), 1)
    const [opening] = await openingsOf(records, identity)
    assert.deepEqual(await records.readLog(0, 1), entryOf(opening as Uint8Array))
    assert.equal(parseKeyOpening(opening as Uint8Array).vkey, identity.verifierKey)
    const again = await open(records)
    assert.deepEqual(
      [again.origin, again.verifierKey, again.keys],
      [identity.origin, identity.verifierKey, identity.keys],
    )
    assert.equal(await records.logSize(), 1)
  })

  it('is the same for all that start at the same time', async () => {
    const records = new MemoryRecords()
    const secrets = Array.from({ length: 8 }, () => secret)
    const identities = await Promise.all(secrets.map((own) => open(records, { secret: own })))
    assert.equal(new Set(identities.map(({ origin }) => origin)).size, 1)
    assert.equal(await records.logSize(), 1)
  })

  it('rejects another secret and another name, and says which name the log has', async () => {
    const records = new MemoryRecords()
    await open(records)
    await assert.rejects(open(records, { secret: new Uint8Array(32).fill(9) }), { code: 'LOG_KEY_MISMATCH' })
    await assert.rejects(open(records, { logName: 'other' }), { code: 'CONFIG_ERROR', message: /evidence-registry/ })
    await assert.rejects(open(new MemoryRecords(), { logName: 'a b' }), { code: 'CONFIG_ERROR' })
    await assert.rejects(open(new MemoryRecords(), { secret: new Uint8Array(31) }), { code: 'CONFIG_ERROR' })
    await open(records, { logName: 'evidence-registry' })
  })

  it('rejects a log whose identity or key is missing', async () => {
    const records = new MemoryRecords()
    await open(records)
    const [entry] = await records.get([logKeys.identity()])
    await records.commit({ writes: [{ key: logKeys.identity(), value: null }] })
    await assert.rejects(open(records), { code: 'CORRUPT' })
    const other = new MemoryRecords()
    await other.commit({ writes: [{ key: logKeys.identity(), value: entry?.value as Uint8Array }] })
    await assert.rejects(open(other), { code: 'CORRUPT' })
  })

  it('starts again after a first commit that failed, applied or not', async () => {
    for (const fault of ['before', 'after'] as const) {
      const records = new MemoryRecords()
      const faulty = faultyRecords(records)
      faulty.failCommit(1, fault)
      if (fault === 'before') await assert.rejects(open(faulty), { code: 'UNAVAILABLE' })
      const identity = await open(faulty)
      assert.equal(await records.logSize(), 1)
      assert.equal(identity.keys.length, 1)
    }
  })

  it('signs with the newest key that the tree contains', async () => {
    const records = new MemoryRecords()
    const identity = await open(records)
    const oldKey = identity.verifierKey
    await records.commit({ append: appendsOf(new Uint8Array(64).fill(7)) })
    const added = await identity.rotateCheckpointKey()
    assert.equal(added.position, 3)
    assert.notEqual(identity.verifierKey, oldKey)
    assert.equal(verifyCheckpoint(await identity.signCheckpoint(3, root), oldKey).size, 3)
    assert.equal(verifyCheckpoint(await identity.signCheckpoint(4, root), identity.verifierKey).size, 4)
    await assert.rejects(identity.signCheckpoint(0, root), RangeError)
    assertKeyChain((await openingsOf(records, identity)).map(parseKeyOpening), identity.origin)
    const again = await open(records)
    assert.equal(await again.signCheckpoint(4, root), await identity.signCheckpoint(4, root))
    assert.equal(await again.signCheckpoint(3, root), await identity.signCheckpoint(3, root))
  })

  it('finds a key that another process added, and adds one key if two processes rotate at once', async () => {
    const records = new MemoryRecords()
    const [a, b] = [await open(records), await open(records)]
    const [fromA, fromB] = await Promise.all([a.rotateCheckpointKey(), b.rotateCheckpointKey()])
    assert.deepEqual(fromA, fromB)
    assert.equal(await records.logSize(), 2)
    await a.rotateCheckpointKey()
    await b.refresh()
    assert.equal(b.verifierKey, a.verifierKey)
    assert.equal(b.keys.length, 3)
  })

  it('is not opened from a record that lacks a member', async () => {
    const records = new MemoryRecords()
    await open(records)
    const [stored] = await records.get([logKeys.identity()])
    const { origin, keys, secretId, textKey } = decodeRecord<LogIdentityRecord>(stored) ?? assert.fail()
    const [{ entry, vkey }] = keys as [LogIdentityRecord['keys'][number]]
    for (const record of [
      { keys, secretId, textKey },
      { origin, secretId, textKey },
      { origin, keys, textKey },
      { origin, keys, secretId },
      { origin, keys: [{ vkey }], secretId, textKey },
      { origin, keys: [{ entry }], secretId, textKey },
    ]) {
      await records.commit({ writes: [putRecord(logKeys.identity(), record as never)] })
      await assert.rejects(open(records), { code: 'CORRUPT', message: /not the identity of a log/ })
    }
  })

  it('adds no key beyond those that verifiers accept', async () => {
    const records = new MemoryRecords()
    await open(records)
    const [stored] = await records.get([logKeys.identity()])
    const record = decodeRecord<LogIdentityRecord>(stored)
    assert.ok(record)
    const withKeys = async (count: number): Promise<LogIdentity> => {
      const keys = Array.from({ length: count }, () => record.keys[0] as (typeof record.keys)[number])
      await records.commit({ writes: [putRecord(logKeys.identity(), { ...record, keys })] })
      return open(records)
    }
    const last = await withKeys(MAX_LOG_KEYS - 1)
    await last.rotateCheckpointKey()
    assert.equal(last.keys.length, MAX_LOG_KEYS)
    await assert.rejects(last.rotateCheckpointKey(), { code: 'CONFIG_ERROR', message: /has 1024 checkpoint keys/ })
    assert.equal(await records.logSize(), 2)
  })

  it('rotates once if the outcome was unknown, and not if nothing was applied', async () => {
    const records = new MemoryRecords()
    const faulty = faultyRecords(records)
    const identity = await open(faulty)
    faulty.failCommit(1, 'after')
    await identity.rotateCheckpointKey()
    assert.equal(identity.keys.length, 2)
    faulty.failCommit(1, 'before')
    await assert.rejects(identity.rotateCheckpointKey(), { code: 'UNAVAILABLE' })
    assert.equal(identity.keys.length, 2)
    assert.equal(await records.logSize(), 2)
    assert.equal((await records.positionsOf([fromHex(identity.keys[1]?.entry ?? '') as Uint8Array]))[0], 1)
    assert.equal(toHex(await records.readLog(1, 1)), identity.keys[1]?.entry)
  })
})

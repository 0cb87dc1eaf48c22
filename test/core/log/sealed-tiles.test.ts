import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { concatBytes } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { nodeTable } from '../../support/node-table.ts'
import { SealerFixture } from '../../support/sealer-fixture.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('the sealed log in tiles', () => {
  /** Sealed. Entry 0 is the key. */
  let entries: readonly Uint8Array[]
  const bench = ofSuite(() => SealerFixture.open())
  before(async () => {
    const sealer = await bench().start()
    entries = [await bench().records.readLog(0, 1), ...(await bench().append(299))]
    await sealer.sealNow()
    await bench().append(10)
  })

  it('returns tiles and entry bundles as C2SP tlog-tiles defines them, only of sealed entries', async () => {
    const { reader } = bench()
    const hashes = concatBytes(...entries.slice(256).map(leafHash))
    assert.deepEqual((await reader.sealed.hashes(0, 1, 44))?.fill(0), new Uint8Array(hashes.length))
    assert.deepEqual(await reader.sealed.hashes(0, 1, 44), hashes, 'a caller can change its copy')
    assert.deepEqual(await reader.sealed.hashes(0, 1, 3), concatBytes(...entries.slice(256, 259).map(leafHash)))
    assert.equal(await reader.sealed.hashes(0, 1, 45), undefined)
    assert.deepEqual(await reader.sealed.hashes(1, 0, 1), nodeTable(entries)({ level: 8, index: 0 }))
    assert.equal(await reader.sealed.hashes(2, 0, 1), undefined)
    assert.deepEqual(await reader.sealed.packedEntries(1, 44), concatBytes(...entries.slice(256)))
    assert.equal(await reader.sealed.packedEntries(1, 45), undefined)
    const bundle = await reader.sealed.entries(0, 256)
    assert.deepEqual(bundle, concatBytes(...entries.slice(0, 256).flatMap((entry) => [Uint8Array.of(0, 32), entry])))
    const key = await reader.payloadOf(entries[0] as Uint8Array)
    assert.equal(key?.kind, 'key')
    assert.match(Buffer.from(key?.opening ?? []).toString(), /^er1\.key/)
    // The fixture appends events without a real opening.
    await assert.rejects(reader.payloadOf(entries[1] as Uint8Array), { code: 'CORRUPT' })
    const openings = await reader.sealed.openings(0, 256)
    assert.equal(openings?.length, 256)
    assert.deepEqual(openings?.[0], key?.opening)
    assert.equal(await reader.sealed.openings(1, 45), undefined)
  })

  it('throws for what the store has lost of the sealed tree instead of treating it as absent', async () => {
    const { records, reader } = bench()
    const batch = await reader.batchOf(0)
    assert.ok(batch)
    for (const key of [logKeys.tile(0, 1), logKeys.tile(1, 0), logKeys.batch(300)])
      await records.commit({ writes: [{ key, value: null }] })
    const fresh = new LogReader(
      decorateRecords(records, {
        // As stores return a block whose only row is lost.
        readLog: async () => new Uint8Array(),
        readPayloads: async () => [],
      }),
    )
    assert.ok(await fresh.sealed.hashes(0, 0, 256))
    for (const lost of [
      () => fresh.sealed.hashes(0, 1, 44),
      () => fresh.sealed.hashes(1, 0, 1),
      () => fresh.sealed.packedEntries(0, 256),
      () => fresh.sealed.entries(1, 44),
      () => fresh.sealed.openings(0, 256),
      () => fresh.batchById(batch.id),
    ])
      await assert.rejects(lost, { code: 'CORRUPT' }, String(lost))
    for (const absent of [
      fresh.sealed.hashes(0, 1, 45),
      fresh.sealed.hashes(0, 2, 1),
      fresh.sealed.hashes(1, 0, 2),
      fresh.sealed.hashes(2, 0, 1),
      fresh.sealed.entries(1, 45),
      fresh.sealed.openings(2, 1),
      fresh.batchById('x'),
    ])
      assert.equal(await absent, undefined)
  })
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { concatBytes } from '../../core/bytes.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import { logKeys } from '../../core/log/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { batchProofs, writeBatchProofs, type BatchProofs } from '../../sealer/index.ts'
import { SealerFixture } from '../support/sealer-fixture.ts'
import { present } from '../support/present.ts'

let fixture: SealerFixture
let batches: readonly BatchRecord[]

/** Makes the proofs in both ways, which must return the same pieces. */
async function all(batch: BatchRecord): Promise<readonly BatchProofs[]> {
  const request = { log: fixture.reader, batchId: batch.id }
  const pieces: BatchProofs[] = []
  let next = batch.start
  for await (const piece of batchProofs(request)) {
    assert.equal(piece.first, next)
    next = piece.end
    pieces.push(piece)
  }
  assert.equal(next, batch.end)
  const written: BatchProofs[] = []
  await writeBatchProofs({ ...request, write: (piece) => void written.push({ ...piece, bytes: piece.bytes.slice() }) })
  assert.deepEqual(written, pieces)
  return pieces
}

describe('the proofs of a batch', () => {
  before(async () => {
    fixture = await SealerFixture.open()
    const sealer = await fixture.start()
    const sealed: (BatchRecord | undefined)[] = []
    // One event beside the key's entry, up to and across the edges of tiles, more than one engine call, and a single
    // event.
    for (const count of [1, 254, 1, 700, 12_345, 1]) {
      await fixture.append(count)
      await sealer.sealNow()
      sealed.push(await fixture.reader.batchById((await fixture.reader.treeHead()).batchId ?? ''))
    }
    batches = sealed.filter((batch) => batch !== undefined)
  })

  after(async () => {
    await fixture.close()
  })

  it('are equal to those made one at a time', async () => {
    const { reader } = fixture
    for (const batch of batches)
      for (const { first, end, items, bytes } of await all(batch)) {
        const want: Uint8Array[] = []
        for (let leaf = first; leaf < end; leaf++) {
          const proof = await reader.inclusionProof(leaf, batch.end)
          assert.equal(proof.length, items)
          want.push(...proof)
        }
        assert.equal(Buffer.compare(bytes, concatBytes(...want)), 0, `leaves ${first} to ${end} of ${batch.end}`)
      }
  })

  it('are borrowed until write has settled, and not made before', async () => {
    const { id, start, end } = present(batches[4])
    const [want, views]: [Uint8Array[], Uint8Array[]] = [[], []]
    for await (const { bytes } of batchProofs({ log: fixture.reader, batchId: id })) want.push(bytes)
    let isBusy = false
    let leaves = 0
    await writeBatchProofs({
      log: fixture.reader,
      batchId: id,
      write: async (piece) => {
        assert.equal(isBusy, false)
        isBusy = true
        await new Promise(setImmediate)
        assert.deepEqual(piece.bytes, want[views.length])
        views.push(piece.bytes)
        leaves += piece.end - piece.first
        isBusy = false
      },
    })
    assert.equal(leaves, end - start)
    // All pieces use the same memory. Those of the stream belong to the reader.
    assert.equal(new Set(views.map(({ buffer }) => buffer)).size, 1)
    assert.notDeepEqual(views[0], want[0])
    assert.equal(new Set(want.map(({ buffer }) => buffer)).size, want.length)
  })

  it('can be written by several calls at the same time', async () => {
    const batch = present(batches[4])
    const sums = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const hash = createHash('sha256')
        const write = async ({ bytes }: BatchProofs): Promise<void> => {
          await new Promise(setImmediate)
          hash.update(bytes)
        }
        await writeBatchProofs({ log: fixture.reader, batchId: batch.id, write })
        return hash.digest('hex')
      }),
    )
    const pieces = await all(batch)
    const whole = createHash('sha256').update(concatBytes(...pieces.map(({ bytes }) => bytes)))
    assert.deepEqual(new Set(sums), new Set([whole.digest('hex')]))
  })

  it('read a bounded number of tiles ahead of a slow reader', async () => {
    const leafTiles = new Set(Array.from({ length: 100 }, (_, i) => logKeys.tile(0, i)))
    let [read, taken, most, open] = [0, 0, 0, 0]
    const counting = new Proxy(fixture.records, {
      get(records, name) {
        if (name !== 'get') {
          const value: unknown = Reflect.get(records, name)
          return typeof value === 'function' ? (value.bind(records) as unknown) : value
        }
        return async (wanted: readonly string[]) => {
          read += wanted.filter((key) => leafTiles.has(key)).length
          most = Math.max(most, read - taken)
          open++
          await new Promise(setImmediate)
          return records.get(wanted).finally(() => open--)
        }
      },
    })
    const batch = present(batches[4])
    const request = { log: new LogReader(counting), batchId: batch.id }
    for await (const _ of batchProofs(request)) {
      await new Promise(setImmediate)
      taken++
    }
    assert.ok(read >= 49, `${read} tiles`)
    assert.ok(most <= 36, `${most} ahead`)
    // A reader that stops may close the store: no read is open.
    for await (const _ of batchProofs(request)) break
    assert.equal(open, 0)
  })

  it('end if the reader stops, aborts or fails', async () => {
    const request = { log: fixture.reader, batchId: present(batches[4]).id }
    for await (const { bytes } of batchProofs(request)) {
      assert.ok(bytes.length > 0)
      break
    }
    const controller = new AbortController()
    const given = batchProofs({ ...request, signal: controller.signal })
    assert.equal((await given.next()).done, false)
    controller.abort()
    await assert.rejects(
      async () => {
        for (;;) if ((await given.next()).done === true) return
      },
      { name: 'AbortError' },
    )
    await assert.rejects(batchProofs({ ...request, signal: AbortSignal.abort() }).next(), { name: 'AbortError' })
    let calls = 0
    const write = async (): Promise<void> => {
      if (++calls === 3) throw new Error('full')
    }
    await assert.rejects(writeBatchProofs({ ...request, write }), { message: 'full' })
    assert.equal(calls, 3)
    const other = new AbortController()
    const abort = (): void => other.abort()
    await assert.rejects(writeBatchProofs({ ...request, write: abort, signal: other.signal }), { name: 'AbortError' })
  })

  it('throw BATCH_NOT_FOUND for an unknown batch, and CORRUPT if a tile is damaged', async () => {
    const of = (batchId: string) => batchProofs({ log: fixture.reader, batchId }).next()
    await assert.rejects(of('0'), { code: 'BATCH_NOT_FOUND' })
    const key = logKeys.tile(0, 2)
    const [tile] = await fixture.records.get([key])
    assert.ok(tile)
    await fixture.records.commit({ writes: [{ key, value: new Uint8Array(33) }] })
    await assert.rejects(of(present(batches[3]).id), { code: 'CORRUPT' })
    await fixture.records.commit({ writes: [{ key, value: tile.value }] })
    assert.equal((await of(present(batches[3]).id)).done, false)
  })
})

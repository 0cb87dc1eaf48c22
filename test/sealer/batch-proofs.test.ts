import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { concatBytes } from '../../core/bytes.ts'
import type { BatchRecord } from '../../core/log/records.ts'
import { logKeys } from '../../core/log/keys.ts'
import { LogReader } from '../../core/log/reader.ts'
import { writeBatchProofs, type BatchProofs, type WriteBatchProofsRequest } from '../../sealer/index.ts'
import { arrayOf } from '../support/array-of.ts'
import { countTurns } from '../support/count-turns.ts'
import { SealerFixture } from '../support/sealer-fixture.ts'
import { present } from '../support/present.ts'

let fixture: SealerFixture
let batches: readonly BatchRecord[]

const logOf = (reader: LogReader): WriteBatchProofsRequest['log'] => ({
  batchById: (id) => reader.batchById(id),
  proofBlocks: (range) => reader.tree.proofBlocks(range),
})

/** The pieces, each with bytes of its own. */
async function copiesOf(request: Omit<WriteBatchProofsRequest, 'write'>): Promise<readonly BatchProofs[]> {
  const pieces: BatchProofs[] = []
  const write = (piece: BatchProofs) => void pieces.push({ ...piece, bytes: piece.bytes.slice() })
  await writeBatchProofs({ ...request, write })
  return pieces
}

async function all(batch: BatchRecord): Promise<readonly BatchProofs[]> {
  const pieces = await copiesOf({ log: logOf(fixture.reader), batchId: batch.id })
  const edges = [batch.start, ...pieces.map(({ end }) => end)]
  assert.deepEqual([...pieces.map(({ first }) => first), batch.end], edges)
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
      await fixture.seal(sealer, count)
      sealed.push(await fixture.reader.batchById((await fixture.reader.tree.head()).batchId ?? ''))
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
          const proof = await reader.tree.inclusionProof(leaf, batch.end)
          assert.equal(proof.length, items)
          want.push(...proof)
        }
        assert.equal(Buffer.compare(bytes, concatBytes(...want)), 0, `leaves ${first} to ${end} of ${batch.end}`)
      }
  })

  it('are borrowed until write has settled, and not made before', async () => {
    const { id, start, end } = present(batches[4])
    const want = (await copiesOf({ log: logOf(fixture.reader), batchId: id })).map(({ bytes }) => bytes)
    const views: Uint8Array[] = []
    let isBusy = false
    let leaves = 0
    await writeBatchProofs({
      log: logOf(fixture.reader),
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
    // All pieces use the same memory.
    assert.equal(new Set(views.map(({ buffer }) => buffer)).size, 1)
    assert.notDeepEqual(views[0], want[0])
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
        await writeBatchProofs({ log: logOf(fixture.reader), batchId: batch.id, write })
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
    const request = { log: logOf(new LogReader(counting)), batchId: batch.id }
    const write = async (): Promise<void> => {
      await new Promise(setImmediate)
      taken++
    }
    await writeBatchProofs({ ...request, write })
    assert.ok(read >= 49, `${read} tiles`)
    assert.ok(most <= 36, `${most} ahead`)
    // A reader that stops may close the store: no read is open.
    const stop = (): never => {
      throw new Error('enough')
    }
    await assert.rejects(writeBatchProofs({ ...request, write: stop }), { message: 'enough' })
    assert.equal(open, 0)
  })

  it('leave the event loop to others, also if they are read without a pause', async (t) => {
    const batch = present(batches.at(-2))
    const { start: from, end: to } = batch
    const read = await arrayOf(fixture.reader.tree.proofBlocks({ from, to, treeSize: to }))
    const log: WriteBatchProofsRequest['log'] = {
      batchById: async () => batch,
      async *proofBlocks() {
        for (let i = 0; i < 4; i++) yield* read
      },
    }
    const turn = countTurns(t)
    const turns = new Set<number>()
    await writeBatchProofs({ log, batchId: batch.id, write: () => void turns.add(turn()) })
    assert.ok(turns.size > 1)
  })

  it('end if the reader aborts or fails', async () => {
    const request = { log: logOf(fixture.reader), batchId: present(batches[4]).id }
    await assert.rejects(copiesOf({ ...request, signal: AbortSignal.abort() }), { name: 'AbortError' })
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
    const of = (batchId: string) => copiesOf({ log: logOf(fixture.reader), batchId })
    await assert.rejects(of('0'), { code: 'BATCH_NOT_FOUND' })
    const key = logKeys.tile(0, 2)
    const [tile] = await fixture.records.get([key])
    assert.ok(tile)
    await fixture.records.commit({ writes: [{ key, value: new Uint8Array(33) }] })
    await assert.rejects(of(present(batches[3]).id), { code: 'CORRUPT' })
    await fixture.records.commit({ writes: [{ key, value: tile.value }] })
    assert.ok((await of(present(batches[3]).id)).length > 0)
  })
})

import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { MemoryRecords } from '../../adapters/memory/index.ts'
import { LogReader } from '../../core/log/reader.ts'
import { fromBase64 } from '../../core/bytes.ts'
import { encodeRecord } from '../../core/store/record-codec.ts'
import { logKeys } from '../../core/log/keys.ts'
import type { ConfirmedAnchorRecord } from '../../core/log/records.ts'
import type { RecordStore, Sealer } from '../../core/ports.ts'
import type { SealerOptions } from '../../sealer/index.ts'
import { rebuildFrontierWrites, addToFrontierWrites } from '../../sealer/anchor-frontier.ts'
import { FaultyRecords } from '../support/faulty-records.ts'
import { recordsOf, SealerFixture } from '../support/sealer-fixture.ts'
import { ScriptedChain, type Step } from '../support/scripted-chain.ts'

const benches: SealerFixture[] = []

interface Scene {
  readonly bench: SealerFixture
  readonly chain: ScriptedChain
  readonly sealer: Sealer
  /** Appends an event, seals it, and answers the tree's size. */
  seal(): Promise<number>
}

async function openScene(
  records?: (records: RecordStore) => RecordStore,
  options: Pick<SealerOptions, 'anchorIntervalMs' | 'anchorReplaceAfterMs'> = {},
): Promise<Scene> {
  const bench = await SealerFixture.open()
  benches.push(bench)
  const chain = new ScriptedChain()
  const sealer = await bench.start({ anchor: chain, ...options }, records?.(bench.records) ?? bench.records)
  const seal = async (): Promise<number> => {
    await bench.append(1)
    await sealer.sealNow()
    await bench.clock.advance(1)
    return (await bench.reader.treeHead()).size
  }
  return { bench, chain, sealer, seal }
}

/** Blocks and polls until the chain has said all that it has to say. */
async function confirm({ bench, chain }: Pick<Scene, 'bench' | 'chain'>, rounds = 8): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await bench.clock.advance(2_000)
    chain.mine()
  }
  await bench.clock.advance(2_000)
}

describe('anchoring', () => {
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })

  it('prepares, stores, sends and confirms; the batch goes from pending to sent to confirmed', async () => {
    const scene = await openScene()
    const { bench, chain, sealer } = scene
    const [txId] = await bench.append(1)
    const statusOf = async (): Promise<unknown> =>
      (await bench.reader.entryStatuses([txId as Uint8Array]))[0]?.sendStatus
    assert.equal(await statusOf(), null)
    chain.isDown = true
    await sealer.sealNow()
    assert.equal(await statusOf(), 'P')
    chain.isDown = false
    await bench.clock.advance(1_000)
    assert.equal(await statusOf(), 'S')
    chain.mine(2)
    await bench.clock.advance(2_000)
    assert.equal(await statusOf(), 'S')
    chain.mine()
    await bench.clock.advance(2_000)
    assert.equal(await statusOf(), 'C')
    const anchor = await bench.reader.anchorCovering(2)
    assert.equal(anchor?.checkpoint, (await bench.reader.checkpoint(2))?.note)
    assert.deepEqual(
      [anchor?.state, anchor?.info, anchor?.confirmation?.blockNumber, anchor?.confirmation?.evidence],
      ['confirmed', chain.info, 1, 'AQ=='],
    )
    assert.deepEqual(await bench.reader.blockNumbersOf([0, 1, 2]), [1, 1, undefined])
    assert.deepEqual([sealer.status().anchoredSize, chain.mined], [2, 1])
    assert.deepEqual(sealer.assurance, { time: 'none', anchor: 'independent' })
  })

  it('has one outstanding at a time, then anchors the newest', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    for (let i = 0; i < 5; i++) await scene.seal()
    assert.equal(chain.prepared.length, 1)
    assert.equal((await bench.reader.anchorHead()).outstanding, 2)
    await confirm(scene)
    assert.equal(chain.prepared.length, 2)
    assert.deepEqual(await bench.reader.anchorHead(), {
      confirmedSize: 6,
      sentSize: 6,
      outstanding: null,
      unsettled: [2, 6],
    })
    assert.equal((await bench.reader.anchorCovering(3))?.size, 6)
  })

  it('anchors no more often than its interval', async () => {
    const scene = await openScene(undefined, { anchorIntervalMs: 600_000 })
    await scene.seal()
    await scene.seal()
    await confirm(scene)
    assert.equal(scene.chain.prepared.length, 1)
    await scene.bench.clock.advance(600_000)
    assert.equal(scene.chain.prepared.length, 2)
  })

  it('holds up no batch while the chain is down, and anchors the newest once it is back', async () => {
    const scene = await openScene()
    const { bench, chain, sealer } = scene
    chain.isDown = true
    for (let i = 0; i < 10; i++) {
      await scene.seal()
      await bench.clock.advance(60_000)
    }
    assert.equal((await bench.reader.treeHead()).size, 11)
    const { count, lastCode } = sealer.status().failures.anchor
    assert.equal(lastCode, 'ANCHOR_FAILED')
    assert.ok(count >= 8 && count <= 40, `${count} tries in ten minutes`)
    chain.isDown = false
    await bench.clock.advance(120_000)
    await confirm(scene)
    assert.equal(sealer.status().anchoredSize, 11)
    assert.equal(chain.prepared.length, 1)
    assert.equal(sealer.status().failures.seal.count, 0)
  })

  it('pays once, whichever call fails, before or after it took effect', async () => {
    for (const step of ['prepare', 'broadcast', 'status'] as const satisfies readonly Step[])
      for (const fault of ['before', 'after'] as const) {
        const scene = await openScene()
        scene.chain.fail(step, fault)
        await scene.seal()
        await confirm(scene)
        assert.equal(scene.chain.mined, 1, `${step} ${fault}`)
        assert.equal(scene.sealer.status().anchoredSize, 2, `${step} ${fault}`)
      }
  })

  it('pays once, whichever commit fails, applied or not, also where a new process goes on', async () => {
    for (const isRestarted of [false, true])
      for (const fault of ['before', 'after'] as const)
        // Batch and checkpoint; then prepared, sent, confirmed.
        for (const nth of [3, 4, 5]) {
          let faulty: FaultyRecords | undefined
          const scene = await openScene((records) => (faulty = new FaultyRecords(records)))
          const { bench, chain, sealer } = scene
          faulty?.failCommit(nth, fault)
          await bench.append(1)
          await sealer.sealNow()
          for (let i = 0; i < 6 && sealer.status().failures.anchor.count === 0; i++) {
            await bench.clock.advance(100)
            chain.mine()
            await bench.clock.advance(1_000)
          }
          assert.equal(sealer.status().failures.anchor.count, 1)
          if (isRestarted) {
            await sealer.close()
            await bench.start({ anchor: chain })
          }
          await confirm(scene)
          assert.equal(chain.mined, 1, `commit ${nth} ${fault}`)
          assert.deepEqual(await bench.reader.anchorHead(), {
            confirmedSize: 2,
            sentSize: 2,
            outstanding: null,
            unsettled: [2],
          })
          assert.equal((await bench.reader.anchor(2))?.transactions.length, 1)
        }
  })

  it('sends the same bytes again where the chain dropped them', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    const ref = chain.broadcasts[0] as string
    chain.drop(ref)
    await bench.clock.advance(2_000)
    assert.deepEqual(new Set(chain.broadcasts), new Set([ref]))
    assert.ok(chain.broadcasts.length >= 2)
    await confirm(scene)
    assert.equal((await bench.reader.anchor(2))?.confirmation?.ref, ref)
    assert.equal(chain.prepared.length, 1)
  })

  it('sends them again after a reorganisation, and records the block of the chain that stays', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    chain.mine(2)
    await bench.clock.advance(1_000)
    chain.reorganise(2)
    chain.height += 10
    await confirm(scene)
    const { confirmation } = (await bench.reader.anchor(2)) ?? {}
    assert.ok((confirmation?.blockNumber ?? 0) > 10)
    assert.equal(chain.prepared.length, 1)
  })

  it('prepares another where the first can never be included, naming what it replaces', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    const first = chain.broadcasts[0] as string
    chain.kill(first)
    await confirm(scene)
    assert.deepEqual(
      chain.prepared.map(({ replaces }) => replaces),
      [[], [first]],
    )
    const anchor = await bench.reader.anchor(2)
    assert.equal(anchor?.transactions.length, 2)
    assert.notEqual(anchor?.confirmation?.ref, first)
    assert.equal(anchor?.state, 'confirmed')
  })

  it('sends the last of them where the chain forgot them all', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    const first = chain.broadcasts[0] as string
    chain.kill(first)
    await bench.clock.advance(2_000)
    const second = chain.broadcasts.at(-1) as string
    chain.drop(first)
    chain.drop(second)
    await confirm(scene)
    assert.equal((await bench.reader.anchor(2))?.confirmation?.ref, second)
    assert.equal(chain.mined, 1)
  })

  it('goes on where the chain refuses what it took already', async () => {
    const scene = await openScene()
    const { chain, sealer } = scene
    chain.rejectsKnown = true
    chain.fail('broadcast', 'after')
    chain.fail('status', 'before')
    await scene.seal()
    await confirm(scene)
    assert.equal(sealer.status().anchoredSize, 2)
    assert.equal(sealer.status().failures.anchor.count, 1)
  })

  it('finds the original where that was mined, not its replacement', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    const first = chain.broadcasts[0] as string
    chain.kill(first)
    await bench.clock.advance(2_000)
    const second = chain.broadcasts.at(-1) as string
    assert.notEqual(second, first)
    // The chain changed its mind: the second is dead, and the first, forgotten, can be sent again.
    chain.kill(second)
    chain.drop(first)
    await confirm(scene)
    assert.equal((await bench.reader.anchor(2))?.confirmation?.ref, first)
  })

  it('gives up an anchor that can never be included where a newer checkpoint covers it', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    await scene.seal()
    chain.kill(chain.broadcasts[0] as string)
    await confirm(scene)
    assert.equal((await bench.reader.anchor(2))?.state, 'lost')
    assert.equal((await bench.reader.anchorCovering(2))?.size, 3)
    assert.deepEqual(
      chain.prepared.map(({ replaces }) => replaces),
      [[], []],
    )
    assert.deepEqual(await bench.reader.anchorHead(), {
      confirmedSize: 3,
      sentSize: 3,
      outstanding: null,
      unsettled: [3],
    })
  })

  it('replaces what is stuck once it is old, and keeps both', async () => {
    const scene = await openScene(undefined, { anchorReplaceAfterMs: 60_000 })
    const { bench, chain } = scene
    chain.isStuck = true
    await scene.seal()
    await bench.clock.advance(50_000)
    assert.equal(chain.prepared.length, 1)
    await bench.clock.advance(20_000)
    assert.deepEqual(
      chain.prepared.map(({ replaces }) => replaces.length),
      [0, 1],
    )
    const { state, transactions } = (await bench.reader.anchor(2)) ?? {}
    assert.deepEqual([state, transactions?.length], ['sent', 2])
    assert.equal((await bench.reader.anchorHead()).sentSize, 2, 'it was sent all the time')
    chain.isStuck = false
    await confirm(scene)
    assert.deepEqual(await bench.reader.anchorHead(), {
      confirmedSize: 2,
      sentSize: 2,
      outstanding: null,
      unsettled: [2],
    })
  })

  it('replaces what is refused once it is old, though no node knows of it', async () => {
    const scene = await openScene(undefined, { anchorReplaceAfterMs: 60_000 })
    const { bench, chain, sealer } = scene
    chain.rejectsAll = true
    await scene.seal()
    await bench.clock.advance(30_000)
    assert.equal(chain.prepared.length, 1)
    assert.equal(sealer.status().failures.anchor.lastCode, 'ANCHOR_FAILED')
    await bench.clock.advance(240_000)
    assert.ok(chain.prepared.length > 1)
    chain.rejectsAll = false
    await bench.clock.advance(120_000)
    await confirm(scene)
    assert.equal(sealer.status().anchoredSize, 2)
    assert.equal(chain.mined, 1)
  })

  it('anchors again what was confirmed and then reorganised away', async () => {
    const scene = await openScene()
    const { bench, chain, sealer } = scene
    await scene.seal()
    await confirm(scene)
    const ref = (await bench.reader.anchor(2))?.confirmation?.ref
    chain.reorganise(8)
    await bench.clock.advance(20_000)
    assert.deepEqual(await bench.reader.anchorHead(), {
      confirmedSize: 0,
      sentSize: 2,
      outstanding: 2,
      unsettled: [],
    })
    const { state, confirmation } = (await bench.reader.anchor(2)) ?? {}
    assert.deepEqual([state, confirmation], ['sent', undefined])
    assert.deepEqual(await bench.reader.blockNumbersOf([0, 1]), [undefined, undefined])
    assert.equal(sealer.status().anchoredSize, 0)
    await confirm(scene)
    assert.equal((await bench.reader.anchor(2))?.confirmation?.ref, ref)
    assert.deepEqual(await recordsOf(bench.records, 'ac').then(({ size }) => size), 1)
    assert.equal(chain.prepared.length, 1)
  })

  it('gives the block that it has now to what was moved, and lets go what a later one covers', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await scene.seal()
    await confirm(scene)
    await scene.seal()
    await confirm(scene)
    const [first, second] = chain.broadcasts as [string, string]
    assert.notEqual(first, second)
    // Only the second is in the new branch.
    chain.reorganise(chain.height)
    chain.height = 5
    await chain.broadcast((await rawOf(bench, 3)) as Uint8Array)
    chain.mine(4)
    await bench.clock.advance(20_000)
    const [lost, moved] = [await bench.reader.anchor(2), await bench.reader.anchor(3)]
    assert.deepEqual([lost?.state, lost?.confirmation], ['lost', undefined])
    assert.deepEqual([moved?.state, moved?.confirmation?.blockNumber], ['confirmed', 6])
    assert.deepEqual(await bench.reader.blockNumbersOf([0, 1, 2]), [6, 6, 6])
    assert.deepEqual(await bench.reader.anchorHead(), {
      confirmedSize: 3,
      sentSize: 3,
      outstanding: null,
      unsettled: [3],
    })
    assert.equal((await bench.reader.anchorCovering(1))?.size, 3)
  })

  it('asks no more after what is settled', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    for (let i = 0; i < 3; i++) {
      await scene.seal()
      await confirm(scene)
    }
    chain.height += 20
    await bench.clock.advance(20_000)
    assert.deepEqual((await bench.reader.anchorHead()).unsettled, [])
    // It would be noticed by the next look, and there is none.
    chain.reorganise(chain.height)
    await bench.clock.advance(60_000)
    assert.equal((await bench.reader.anchorHead()).confirmedSize, 4)
  })

  it('goes on where the chain is another than before, and leaves what that one confirmed', async () => {
    for (const isNewer of [false, true]) {
      const scene = await openScene()
      const { bench, chain, sealer } = scene
      await scene.seal()
      await confirm(scene)
      await scene.seal()
      assert.equal((await bench.reader.anchorHead()).outstanding, 3)
      if (isNewer) await scene.seal()
      await sealer.close()
      const other = new ScriptedChain('another')
      await bench.start({ anchor: other })
      await confirm({ bench, chain: other }, 14)
      const size = isNewer ? 4 : 3
      assert.deepEqual(await bench.reader.anchorHead(), {
        confirmedSize: size,
        sentSize: size,
        outstanding: null,
        unsettled: [size],
      })
      const [old, anchor] = [await bench.reader.anchor(2), await bench.reader.anchor(size)]
      assert.deepEqual([old?.state, old?.info.network], ['confirmed', 'test'])
      assert.deepEqual([anchor?.state, anchor?.info.network], ['confirmed', 'another'])
      assert.equal((await bench.reader.anchor(3))?.state, isNewer ? 'lost' : 'confirmed')
      assert.equal(other.mined, 1)
      assert.equal(chain.mined, 1)
    }
  })

  it('anchors each checkpoint once where two sealers share a chain', async () => {
    const scene = await openScene()
    const { bench, chain } = scene
    await bench.start({ anchor: chain })
    for (let i = 0; i < 4; i++) {
      await scene.seal()
      await confirm(scene, 4)
    }
    const anchors = await recordsOf(bench.records, 'an')
    assert.equal(anchors.size, 4)
    assert.equal(chain.mined, 4)
    assert.equal((await bench.reader.anchorHead()).confirmedSize, 5)
  })

  it('finishes its step when it is closed, and closes the chain', async () => {
    const scene = await openScene()
    await scene.seal()
    await scene.bench.close()
    assert.ok(scene.chain.isClosed)
    assert.equal(scene.bench.clock.sleeping, 0)
  })
})

describe('the staircase of confirmed anchors', () => {
  it('finds the lowest block that covers a size, whatever came in which order', async () => {
    const anchor = fc.record({ size: fc.integer({ min: 1, max: 40 }), blockNumber: fc.integer({ min: 1, max: 20 }) })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anchor, { selector: ({ size }) => size, maxLength: 20 }), async (anchors) => {
        const records = new MemoryRecords()
        for (const each of anchors) await records.commit({ writes: await addToFrontierWrites(records, each) })
        const reader = new LogReader(records)
        const positions = Array.from({ length: 41 }, (_, i) => i)
        const expected = positions.map((position) => {
          const blocks = anchors.filter(({ size }) => size > position).map(({ blockNumber }) => blockNumber)
          return blocks.length === 0 ? undefined : Math.min(...blocks)
        })
        assert.deepEqual(await reader.blockNumbersOf(positions), expected)
        const steps = anchors.filter(
          ({ size, blockNumber }) => !anchors.some((other) => other.size > size && other.blockNumber <= blockNumber),
        )
        assert.deepEqual(
          new Set((await recordsOf(records, 'ac')).keys()),
          new Set(steps.map(({ size }) => logKeys.confirmedAnchor(size))),
        )
      }),
    )
  })

  it('is the same after a reorganisation as if it had been built anew', async () => {
    const block = fc.integer({ min: 10, max: 30 })
    const anchor = fc.record({
      size: fc.integer({ min: 20, max: 60 }),
      blockNumber: block,
      now: fc.option(block),
    })
    const settled = fc.record({ size: fc.integer({ min: 1, max: 40 }), blockNumber: fc.integer({ min: 1, max: 9 }) })
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(settled, { selector: ({ size }) => size, maxLength: 5 }),
        fc.uniqueArray(anchor, { selector: ({ size }) => size, minLength: 1, maxLength: 12 }),
        async (below, anchors) => {
          const unsettled = anchors.filter(({ size }) => below.every((each) => each.size !== size))
          fc.pre(unsettled.length > 0)
          const build = async (all: readonly ConfirmedAnchorRecord[]): Promise<RecordStore> => {
            const records = new MemoryRecords()
            for (const { size, blockNumber } of all)
              await records.commit({ writes: await addToFrontierWrites(records, { size, blockNumber }) })
            return records
          }
          const standing = unsettled.flatMap(({ size, now }) => (now === null ? [] : [{ size, blockNumber: now }]))
          const records = await build([...below, ...unsettled])
          const sizes = unsettled.map(({ size }) => size)
          await records.commit({ writes: await rebuildFrontierWrites(records, sizes, standing) })
          const expected = await build([...below, ...standing])
          assert.deepEqual(await recordsOf(records, 'ac'), await recordsOf(expected, 'ac'))
        },
      ),
    )
  })

  it('is where anchorCovering looks first', async () => {
    const records = new MemoryRecords()
    await records.commit({ writes: await addToFrontierWrites(records, { size: 10, blockNumber: 7 }) })
    await records.commit({ writes: [{ key: logKeys.anchor(10), value: encodeRecord({ size: 10 }) }] })
    const reader = new LogReader(records)
    assert.equal((await reader.anchorCovering(4))?.size, 10)
    assert.equal((await reader.anchorCovering(10))?.size, 10)
    assert.equal(await reader.anchorCovering(11), undefined)
  })
})

async function rawOf({ reader }: SealerFixture, size: number): Promise<Uint8Array | undefined> {
  const raw = (await reader.anchor(size))?.transactions[0]?.raw
  return raw === undefined ? undefined : fromBase64(raw)
}

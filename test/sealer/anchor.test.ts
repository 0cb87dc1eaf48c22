import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fromBase64 } from '../../core/bytes.ts'
import { logKeys } from '../../core/log/keys.ts'
import type { AnchorHeadRecord } from '../../core/log/records.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import { decorateRecords } from '../../core/store/decorate.ts'
import { listEntries } from '../../core/store/read.ts'
import type { RecordStore } from '../../core/ports/index.ts'
import { confirmForeignUse, type SealerOptions } from '../../sealer/index.ts'
import { faultyRecords, type FaultyRecords } from '../support/faulty-records.ts'
import { recordsOf, type SealerFixture, sealerFixtures } from '../support/sealer-fixture.ts'
import { ScriptedChain } from '../support/scripted-chain.ts'
import { present } from '../support/present.ts'

describe('anchoring', () => {
  const { open } = sealerFixtures()

  /** A log that is anchored on a chain of the test. */
  async function openAnchorFixture(
    records?: (records: RecordStore) => RecordStore,
    options: Pick<SealerOptions, 'anchorIntervalMs' | 'anchorReplaceAfterMs'> = {},
  ) {
    const sealing = await open()
    const chain = new ScriptedChain()
    const sealer = await sealing.start({ anchor: chain, ...options }, records?.(sealing.records) ?? sealing.records)
    /** Appends an event, seals it, and returns the tree's size. */
    const seal = async (): Promise<number> => {
      await sealing.seal(sealer, 1)
      await sealing.clock.advance(1)
      return (await sealing.reader.tree.head()).size
    }
    /** Mines blocks and lets the sealer poll, until all anchors can be confirmed. */
    const confirm = async (rounds = 8, on = chain): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        await sealing.clock.advance(2_000)
        on.mine()
      }
      await sealing.clock.advance(2_000)
    }
    return {
      sealing,
      chain,
      sealer,
      seal,
      confirm,
      sealAndConfirm: async (): Promise<void> => {
        await seal()
        await confirm()
      },
      head: async (): Promise<Omit<AnchorHeadRecord, 'accounts'>> => {
        const { accounts: _, ...head } = await sealing.reader.anchorHead()
        return head
      },
    }
  }

  it('prepares, stores, sends and confirms; the batch status goes from P to S to C', async () => {
    const { sealing, chain, sealer } = await openAnchorFixture()
    const [txId] = await sealing.append(1)
    const statusOf = async (): Promise<unknown> => (await sealing.reader.entryStatuses([present(txId)]))[0]?.sendStatus
    assert.equal(await statusOf(), null)
    chain.isDown = true
    await sealer.sealNow()
    assert.equal(await statusOf(), 'P')
    chain.isDown = false
    await sealing.clock.advance(1_000)
    assert.equal(await statusOf(), 'S')
    chain.mine(2)
    await sealing.clock.advance(2_000)
    assert.equal(await statusOf(), 'S')
    chain.mine()
    await sealing.clock.advance(2_000)
    assert.equal(await statusOf(), 'C')
    const anchor = await sealing.reader.anchorCovering(2)
    assert.equal(anchor?.checkpoint, (await sealing.reader.checkpoints.ofSize(2))?.note)
    assert.deepEqual(
      [anchor?.state, anchor?.info, anchor?.confirmation?.blockNumber, anchor?.confirmation?.evidence],
      ['confirmed', chain.info, 1, 'AQ=='],
    )
    assert.deepEqual(await (await sealing.reader.anchors()).blocksOf([0, 1, 2]), [1, 1, undefined])
    assert.deepEqual([sealer.status().anchoredSize, chain.mined], [2, 1])
    assert.deepEqual(sealer.assurance, { time: 'none', anchor: 'independent' })
  })

  it('has one outstanding anchor at a time, then anchors the newest checkpoint', async () => {
    const { sealing, chain, seal, confirm, head } = await openAnchorFixture()
    for (let i = 0; i < 5; i++) await seal()
    assert.equal(chain.prepared.length, 1)
    assert.equal((await sealing.reader.anchorHead()).outstanding, 2)
    await confirm()
    assert.equal(chain.prepared.length, 2)
    assert.deepEqual(await head(), { confirmedSize: 6, sentSize: 6, outstanding: null, unsettled: [2, 6] })
    assert.equal((await sealing.reader.anchorCovering(3))?.size, 6)
  })

  it('says once that others have used the account, until that is confirmed, and goes on', async () => {
    const { sealing, chain, sealer: first, sealAndConfirm, confirm } = await openAnchorFixture()
    await sealAndConfirm()
    await first.close()
    const ownBefore = [...chain.broadcasts]
    chain.foreignUse = { message: 'The account was used', uses: 2 }

    const sealer = await sealing.start({ anchor: chain })
    await sealing.seal(sealer, 1)
    await sealing.clock.advance(600_000)
    assert.deepEqual(chain.ownRefs, ownBefore)
    await confirm()
    const { hasAccountConflict, anchoredSize, failures } = sealer.status()
    assert.deepEqual([hasAccountConflict, anchoredSize, failures.anchor.count], [true, 3, 0])
    const errors = (): number => sealing.lines.filter(({ level }) => level === 'error').length
    assert.equal(errors(), 1)

    const confirmed = confirmForeignUse({ anchor: chain, records: sealing.records }, new AbortController().signal)
    assert.deepEqual(await confirmed, chain.foreignUse)
    await sealing.clock.advance(10_000)
    assert.equal(sealer.status().hasAccountConflict, false)
    await sealer.close()

    // It stays confirmed, until the account is used again.
    const later = await sealing.start({ anchor: chain })
    await sealing.clock.advance(10_000)
    assert.deepEqual([later.status().hasAccountConflict, errors()], [false, 1])
    await later.close()
    chain.foreignUse = { message: 'The account was used again', uses: 3 }
    const last = await sealing.start({ anchor: chain })
    await sealing.clock.advance(10_000)
    assert.deepEqual([last.status().hasAccountConflict, errors()], [true, 2])
  })

  it('keeps a confirmed anchor whose block the chain has deleted, and replaces another one', async () => {
    const { sealing, chain, sealer, seal, confirm, head } = await openAnchorFixture()
    const size = await seal()
    await confirm()
    const confirmed = await sealing.reader.anchorCovering(size)
    assert.deepEqual((await head()).unsettled, [size])
    chain.isPruned = true
    await sealing.clock.advance(600_000)
    assert.deepEqual([await sealing.reader.anchorCovering(size), (await head()).unsettled], [confirmed, []])

    await seal()
    chain.mine()
    await sealing.clock.advance(60_000)
    assert.ok(chain.prepared.length > 2)
    chain.isPruned = false
    await confirm()
    assert.equal(sealer.status().anchoredSize, size + 1)
  })

  it('waits for the interval between two anchors', async () => {
    const { sealing, chain, sealAndConfirm, seal } = await openAnchorFixture(undefined, { anchorIntervalMs: 600_000 })
    await seal()
    await sealAndConfirm()
    assert.equal(chain.prepared.length, 1)
    await sealing.clock.advance(600_000)
    assert.equal(chain.prepared.length, 2)
  })

  for (const [seconds, transactions] of [
    [2, 3],
    [59, 3],
    [7_200, 4],
  ] as const)
    it(`costs no further transaction within an interval if the clock is set back by ${seconds} s`, async () => {
      const { sealing, chain, sealAndConfirm, seal } = await openAnchorFixture(undefined, {
        anchorIntervalMs: 60_000,
        anchorReplaceAfterMs: 30_000,
      })
      await seal()
      sealing.clock.set(sealing.clock.now() - seconds * 1_000)
      for (let i = 0; i < 8; i++) await sealAndConfirm()
      // In 144 s: one at once, then one each minute, and the one that a clock two hours ahead does not delay.
      assert.equal(chain.broadcasts.length, transactions)
      assert.equal(chain.mined, transactions)
    })

  it('says that no anchor is made for three intervals, also after a restart, unless blocks confirm one', async () => {
    const { sealing, chain, sealer, seal } = await openAnchorFixture(undefined, { anchorIntervalMs: 60_000 })
    const advance = (intervals: number): Promise<void> => sealing.clock.advance(intervals * 60_000)
    await seal()
    await advance(2.9)
    chain.mine()
    await advance(2)
    assert.deepEqual(sealer.status().currentFailures, [])
    await advance(2)
    assert.deepEqual(sealer.status().currentFailures, ['ANCHOR_OVERDUE'])
    await sealer.close()
    const restarted = await sealing.start({ anchor: chain, anchorIntervalMs: 60_000 })
    await advance(0.9)
    assert.deepEqual(restarted.status().currentFailures, [])
    await advance(0.6)
    assert.deepEqual(restarted.status().currentFailures, [], 'it has to see an interval itself')
    await advance(0.5)
    assert.deepEqual(restarted.status().currentFailures, ['ANCHOR_OVERDUE'])
    chain.mine(3)
    await advance(1)
    assert.deepEqual(restarted.status().currentFailures, [])
  })

  it('makes no anchor for receipts of erasures alone, and says that only the next event waits', async () => {
    const { sealing, chain, sealer, sealAndConfirm, seal } = await openAnchorFixture(undefined, {
      anchorIntervalMs: 60_000,
    })
    await sealAndConfirm()
    await sealing.erase(1)
    await sealer.sealNow()
    await sealing.clock.advance(600_000)
    const { currentFailures, oldestUnanchoredAt } = sealer.status()
    assert.deepEqual([chain.prepared.length, currentFailures, oldestUnanchoredAt], [1, [], null])
    await seal()
    await sealing.clock.advance(120_000)
    assert.equal(sealer.status().oldestUnanchoredAt, sealer.lastBatchAt)
    assert.deepEqual([chain.prepared.length, sealer.status().currentFailures], [2, []])
  })

  it('does not say so in a sealer that only waits for the lease, and sees no confirmations', async () => {
    const shared = (records: RecordStore): RecordStore => decorateRecords(records, { isShared: true })
    const options = { anchorIntervalMs: 60_000 }
    const { sealing, chain, sealer, seal } = await openAnchorFixture(shared, options)
    await sealing.clock.advance(1_000)
    const waiting = await sealing.start({ anchor: chain, ...options }, shared(sealing.records))
    await seal()
    for (let i = 0; i < 2; i++) {
      await sealing.clock.advance(150_000)
      chain.mine()
    }
    await sealing.clock.advance(90_000)
    assert.deepEqual(
      [sealer, waiting].map((each) => each.status().currentFailures),
      [[], []],
    )
    await sealing.clock.advance(240_000)
    assert.deepEqual(
      [sealer, waiting].map((each) => each.status().currentFailures),
      [['ANCHOR_OVERDUE'], []],
    )
  })

  it('delays no batch while the chain is down, and anchors the newest checkpoint when it is up again', async () => {
    const { sealing, chain, sealer, seal, confirm } = await openAnchorFixture()
    chain.isDown = true
    for (let i = 0; i < 10; i++) {
      await seal()
      await sealing.clock.advance(60_000)
    }
    assert.equal((await sealing.reader.tree.head()).size, 11)
    const { count, lastCode } = sealer.status().failures.anchor
    assert.equal(lastCode, 'ANCHOR_FAILED')
    assert.ok(count >= 8 && count <= 40, `${count} attempts in ten minutes`)
    chain.isDown = false
    await sealing.clock.advance(120_000)
    await confirm()
    assert.equal(sealer.status().anchoredSize, 11)
    assert.equal(chain.prepared.length, 1)
    assert.equal(sealer.status().failures.seal.count, 0)
  })

  it('pays once if the process ends after a transaction was sent, and before that is recorded', async () => {
    let faulty: FaultyRecords | undefined
    const { sealing, chain, sealer, seal, confirm } = await openAnchorFixture(
      (records) => (faulty = faultyRecords(records)),
    )
    // Commits 1 and 2 are the batch and its checkpoint, 3 stores the prepared anchor.
    faulty?.failCommit(4, 'before')
    await seal()
    assert.equal((await sealing.reader.anchor(2))?.state, 'prepared')
    await sealer.close()
    chain.mine()
    await sealing.start({ anchor: chain })
    await confirm()
    assert.equal(chain.mined, 1)
    assert.deepEqual(new Set(chain.broadcasts).size, 1)
    assert.equal((await sealing.reader.anchor(2))?.state, 'confirmed')
  })

  it('sends the same bytes again if the chain dropped them', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await seal()
    const ref = present(chain.broadcasts[0])
    chain.drop(ref)
    await sealing.clock.advance(2_000)
    assert.deepEqual(new Set(chain.broadcasts), new Set([ref]))
    assert.ok(chain.broadcasts.length >= 2)
    await confirm()
    assert.equal((await sealing.reader.anchor(2))?.confirmation?.ref, ref)
    assert.equal(chain.prepared.length, 1)
  })

  it('sends the same bytes again after a reorganization, and records the block of the new branch', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await seal()
    chain.mine(2)
    await sealing.clock.advance(1_000)
    chain.reorganize(2)
    chain.height += 10
    await confirm()
    const { confirmation } = (await sealing.reader.anchor(2)) ?? {}
    assert.ok((confirmation?.blockNumber ?? 0) > 10)
    assert.equal(chain.prepared.length, 1)
  })

  it('prepares another transaction, naming the replaced one, if the first can never be included', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await seal()
    const first = present(chain.broadcasts[0])
    chain.kill(first)
    await confirm()
    const shownReplaces = chain.prepared.map(({ replaces }) => replaces)
    assert.deepEqual(shownReplaces, [[], [first]])
    const anchor = await sealing.reader.anchor(2)
    assert.equal(anchor?.transactions.length, 2)
    assert.notEqual(anchor?.confirmation?.ref, first)
    assert.equal(anchor?.state, 'confirmed')
  })

  it('sends the last transaction if the chain forgot all of them', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await seal()
    const first = present(chain.broadcasts[0])
    chain.kill(first)
    await sealing.clock.advance(2_000)
    const second = present(chain.broadcasts.at(-1))
    chain.drop(first)
    chain.drop(second)
    await confirm()
    assert.equal((await sealing.reader.anchor(2))?.confirmation?.ref, second)
    assert.equal(chain.mined, 1)
  })

  it('continues if the chain rejects a transaction that it already has', async () => {
    const { chain, sealer, sealAndConfirm } = await openAnchorFixture()
    chain.rejectsKnown = true
    chain.fail('broadcast', 'after')
    chain.fail('status', 'before')
    await sealAndConfirm()
    assert.equal(sealer.status().anchoredSize, 2)
    assert.equal(sealer.status().failures.anchor.count, 1)
  })

  it('confirms the original if that was mined instead of its replacement', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await seal()
    const first = present(chain.broadcasts[0])
    chain.kill(first)
    await sealing.clock.advance(2_000)
    const second = present(chain.broadcasts.at(-1))
    assert.notEqual(second, first)
    // Now the second can never be included, and the first is forgotten, so it can be sent again.
    chain.kill(second)
    chain.drop(first)
    await confirm()
    assert.equal((await sealing.reader.anchor(2))?.confirmation?.ref, first)
  })

  it('drops an anchor that can never be included if a newer checkpoint covers it', async () => {
    const { sealing, chain, seal, confirm, head } = await openAnchorFixture()
    await seal()
    await seal()
    chain.kill(present(chain.broadcasts[0]))
    await confirm()
    assert.equal((await sealing.reader.anchor(2))?.state, 'lost')
    assert.equal((await sealing.reader.anchorCovering(2))?.size, 3)
    assert.deepEqual(
      chain.prepared.map(({ replaces }) => replaces),
      [[], []],
    )
    assert.deepEqual(await head(), { confirmedSize: 3, sentSize: 3, outstanding: null, unsettled: [3] })
  })

  it('replaces a stuck transaction when it is old, and keeps both', async () => {
    const { sealing, chain, seal, confirm, head } = await openAnchorFixture(undefined, { anchorReplaceAfterMs: 60_000 })
    chain.isStuck = true
    await seal()
    await sealing.clock.advance(50_000)
    assert.equal(chain.prepared.length, 1)
    await sealing.clock.advance(20_000)
    const lengths = chain.prepared.map(({ replaces }) => replaces.length)
    assert.deepEqual(lengths, [0, 1])
    const { state, transactions } = (await sealing.reader.anchor(2)) ?? {}
    assert.deepEqual([state, transactions?.length], ['sent', 2])
    assert.equal((await sealing.reader.anchorHead()).sentSize, 2, 'it counts as sent all the time')
    chain.isStuck = false
    await confirm()
    assert.deepEqual(await head(), { confirmedSize: 2, sentSize: 2, outstanding: null, unsettled: [2] })
  })

  for (const isDropped of [false, true])
    it(`replaces a transaction that is rejected${isDropped ? ' after it was dropped' : ''} when it is old`, async () => {
      const { sealing, chain, sealer, seal, confirm } = await openAnchorFixture(undefined, {
        anchorReplaceAfterMs: 60_000,
      })
      chain.rejectsAll = !isDropped
      await seal()
      chain.rejectsAll = true
      for (const ref of chain.broadcasts) chain.drop(ref)
      await sealing.clock.advance(30_000)
      assert.equal(chain.prepared.length, 1)
      assert.equal(sealer.status().failures.anchor.lastCode, 'ANCHOR_FAILED')
      await sealing.clock.advance(240_000)
      assert.ok(chain.prepared.length > 1)
      chain.rejectsAll = false
      await sealing.clock.advance(120_000)
      await confirm()
      assert.equal(sealer.status().anchoredSize, 2)
      assert.equal(chain.mined, 1)
    })

  it('applies no change of an anchor if another sealer has made one since', async () => {
    const isAppliedTwice: boolean[] = []
    const { sealAndConfirm } = await openAnchorFixture((records) =>
      decorateRecords(records, {
        async commit(commit) {
          const outcome = await records.commit(commit)
          if (commit.writes?.some(({ key }) => key === logKeys.anchorHead()) === true)
            isAppliedTwice.push((await records.commit(commit)).ok)
          return outcome
        },
      }),
    )
    await sealAndConfirm()
    assert.ok(isAppliedTwice.length >= 3 && !isAppliedTwice.includes(true))
  })

  it('sends a confirmed anchor again after a reorganization removed it', async () => {
    const { sealing, chain, sealer, sealAndConfirm, confirm, head } = await openAnchorFixture()
    await sealAndConfirm()
    const ref = (await sealing.reader.anchor(2))?.confirmation?.ref
    chain.reorganize(8)
    await sealing.clock.advance(20_000)
    assert.deepEqual(await head(), { confirmedSize: 0, sentSize: 2, outstanding: 2, unsettled: [] })
    const { state, confirmation } = (await sealing.reader.anchor(2)) ?? {}
    assert.deepEqual([state, confirmation], ['sent', undefined])
    assert.deepEqual(await (await sealing.reader.anchors()).blocksOf([0, 1]), [undefined, undefined])
    assert.equal(sealer.status().anchoredSize, 0)
    await confirm()
    assert.equal((await sealing.reader.anchor(2))?.confirmation?.ref, ref)
    assert.deepEqual(await recordsOf(sealing.records, 'ac').then(({ size }) => size), 1)
    assert.equal(chain.prepared.length, 1)
  })

  it('records the new block of an anchor that moved, and drops a smaller one', async () => {
    const { sealing, chain, sealAndConfirm, head } = await openAnchorFixture()
    await sealAndConfirm()
    await sealAndConfirm()
    const [first, second] = chain.broadcasts as [string, string]
    assert.notEqual(first, second)
    // Only the second one is in the new branch.
    chain.reorganize(chain.height)
    chain.height = 5
    await chain.broadcast(present(await rawOf(sealing, 3)))
    chain.mine(4)
    await sealing.clock.advance(20_000)
    const [lost, moved] = [await sealing.reader.anchor(2), await sealing.reader.anchor(3)]
    assert.deepEqual([lost?.state, lost?.confirmation], ['lost', undefined])
    assert.deepEqual([moved?.state, moved?.confirmation?.blockNumber], ['confirmed', 6])
    assert.deepEqual(await (await sealing.reader.anchors()).blocksOf([0, 1, 2]), [6, 6, 6])
    assert.deepEqual(await head(), { confirmedSize: 3, sentSize: 3, outstanding: null, unsettled: [3] })
    assert.equal((await sealing.reader.anchorCovering(1))?.size, 3)
  })

  it('drops a removed anchor that a later one covers, although that is in its block', async () => {
    const { sealing, chain, seal, head } = await openAnchorFixture()
    await seal()
    chain.mine(3)
    await sealing.clock.advance(2_000)
    await seal()
    // The next one is confirmed on the new branch before the first is polled again.
    chain.reorganize(3)
    chain.mine(3)
    await sealing.clock.advance(2_000)
    assert.deepEqual((await head()).unsettled, [2, 3])
    await sealing.clock.advance(20_000)
    assert.deepEqual(await head(), { confirmedSize: 3, sentSize: 3, outstanding: null, unsettled: [3] })
    assert.equal((await sealing.reader.anchor(2))?.state, 'lost')
    assert.equal((await sealing.reader.anchorCovering(2))?.size, 3)
  })

  it('leaves removed anchors to the outstanding one', async () => {
    const { sealing, chain, sealAndConfirm, seal, confirm, head } = await openAnchorFixture()
    for (let i = 0; i < 2; i++) await sealAndConfirm()
    await seal()
    assert.equal((await head()).outstanding, 4)
    const { blockNumber = 0 } = (await sealing.reader.anchor(3))?.confirmation ?? {}
    chain.reorganize(chain.height - blockNumber + 1)
    await sealing.clock.advance(20_000)
    assert.deepEqual(await head(), { confirmedSize: 2, sentSize: 4, outstanding: 4, unsettled: [2] })
    assert.equal((await sealing.reader.anchor(3))?.state, 'lost')
    await confirm()
    assert.deepEqual(await head(), { confirmedSize: 4, sentSize: 4, outstanding: null, unsettled: [2, 4] })
    assert.equal((await sealing.reader.anchorCovering(3))?.size, 4)
  })

  it('heals after any reorganizations: every confirmed anchor is in its block, and blocks rise with sizes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.constant('seal' as const),
            fc.record({ mine: fc.integer({ min: 1, max: 6 }) }),
            fc.record({ reorganize: fc.integer({ min: 1, max: 12 }) }),
          ),
          { minLength: 3, maxLength: 14 },
        ),
        async (actions) => {
          const { sealing, chain, seal, confirm, head } = await openAnchorFixture()
          for (const action of actions) {
            if (action === 'seal') await seal()
            else if ('mine' in action) chain.mine(action.mine)
            else chain.reorganize(Math.min(chain.height, action.reorganize))
            await sealing.clock.advance(2_000)
          }
          await seal()
          await confirm(40)
          const { size } = await sealing.reader.tree.head()
          const { confirmedSize, outstanding } = await head()
          assert.deepEqual([confirmedSize, outstanding], [size, null])
          const anchors = (await listEntries(sealing.records, logKeys.anchors())).map((entry) => decodeRecord(entry))
          const confirmed = anchors.filter(({ state }) => state === 'confirmed')
          const blocks = (await listEntries(sealing.records, logKeys.confirmedAnchors())).map((entry) =>
            decodeRecord(entry),
          )
          assert.deepEqual(
            blocks,
            confirmed.map((anchor) => ({ size: anchor.size, blockNumber: anchor.confirmation?.blockNumber })),
          )
          for (const [i, { size: each, blockNumber }] of blocks.entries()) {
            assert.ok(blockNumber > (blocks[i - 1]?.blockNumber ?? 0), 'blocks rise with sizes')
            assert.ok(chain.blocksOf(confirmed[i]?.transactions ?? []).includes(blockNumber), `${each} is in its block`)
          }
          await sealing.close()
        },
      ),
      { numRuns: 40 },
    ))

  it('no longer polls settled anchors', async () => {
    const { sealing, chain, sealAndConfirm } = await openAnchorFixture()
    for (let i = 0; i < 3; i++) await sealAndConfirm()
    chain.height += 20
    await sealing.clock.advance(20_000)
    assert.deepEqual((await sealing.reader.anchorHead()).unsettled, [])
    // The next poll would notice this, but there is none.
    chain.reorganize(chain.height)
    await sealing.clock.advance(60_000)
    assert.equal((await sealing.reader.anchorHead()).confirmedSize, 4)
  })

  it('continues on another chain, and keeps the anchors that the previous chain confirmed', async () => {
    for (const isNewer of [false, true]) {
      const { sealing, chain, sealer, sealAndConfirm, seal, confirm, head } = await openAnchorFixture()
      await sealAndConfirm()
      await seal()
      assert.equal((await sealing.reader.anchorHead()).outstanding, 3)
      if (isNewer) await seal()
      await sealer.close()
      const other = new ScriptedChain('another')
      await sealing.start({ anchor: other })
      await confirm(14, other)
      const size = isNewer ? 4 : 3
      assert.deepEqual(await head(), {
        confirmedSize: size,
        sentSize: size,
        outstanding: null,
        unsettled: [size],
      })
      const [old, anchor] = [await sealing.reader.anchor(2), await sealing.reader.anchor(size)]
      assert.deepEqual([old?.state, old?.info.network], ['confirmed', 'test'])
      assert.deepEqual([anchor?.state, anchor?.info.network], ['confirmed', 'another'])
      assert.equal((await sealing.reader.anchor(3))?.state, isNewer ? 'lost' : 'confirmed')
      assert.equal(other.mined, 1)
      assert.equal(chain.mined, 1)
    }
  })

  it('anchors each checkpoint once if two sealers share a chain', async () => {
    const { sealing, chain, seal, confirm } = await openAnchorFixture()
    await sealing.start({ anchor: chain })
    for (let i = 0; i < 4; i++) {
      await seal()
      await confirm(4)
    }
    const anchors = await recordsOf(sealing.records, 'an')
    assert.equal(anchors.size, 4)
    assert.equal(chain.mined, 4)
    assert.equal((await sealing.reader.anchorHead()).confirmedSize, 5)
  })

  it('finishes its step at a close, and closes the chain', async () => {
    const { sealing, chain, seal } = await openAnchorFixture()
    await seal()
    await sealing.close()
    assert.ok(chain.isClosed)
    assert.equal(sealing.clock.sleeping, 0)
  })
})

async function rawOf({ reader }: SealerFixture, size: number): Promise<Uint8Array | undefined> {
  const raw = (await reader.anchor(size))?.transactions[0]?.raw
  return raw === undefined ? undefined : fromBase64(raw)
}

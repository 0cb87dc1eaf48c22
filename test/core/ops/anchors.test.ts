import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { checkAnchors } from '../../../core/ops/check/anchors.ts'
import { Check, type Difference } from '../../../core/ops/check/check.ts'
import { FAMILIES } from '../../../core/ops/check/families.ts'
import { ListCheck } from '../../../core/ops/check/lists.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { AnchorHeadRecord, AnchorRecord, CheckpointRecord } from '../../../core/log/records.ts'
import type { RecordStore } from '../../../core/ports/index.ts'
import { encodeRecord } from '../../../core/store/codec.ts'
import { listEntries } from '../../../core/store/read.ts'

const infoOf = (account: string) => ({
  type: 'scripted',
  network: 'test',
  chainId: 1,
  account,
  assurance: 'operator' as const,
})

interface Confirmed {
  readonly size: number
  readonly blockNumber: number
  /** Default: A. */
  readonly account?: string
}

/** Confirmed anchors with their checkpoints, the index of their blocks, and the head. */
async function storeAnchors(anchors: readonly Confirmed[]): Promise<RecordStore> {
  const records = new MemoryRecords()
  for (const { size, blockNumber, account = 'A' } of anchors) {
    const checkpoint: CheckpointRecord = { size, root: `root ${size}`, note: `note ${size}` }
    const anchor: AnchorRecord = {
      size,
      root: checkpoint.root,
      checkpoint: checkpoint.note,
      info: infoOf(account),
      transactions: [],
      state: 'confirmed',
      confirmation: { ref: 'r', blockNumber, blockHash: 'h', blockTime: 0, confirmations: 3, evidence: '' },
    }
    await records.commit({
      writes: [
        { key: logKeys.checkpoint(size), value: encodeRecord(checkpoint) },
        { key: logKeys.anchor(size), value: encodeRecord(anchor) },
        { key: logKeys.confirmedAnchor(size), value: encodeRecord({ size, blockNumber }) },
      ],
    })
  }
  const confirmedSize = Math.max(0, ...anchors.map(({ size }) => size))
  const sizeOfB = anchors.find(({ account }) => account === 'B')?.size
  const accounts = [
    { info: infoOf('A'), from: 1 },
    ...(sizeOfB === undefined ? [] : [{ info: infoOf('B'), from: sizeOfB }]),
  ]
  const head: AnchorHeadRecord = {
    confirmedSize,
    sentSize: confirmedSize,
    outstanding: null,
    unsettled: [],
    accounts,
  }
  await records.commit({ writes: [{ key: logKeys.anchorHead(), value: encodeRecord(head) }] })
  return records
}

async function differencesOf(records: RecordStore): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  const check = new Check(records, { onDifference: (difference) => differences.push(difference) })
  await checkAnchors(check)
  const lists = new ListCheck(check, String)
  for (const family of FAMILIES) await lists.add(family, await listEntries(check.records, family.range))
  await lists.finish()
  return differences
}

describe('checkAnchors', () => {
  it('reports a block that is missing, wrong, or of no confirmed anchor', async () => {
    const confirmed = [1, 5, 9].map((size) => ({ size, blockNumber: 2 * size }))
    assert.deepEqual(await differencesOf(await storeAnchors(confirmed)), [])
    for (const { size } of confirmed)
      for (const value of [null, encodeRecord({ size, blockNumber: 7 })]) {
        const records = await storeAnchors(confirmed)
        await records.commit({ writes: [{ key: logKeys.confirmedAnchor(size), value }] })
        assert.notDeepEqual(await differencesOf(records), [])
      }
    for (const size of [2, 10]) {
      const records = await storeAnchors(confirmed)
      const value = encodeRecord({ size, blockNumber: 7 })
      await records.commit({ writes: [{ key: logKeys.confirmedAnchor(size), value }] })
      assert.notDeepEqual(await differencesOf(records), [])
    }
  })

  it('reports a head, an anchor or a checkpoint that does not agree with the others', async () => {
    const confirmed = [
      { size: 3, blockNumber: 1 },
      { size: 7, blockNumber: 4 },
    ]
    const accounts = [{ info: infoOf('A'), from: 1 }]
    const head = { confirmedSize: 7, sentSize: 7, outstanding: null, unsettled: [], accounts }
    for (const [key, record] of [
      [logKeys.anchorHead(), { ...head, confirmedSize: 3 }],
      [logKeys.anchorHead(), { ...head, sentSize: 3 }],
      [logKeys.anchorHead(), { ...head, outstanding: 7 }],
      [logKeys.anchorHead(), { ...head, unsettled: [5] }],
      [logKeys.checkpoint(7), { size: 7, root: 'root 7', note: 'another note' }],
      [logKeys.checkpoint(3), { size: 3, root: 'another root', note: 'note 3' }],
    ] as const) {
      const records = await storeAnchors(confirmed)
      await records.commit({ writes: [{ key, value: encodeRecord(record) }] })
      assert.equal((await differencesOf(records)).length, 1, `${key} ${JSON.stringify(record)}`)
    }
  })

  it('reports accounts that are not those of the anchors, because verifiers pin them', async () => {
    const confirmed = [
      { size: 3, blockNumber: 1 },
      { size: 7, blockNumber: 4, account: 'B' },
    ]
    const [a, b] = [infoOf('A'), infoOf('B')]
    const accountsOf = async (accounts: AnchorHeadRecord['accounts']): Promise<readonly Difference[]> => {
      const records = await storeAnchors(confirmed)
      const head = { confirmedSize: 7, sentSize: 7, outstanding: null, unsettled: [], accounts }
      await records.commit({ writes: [{ key: logKeys.anchorHead(), value: encodeRecord(head) }] })
      return differencesOf(records)
    }
    const right = { info: a, from: 1 }
    assert.deepEqual(await accountsOf([right, { info: b, from: 7 }]), [])
    // The first anchor of C was replaced by one of B, for the same tree.
    assert.deepEqual(await accountsOf([right, { info: infoOf('C'), from: 7 }, { info: b, from: 7 }]), [])
    for (const accounts of [
      [],
      [right],
      [right, { info: infoOf('C'), from: 7 }],
      [right, { info: b, from: 5 }],
      [right, { info: b, from: 8 }],
      [
        { info: a, from: 2 },
        { info: b, from: 7 },
      ],
      [right, { info: b, from: 7 }, { info: infoOf('C'), from: 9 }],
    ])
      assert.equal((await accountsOf(accounts)).length, 1, JSON.stringify(accounts))
  })
})

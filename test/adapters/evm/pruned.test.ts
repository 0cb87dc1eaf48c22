import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { openEvmAnchor } from '../../../adapters/evm/index.ts'
import { decodeUtf8 } from '../../../core/bytes.ts'
import type { AnchorStatus } from '../../../core/ports/index.ts'
import { CHAIN_ID, GWEI, newAccount } from '../../support/anvil.ts'
import { FakeNode, rejection } from '../../support/fake-node.ts'
import { ofSuite } from '../../support/of-suite.ts'

const account = await newAccount()
const input = new Uint8Array(250).fill(65)
const fees = { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI }
const { hash: ref, raw } = account.sign({ chainId: CHAIN_ID, nonce: 0, gasLimit: 30_000n, input, ...fees })

const [OLD, NEW] = ['0x64', '0x12a']
const HASH = `0x${'cd'.repeat(32)}`
const PRUNED = rejection('pruned history unavailable', 4444)
const receiptIn = (blockNumber: string) => ({ blockNumber, blockHash: HASH, transactionIndex: '0x0' })
const headOf = (number: string) => ({ number, hash: HASH, timestamp: '0x32' })

/** A node that is asked for the block of a transaction, without and with its transactions. */
const blocks =
  (head: unknown, body: unknown) =>
  (tag: string, isFull: boolean): unknown =>
    tag.startsWith('0x') ? (isFull ? body : head) : { ...headOf('0x12c'), baseFeePerGas: '0x7' }

describe('an anchor whose block a node has deleted', () => {
  const nodes = [ofSuite(() => FakeNode.start()), ofSuite(() => FakeNode.start())] as const
  beforeEach(() => nodes.forEach((node) => node().heal()))

  const statusAt = async (urls: readonly string[], polls = 1): Promise<AnchorStatus | undefined> => {
    const anchor = await openEvmAnchor({ rpcUrls: urls, chainId: CHAIN_ID, account, maxFeePerGas: 100n * GWEI })
    for (let i = 1; i < polls; i++) await assert.rejects(anchor.status([{ ref, raw }]), { code: 'ANCHOR_FAILED' })
    return (await anchor.status([{ ref, raw }]))[0]
  }
  const statusWith = (results: Readonly<Record<string, unknown>>): Promise<AnchorStatus | undefined> => {
    nodes[0]().change({ eth_getHeaderByNumber: rejection('unknown method'), ...results })
    return statusAt([nodes[0]().url])
  }

  function assertConfirmed(status: AnchorStatus | undefined, blockTime = 50_000): void {
    assert.ok(status?.state === 'confirmed', JSON.stringify(status))
    assert.equal(status.blockTime, blockTime)
    assert.match(decodeUtf8(status.proof), /"inclusion":null/)
  }

  test('is confirmed without an inclusion proof if its time is known', async () => {
    const receipt = { eth_getTransactionReceipt: receiptIn(OLD) }
    assertConfirmed(await statusWith({ ...receipt, eth_getBlockByNumber: blocks(headOf(OLD), PRUNED) }))
    assertConfirmed(await statusWith({ ...receipt, eth_getBlockByNumber: blocks(headOf(OLD), null) }))
    const none = { ...receipt, eth_getBlockByNumber: blocks(PRUNED, PRUNED) }
    assertConfirmed(await statusWith({ ...none, eth_getHeaderByNumber: headOf(OLD) }))
    const dated = { ...receiptIn(OLD), blockTimestamp: '0x33' }
    assertConfirmed(await statusWith({ ...none, eth_getTransactionReceipt: dated }), 51_000)
    const unknown = { ...none, eth_getBlockByNumber: blocks(null, null), eth_getTransactionReceipt: dated }
    assertConfirmed(await statusWith(unknown), 51_000)
  })

  test('is replaced if nothing shows its time, or the transaction', async () => {
    const used = { eth_getTransactionCount: '0x1', eth_getBlockByNumber: blocks(PRUNED, PRUNED) }
    const deleted = await statusWith({ ...used, eth_getTransactionReceipt: receiptIn(OLD) })
    assert.deepEqual(deleted, {
      state: 'failed',
      isPruned: true,
      reason: deleted && 'reason' in deleted && deleted.reason,
    })
    const absent = { eth_getTransactionReceipt: PRUNED, eth_getTransactionByHash: PRUNED }
    const lost = await statusWith({ ...used, ...absent })
    assert.deepEqual([lost?.state, lost && 'isPruned' in lost], ['failed', true])
    assert.deepEqual(await statusWith({ ...absent, eth_getTransactionCount: '0x0' }), { state: 'unknown' })
  })

  test('waits if it is new: the chain was reorganized', async () => {
    const results = { eth_getTransactionReceipt: receiptIn(NEW), eth_getBlockByNumber: blocks(null, null) }
    assert.deepEqual(await statusWith(results), { state: 'pending', stuck: false })
  })

  test('is looked up at the other nodes first', async () => {
    nodes[0]().change({ eth_getTransactionReceipt: PRUNED })
    const block = blocks(headOf(OLD), { ...headOf(OLD), transactions: [] })
    nodes[1]().change({ eth_getTransactionReceipt: receiptIn(OLD), eth_getBlockByNumber: block })
    assertConfirmed(await statusAt([nodes[0]().url, nodes[1]().url], 2))
  })
})

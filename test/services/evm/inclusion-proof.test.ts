import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { keccak256, SigningKey } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { openEvmAnchor, verifyEvmAnchor, type ExpectedEvmAnchor } from '../../../adapters/evm/index.ts'
import { headerOf } from '../../../core/verify/chain/header.ts'
import type { JsonObject } from '../../../adapters/evm/quantity.ts'
import { encodeShownTransaction } from '../../../adapters/evm/raw-transactions.ts'
import { buildTransactionTrie } from '../../../core/verify/chain/trie.ts'
import { decodeUtf8, encodeUtf8 } from '../../../core/bytes.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, newPrivateKey, withoutAnvil } from '../../support/anvil.ts'
import { Proxy } from '../../support/rpc-proxy.ts'

const rawsOf = (block: JsonObject): readonly string[] =>
  (block.transactions as readonly JsonObject[]).map((transaction) => encodeShownTransaction(transaction) as string)

describe('the inclusion proof of an anchor', { skip: withoutAnvil }, () => {
  let anvil: Anvil
  before(async () => {
    anvil = await Anvil.start()
  })
  after(() => anvil.stop())

  /** Sends transactions of every type that the node accepts. */
  async function fillPool(count: number): Promise<void> {
    const key = new SigningKey(`0x${newPrivateKey()}`)
    for (let nonce = 0; nonce < count; nonce++) {
      const type = nonce % 3
      const fees = type === 2 ? { maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI } : { gasPrice: 9n * GWEI }
      const accessList =
        type === 0 ? {} : { accessList: [[`0x${'ab'.repeat(20)}`, [`0x${'01'.repeat(32)}`]]] as [string, string[]][] }
      const transaction = Transaction.from({
        type,
        chainId: CHAIN_ID,
        nonce,
        gasLimit: 200_000,
        value: nonce,
        // A transaction that creates a contract has no `to`; this code stops at once.
        ...(nonce % 7 === 3 ? { data: '0x00' } : { to: `0x${'cd'.repeat(20)}`, data: `0x${'00'.repeat(nonce % 60)}` }),
        ...fees,
        ...accessList,
      })
      transaction.signature = key.sign(transaction.unsignedHash)
      if (nonce === 0) await anvil.fund(transaction.from as string)
      await anvil.rpc('eth_sendRawTransaction', transaction.serialized)
    }
  }

  for (const count of [1, 2, 16, 17, 127, 128, 129, 200])
    test(`header and transactions of a block of ${count} are rebuilt to the chain's own hashes`, async () => {
      await fillPool(count)
      await anvil.mine()
      const block = await anvil.block('latest')
      assert.equal(block.transactions.length, count)
      assert.equal(keccak256(headerOf(block) as string), block.hash)
      assert.equal(buildTransactionTrie(rawsOf(block)).root, block.transactionsRoot)
    })

  /** Confirms an anchor in a block with other transactions. */
  async function anchored(url = anvil.url): Promise<{ proof: Uint8Array; expected: ExpectedEvmAnchor }> {
    const account = await newAccount()
    await anvil.fund(account.address)
    const anchor = await openEvmAnchor({
      rpcUrls: [url],
      chainId: CHAIN_ID,
      account,
      confirmations: 1,
      maxFeePerGas: 100n * GWEI,
    })
    const checkpoint = encodeUtf8('origin/0\n1\nroot\n\n— origin/0 signature\n')
    const prepared = await anchor.prepare({ checkpoint })
    await anchor.broadcast(prepared.raw)
    await fillPool(40)
    await anvil.mine()
    const [status] = await anchor.status([prepared])
    assert.ok(status?.state === 'confirmed')
    await anchor.close()
    const { proof, blockHash, blockNumber, blockTime } = status
    const expected = { chainId: CHAIN_ID, account: account.address, checkpoint, txHash: prepared.ref, blockHash }
    if (url === anvil.url) assert.deepEqual(verifyEvmAnchor(proof, expected), { blockNumber, blockTime })
    return { proof, expected }
  }

  test('verifies offline, and fails for any other expectation', async () => {
    const { proof, expected } = await anchored()
    const hash = `0x${'11'.repeat(32)}`
    const wrong: readonly (readonly [Partial<ExpectedEvmAnchor>, RegExp])[] = [
      [{ chainId: 1 }, /another chain/],
      [{ account: (await newAccount()).address }, /another account/],
      [{ checkpoint: encodeUtf8('other') }, /does not carry the checkpoint/],
      [{ txHash: hash }, /another hash/],
      [{ blockHash: hash }, /another block/],
    ]
    for (const [change, message] of wrong)
      assert.throws(() => verifyEvmAnchor(proof, { ...expected, ...change }), {
        code: 'VERIFICATION_FAILED',
        message,
      })
    const { account, txHash, blockHash } = expected
    const lower = { account: account.toLowerCase(), txHash: txHash.toUpperCase().replace('X', 'x'), blockHash }
    verifyEvmAnchor(proof, { ...expected, ...lower })
  })

  test('does not verify if any digit is changed', async () => {
    const { proof, expected } = await anchored()
    const text = decodeUtf8(proof)
    const hexAt = [...text.matchAll(/(?<=0x[0-9a-f]*)[0-9a-f]/g)].map(({ index }) => index)
    fc.assert(
      fc.property(fc.constantFrom(...hexAt), fc.integer({ min: 1, max: 15 }), (at, by) => {
        const digit = ((parseInt(text.charAt(at), 16) + by) % 16).toString(16)
        const changed = text.slice(0, at) + digit + text.slice(at + 1)
        assert.throws(() => verifyEvmAnchor(encodeUtf8(changed), expected), { code: 'VERIFICATION_FAILED' })
      }),
      { numRuns: 400 },
    )
    for (const change of [
      (value: Record<string, unknown>) => (value.v = 2),
      (value: Record<string, unknown>) => (value.chainId = 5),
      (value: Record<string, unknown>) => (value.raw = '0x02'),
      (value: Record<string, unknown>) => delete value.inclusion,
      (value: Record<string, unknown>) => ((value.inclusion as Record<string, unknown>).index = 3),
      (value: Record<string, unknown>) => ((value.inclusion as Record<string, unknown>).index = -1),
      (value: Record<string, unknown>) => ((value.inclusion as Record<string, unknown>).header = '0xc0'),
      (value: Record<string, unknown>) => ((value.inclusion as Record<string, unknown>).proof = []),
    ]) {
      const value = JSON.parse(text) as Record<string, unknown>
      change(value)
      assert.throws(() => verifyEvmAnchor(encodeUtf8(JSON.stringify(value)), expected), { code: 'VERIFICATION_FAILED' })
    }
    for (const garbage of ['', '{', 'null', '[]', '"x"'])
      assert.throws(() => verifyEvmAnchor(encodeUtf8(garbage), expected), { code: 'VERIFICATION_FAILED' })
  })

  test('contains no inclusion for a chain whose headers are not Ethereum’s', async (t) => {
    const proxy = await Proxy.start(anvil.url)
    t.after(() => proxy.stop())
    // The header's fields no longer hash to the block's hash, as with a chain that has fields of its own.
    proxy.change('eth_getBlockByNumber', (block) => ({ ...(block as object), extraData: '0x1234' }))
    const { proof, expected } = await anchored(proxy.url)
    assert.equal((JSON.parse(decodeUtf8(proof)) as { inclusion: unknown }).inclusion, null)
    assert.throws(() => verifyEvmAnchor(proof, expected), {
      code: 'VERIFICATION_FAILED',
      message: /does not show that the block includes the transaction: ask a node/,
    })
  })

  test('requests the bytes of transactions of an unknown type from the node', async (t) => {
    const proxy = await Proxy.start(anvil.url)
    t.after(() => proxy.stop())
    proxy.change('eth_getBlockByNumber', (block) => {
      const { transactions, ...rest } = block as { transactions: readonly object[] }
      const hidden = transactions.map((each) => (typeof each === 'string' ? each : { ...each, type: '0x7e' }))
      return { ...rest, transactions: hidden }
    })
    const { proof, expected } = await anchored(proxy.url)
    verifyEvmAnchor(proof, expected)
    assert.ok(proxy.calls.includes('eth_getRawTransactionByHash'))
    proxy.fail('eth_getRawTransactionByHash', {
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
    })
    const without = await anchored(proxy.url)
    assert.equal((JSON.parse(decodeUtf8(without.proof)) as { inclusion: unknown }).inclusion, null)
  })
})

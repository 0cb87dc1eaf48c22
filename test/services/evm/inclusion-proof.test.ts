import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keccak256, SigningKey } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { verifyEvmAnchor, type ExpectedEvmAnchor } from '../../../adapters/evm/index.ts'
import { makeInclusionProof } from '../../../adapters/evm/inclusion-proof.ts'
import type { RpcSession } from '../../../adapters/evm/rpc.ts'
import { decodeUtf8, encodeUtf8 } from '../../../core/bytes.ts'
import { headerOf } from '../../../core/verify/chain/header.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, newPrivateKey, withoutAnvil } from '../../support/anvil.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('the inclusion proof of an anchor', { skip: withoutAnvil }, () => {
  const anvil = ofSuite(() => Anvil.start())

  /** Sends transactions of every type that the node accepts. */
  async function fillPool(count: number): Promise<void> {
    const key = new SigningKey(`0x${newPrivateKey()}`)
    for (let nonce = 0; nonce < count; nonce++) {
      const type = nonce % 3
      const fees = type === 2 ? { maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI } : { gasPrice: 9n * GWEI }
      const accessList: [string, string[]][] = [[`0x${'ab'.repeat(20)}`, [`0x${'01'.repeat(32)}`]]]
      const transaction = Transaction.from({
        type,
        chainId: CHAIN_ID,
        nonce,
        gasLimit: 200_000,
        value: nonce,
        // A transaction that creates a contract has no `to`; this code stops at once.
        ...(nonce % 7 === 3 ? { data: '0x00' } : { to: `0x${'cd'.repeat(20)}`, data: `0x${'00'.repeat(nonce % 60)}` }),
        ...fees,
        ...(type > 0 && { accessList }),
      })
      transaction.signature = key.sign(transaction.unsignedHash)
      if (nonce === 0) await anvil().fund(String(transaction.from))
      await anvil().rpc('eth_sendRawTransaction', transaction.serialized)
    }
  }

  /** Mines an anchor with other transactions. Returns it, its block, and what a verifier expects. */
  async function mineAnchor(others: number) {
    const account = await newAccount()
    await anvil().fund(account.address)
    const checkpoint = encodeUtf8('origin/0\n1\nroot\n\n— origin/0 signature\n')
    const fees = { gasLimit: 40_000n, maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI }
    const { hash, raw } = account.sign({ chainId: CHAIN_ID, nonce: 0, input: checkpoint, ...fees })
    await anvil().rpc('eth_sendRawTransaction', `0x${Buffer.from(raw).toString('hex')}`)
    await fillPool(others)
    await anvil().mine()
    const block = await anvil().block('latest')
    assert.equal(block.transactions.length, others + 1)
    const index = block.transactions.findIndex((each) => each.hash === hash)
    const expected: ExpectedEvmAnchor = {
      chainId: CHAIN_ID,
      account: account.address,
      checkpoint,
      txHash: hash,
      blockHash: String(block.hash),
    }
    return { confirmed: { chainId: CHAIN_ID, raw, index, block }, expected }
  }

  const without: RpcSession = {
    latest: {},
    request: () => assert.fail('no call is needed'),
    attempt: async () => undefined,
    history: () => assert.fail('no call is needed'),
  }
  const node: RpcSession = { ...without, attempt: (method, params) => anvil().rpc(method, ...params) }

  // The trie has other nodes from 16 and from 128 transactions on.
  for (const others of [0, 16, 129])
    test(`verifies in a block of ${others + 1} transactions of all types, without another call`, async () => {
      const { confirmed, expected } = await mineAnchor(others)
      assert.equal(keccak256(String(headerOf(confirmed.block))), confirmed.block.hash)
      const { blockNumber } = verifyEvmAnchor(await makeInclusionProof(confirmed, without), expected)
      assert.equal(blockNumber, Number(confirmed.block.number))
    })

  test('contains no inclusion for a chain whose headers are not Ethereum’s', async () => {
    const { confirmed, expected } = await mineAnchor(2)
    // The header's fields no longer hash to the block's hash, as with a chain that has fields of its own.
    const block = { ...confirmed.block, extraData: '0x1234' }
    const proof = await makeInclusionProof({ ...confirmed, block }, node)
    assert.match(decodeUtf8(proof), /"inclusion":null/)
    assert.throws(() => verifyEvmAnchor(proof, expected), {
      code: 'VERIFICATION_FAILED',
      rule: 'anchor.not-in-block',
    })
  })

  test('requests the bytes of transactions of an unknown type from the node', async () => {
    const { confirmed, expected } = await mineAnchor(5)
    const transactions = confirmed.block.transactions.map((each) => ({ ...each, type: '0x7e' }))
    const hidden = { ...confirmed, block: { ...confirmed.block, transactions } }
    verifyEvmAnchor(await makeInclusionProof(hidden, node), expected)
    assert.match(decodeUtf8(await makeInclusionProof(hidden, without)), /"inclusion":null/)
  })
})

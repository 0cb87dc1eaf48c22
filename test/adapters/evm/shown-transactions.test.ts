import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keccak256, SigningKey } from 'ethers/crypto'
import { Transaction, type TransactionLike } from 'ethers/transaction'
import { loadEthers } from '../../../adapters/evm/ethers.ts'
import { encodeShownTransaction } from '../../../adapters/evm/inclusion-proof.ts'
import type { JsonObject } from '../../../adapters/evm/values.ts'

const key = new SigningKey(`0x${'17'.repeat(32)}`)
const hex = (value: bigint | number | string): string => `0x${BigInt(value).toString(16)}`
const authorization = {
  address: `0x${'aa'.repeat(20)}`,
  nonce: 7n,
  chainId: 1n,
  signature: key.sign(keccak256('0x01')),
}
const accessList = [{ address: `0x${'ab'.repeat(20)}`, storageKeys: [`0x${'01'.repeat(32)}`] }]
const fees = { maxFeePerGas: 5n, maxPriorityFeePerGas: 0n }

/** Of each type, as ethers takes it. */
const TRANSACTIONS: Readonly<Record<string, TransactionLike>> = {
  'legacy, without a chain': { type: 0, gasPrice: 9n },
  'legacy, of a chain': { type: 0, gasPrice: 9n, chainId: 1 },
  'a creation of a contract': { type: 0, gasPrice: 9n, chainId: 1, to: null },
  'with an access list': { type: 1, gasPrice: 9n, chainId: 1, accessList },
  'with fees': { type: 2, chainId: 1, ...fees, accessList },
  blobs: { type: 3, chainId: 1, ...fees, maxFeePerBlobGas: 9n, blobVersionedHashes: [`0x01${'ee'.repeat(31)}`] },
  delegations: { type: 4, chainId: 1, ...fees, authorizationList: [authorization] },
}

/** How a node shows a transaction: numbers without leading zeros, and a price also beside fees. */
function shownAs(transaction: Transaction): JsonObject {
  const { signature } = transaction
  assert.ok(signature)
  const type = Number(transaction.type)
  const chainId = Number(transaction.chainId)
  return {
    type: hex(type),
    chainId: chainId === 0 ? null : hex(chainId),
    nonce: hex(transaction.nonce),
    to: transaction.to?.toLowerCase() ?? null,
    value: hex(transaction.value),
    input: transaction.data,
    gas: hex(transaction.gasLimit),
    gasPrice: hex(transaction.gasPrice ?? 6n),
    ...(type > 0 && { accessList: transaction.accessList, yParity: hex(signature.yParity) }),
    ...(type > 1 && {
      maxFeePerGas: hex(transaction.maxFeePerGas ?? 0n),
      maxPriorityFeePerGas: hex(transaction.maxPriorityFeePerGas ?? 0n),
    }),
    ...(type === 3 && { maxFeePerBlobGas: '0x9', blobVersionedHashes: transaction.blobVersionedHashes }),
    ...(type === 4 && {
      authorizationList: [
        {
          address: authorization.address,
          chainId: '0x1',
          nonce: '0x7',
          yParity: hex(authorization.signature.yParity),
          r: hex(authorization.signature.r),
          s: hex(authorization.signature.s),
        },
      ],
    }),
    v: hex(type > 0 ? signature.yParity : chainId > 0 ? 35 + 2 * chainId + signature.yParity : signature.v),
    r: hex(signature.r),
    s: hex(signature.s),
    hash: transaction.hash,
    from: transaction.from,
  }
}

describe('the bytes of a transaction that a node shows', () => {
  for (const [name, fields] of Object.entries(TRANSACTIONS))
    test(name, async () => {
      const ethers = await loadEthers()
      // With fees, the s of nonce 409 begins with a zero byte, which nodes leave out.
      for (const nonce of [0, 300, 409]) {
        const to = `0x${'cd'.repeat(20)}`
        const transaction = Transaction.from({ to, nonce, value: 0, data: '0x01', gasLimit: 50_000, ...fields })
        transaction.signature = key.sign(transaction.unsignedHash)
        const shown = shownAs(transaction)
        assert.equal(encodeShownTransaction(ethers, shown), transaction.serialized)
        for (const change of [{ nonce: '0x1' }, { value: '0x1' }, { r: '0x2' }, { type: '0x7e' }, { input: 7 }])
          assert.equal(encodeShownTransaction(ethers, { ...shown, ...change }), undefined)
      }
    })
})

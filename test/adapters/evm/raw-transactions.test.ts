import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keccak256, SigningKey } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import type { JsonObject } from '../../../adapters/evm/quantity.ts'
import { encodeShownTransaction } from '../../../adapters/evm/raw-transactions.ts'
import { newPrivateKey } from '../../support/anvil.ts'

describe('raw transactions of types that anvil does not mine', () => {
  const account = new SigningKey(`0x${newPrivateKey()}`)
  const hex = (value: bigint | number): string => `0x${value.toString(16)}`

  test('blobs (type 3) and delegations (type 4) are encoded as ethers encodes them', () => {
    const authorization = {
      address: `0x${'aa'.repeat(20)}`,
      nonce: 7n,
      chainId: 1n,
      signature: account.sign(keccak256('0x01')),
    }
    const fields = {
      chainId: 1,
      nonce: 300,
      to: `0x${'cd'.repeat(20)}`,
      value: 0,
      data: '0x01',
      gasLimit: 50_000,
      maxFeePerGas: 5n,
      maxPriorityFeePerGas: 0n,
    }
    for (const extra of [
      { type: 3, maxFeePerBlobGas: 9n, blobVersionedHashes: [`0x01${'ee'.repeat(31)}`] },
      { type: 4, authorizationList: [authorization] },
    ]) {
      const transaction = Transaction.from({ ...fields, ...extra })
      transaction.signature = account.sign(transaction.unsignedHash)
      const { r, s, yParity } = transaction.signature
      const { signature: its } = authorization
      const shown: JsonObject = {
        type: hex(extra.type),
        chainId: '0x1',
        nonce: hex(300),
        to: fields.to,
        value: '0x0',
        input: '0x01',
        gas: hex(50_000),
        maxFeePerGas: '0x5',
        maxPriorityFeePerGas: '0x0',
        accessList: [],
        maxFeePerBlobGas: '0x9',
        blobVersionedHashes: [`0x01${'ee'.repeat(31)}`],
        authorizationList: [
          {
            chainId: '0x1',
            address: authorization.address,
            nonce: '0x7',
            yParity: hex(its.yParity),
            r: hex(BigInt(its.r)),
            s: hex(BigInt(its.s)),
          },
        ],
        r: hex(BigInt(r)),
        s: hex(BigInt(s)),
        yParity: hex(yParity),
        hash: transaction.hash,
      }
      assert.equal(encodeShownTransaction(shown), transaction.serialized)
      assert.equal(encodeShownTransaction({ ...shown, nonce: '0x1' }), undefined)
      assert.equal(encodeShownTransaction({ ...shown, nonce: 1 }), undefined)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SigningKey } from 'ethers/crypto'
import { computeAddress, Transaction, type TransactionLike } from 'ethers/transaction'
import { encodeUtf8 } from '../../../../core/bytes.ts'
import { verifyEvmAnchor } from '../../../../core/verify/chain/evm-anchor.ts'

const CHAIN_ID = 5
const KEY = new SigningKey(`0x${'11'.repeat(32)}`)
const OTHER_KEY = new SigningKey(`0x${'22'.repeat(32)}`)
const ACCOUNT = computeAddress(KEY.publicKey)
const OTHER_ACCOUNT = computeAddress(OTHER_KEY.publicKey)
const CHECKPOINT = encodeUtf8('origin\n1\nroot\n')

/** A transaction as the registry signs it for an anchor, with changes. */
function anchorTransaction(changes: TransactionLike = {}, key = KEY): Transaction {
  const transaction = Transaction.from({
    type: 2,
    chainId: CHAIN_ID,
    nonce: 7,
    gasLimit: 30_000,
    maxFeePerGas: 9n,
    to: ACCOUNT,
    value: 0,
    data: `0x${Buffer.from(CHECKPOINT).toString('hex')}`,
    ...changes,
  })
  transaction.signature = key.sign(transaction.unsignedHash)
  return transaction
}

/** Verifies a transaction without the part that shows its block, so the verification ends with an error in any case. */
function verify({ hash, serialized }: Transaction): void {
  const proof = { v: 1, chainId: CHAIN_ID, raw: serialized, inclusion: null }
  verifyEvmAnchor(encodeUtf8(JSON.stringify(proof)), {
    chainId: CHAIN_ID,
    account: ACCOUNT,
    checkpoint: CHECKPOINT,
    txHash: String(hash),
    blockHash: `0x${'00'.repeat(32)}`,
  })
}

const failsWith = (transaction: Transaction, message: RegExp): void =>
  assert.throws(() => verify(transaction), { code: 'VERIFICATION_FAILED', message })

describe('the transaction of an EVM anchor', () => {
  it('is accepted if it pays 0 to its own sender: only its block is missing', () =>
    failsWith(anchorTransaction(), /does not show that the block includes the transaction/))

  const cases: readonly (readonly [name: string, transaction: () => Transaction, message: RegExp])[] = [
    ['pays another account', () => anchorTransaction({ to: OTHER_ACCOUNT }), /must pay 0 to its own sender/],
    ['creates a contract', () => anchorTransaction({ to: null }), /must pay 0 to its own sender/],
    ['pays an amount', () => anchorTransaction({ value: 1 }), /must pay 0 to its own sender/],
    ['is signed by another account', () => anchorTransaction({}, OTHER_KEY), /signed by another account/],
    ['is for another chain', () => anchorTransaction({ chainId: 6 }), /for another chain/],
    ['carries another text', () => anchorTransaction({ data: '0x01' }), /does not carry the checkpoint/],
  ]
  for (const [name, transaction, message] of cases)
    it(`is rejected if it ${name}`, () => failsWith(transaction(), message))
})

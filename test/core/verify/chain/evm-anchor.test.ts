import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SigningKey } from 'ethers/crypto'
import { computeAddress, Transaction, type TransactionLike } from 'ethers/transaction'
import fc from 'fast-check'
import { decodeUtf8, encodeUtf8 } from '../../../../core/bytes.ts'
import type { VerificationRule } from '../../../../core/rules.ts'
import { verifyEvmAnchor, type ExpectedEvmAnchor } from '../../../../core/verify/chain/evm-anchor.ts'
import { SyntheticEvm } from '../../../support/synthetic-evm.ts'

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

const failsWith = (transaction: Transaction, rule: VerificationRule): void =>
  assert.throws(() => verify(transaction), { code: 'VERIFICATION_FAILED', rule })

describe('the transaction of an EVM anchor', () => {
  it('is accepted if it pays 0 to its own sender: only its block is missing', () =>
    failsWith(anchorTransaction(), 'anchor.not-in-block'))

  const cases: readonly (readonly [name: string, transaction: () => Transaction, rule: VerificationRule])[] = [
    ['pays another account', () => anchorTransaction({ to: OTHER_ACCOUNT }), 'anchor.transaction-differs'],
    ['creates a contract', () => anchorTransaction({ to: null }), 'anchor.transaction-differs'],
    ['pays an amount', () => anchorTransaction({ value: 1 }), 'anchor.transaction-differs'],
    ['is signed by another account', () => anchorTransaction({}, OTHER_KEY), 'anchor.account-differs'],
    ['is for another chain', () => anchorTransaction({ chainId: 6 }), 'anchor.chain-differs'],
    ['carries another text', () => anchorTransaction({ data: '0x01' }), 'anchor.checkpoint-differs'],
  ]
  for (const [name, transaction, rule] of cases) it(`is rejected if it ${name}`, () => failsWith(transaction(), rule))
})

describe('the inclusion proof of an EVM anchor', () => {
  /** The proof of an anchor that is in a block with others, and what a verifier expects of it. */
  async function anchored(): Promise<{ text: string; expected: ExpectedEvmAnchor }> {
    const chain = new SyntheticEvm(9_000)
    const prepared = await chain.prepare({ checkpoint: CHECKPOINT })
    await chain.broadcast(prepared.raw)
    const [status] = await chain.status([prepared])
    assert.ok(status?.state === 'confirmed')
    const { chainId, account = '' } = chain.info
    const expected = { chainId, account, checkpoint: CHECKPOINT, txHash: prepared.ref, blockHash: status.blockHash }
    return { text: decodeUtf8(status.proof), expected }
  }

  it('verifies for no other chain, account, checkpoint, transaction or block', async () => {
    const { text, expected } = await anchored()
    const hash = `0x${'11'.repeat(32)}`
    const wrong: readonly (readonly [Partial<ExpectedEvmAnchor>, VerificationRule])[] = [
      [{ chainId: 1 }, 'anchor.chain-differs'],
      [{ account: OTHER_ACCOUNT }, 'anchor.account-differs'],
      [{ checkpoint: encodeUtf8('other') }, 'anchor.checkpoint-differs'],
      [{ txHash: hash }, 'anchor.transaction-differs'],
      [{ blockHash: hash }, 'anchor.block-differs'],
    ]
    for (const [change, rule] of wrong)
      assert.throws(() => verifyEvmAnchor(encodeUtf8(text), { ...expected, ...change }), {
        code: 'VERIFICATION_FAILED',
        rule,
      })
    const { account, txHash, blockHash } = expected
    const upper = txHash.toUpperCase().replace('X', 'x')
    verifyEvmAnchor(encodeUtf8(text), { ...expected, account: account.toLowerCase(), txHash: upper, blockHash })
  })

  it('does not verify if any digit or part is changed', async () => {
    const { text, expected } = await anchored()
    const digits = [...text.matchAll(/(?<=0x[0-9a-f]*)[0-9a-f]/g)].map(({ index }) => index)
    const rejects = (changed: string): void =>
      assert.throws(() => verifyEvmAnchor(encodeUtf8(changed), expected), { code: 'VERIFICATION_FAILED' })
    fc.assert(
      fc.property(fc.constantFrom(...digits), fc.integer({ min: 1, max: 15 }), (at, by) => {
        const digit = ((Number.parseInt(text.charAt(at), 16) + by) % 16).toString(16)
        rejects(text.slice(0, at) + digit + text.slice(at + 1))
      }),
      { numRuns: 400 },
    )
    const proof = JSON.parse(text) as { readonly inclusion: object }
    const { inclusion } = proof
    for (const change of [{ v: 2 }, { chainId: 5 }, { raw: '0x02' }, { inclusion: undefined }])
      rejects(JSON.stringify({ ...proof, ...change }))
    for (const change of [{ index: 2 }, { index: -1 }, { header: '0xc0' }, { proof: [] }])
      rejects(JSON.stringify({ ...proof, inclusion: { ...inclusion, ...change } }))
    for (const garbage of ['', '{', 'null', '[]', '"x"']) rejects(garbage)
  })
})

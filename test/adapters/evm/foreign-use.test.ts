import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvmAccount } from '../../../adapters/evm/index.ts'
import { firstForeignNonce } from '../../../adapters/evm/foreign-use.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { PreparedAnchor } from '../../../core/ports/index.ts'
import { CHAIN_ID, GWEI, newAccount } from '../../support/anvil.ts'

/** A transaction of the account, as the registry or another program signs it. */
function transaction(account: EvmAccount, nonce: number): PreparedAnchor {
  const { hash, raw } = account.sign({
    chainId: CHAIN_ID,
    nonce,
    gasLimit: 30_000n,
    input: encodeUtf8('x'),
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
  })
  return { ref: hash, raw }
}

async function* each<T>(...values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values
}

interface Case {
  readonly own: readonly number[]
  readonly next: number
  readonly acceptBelow?: number
  readonly expected: number | undefined
}

const CASES: Readonly<Record<string, Case>> = {
  'no own transaction': { own: [], next: 9, expected: undefined },
  'only own transactions': { own: [4, 5, 6], next: 7, expected: undefined },
  'transactions that are prepared and not sent': { own: [4, 5, 6], next: 5, expected: undefined },
  'a replacement with the nonce of another one': { own: [4, 4, 5], next: 6, expected: undefined },
  'a foreign one between own ones': { own: [4, 6], next: 7, expected: 5 },
  'a foreign one after the own ones': { own: [4, 5], next: 7, expected: 6 },
  'a foreign one that is accepted': { own: [4, 5], next: 7, acceptBelow: 7, expected: undefined },
  'a foreign one after the accepted one': { own: [4, 5], next: 8, acceptBelow: 7, expected: 7 },
}

describe('the first nonce of the account that others have used', () => {
  for (const [name, { own, next, acceptBelow = 0, expected }] of Object.entries(CASES))
    it(`${name}: ${expected ?? 'none'}`, async () => {
      const account = await newAccount()
      const { address } = account
      const transactions = own.map((nonce) => transaction(account, nonce))
      assert.equal(await firstForeignNonce(each(...transactions), { address, next, acceptBelow }), expected)
    })

  it('does not count transactions of another account', async () => {
    const [account, other] = [await newAccount(), await newAccount()]
    const options = { address: account.address, next: 4, acceptBelow: 0 }
    assert.equal(await firstForeignNonce(each(transaction(other, 0)), options), undefined)
    assert.equal(await firstForeignNonce(each(transaction(other, 0), transaction(account, 3)), options), undefined)
    assert.equal(await firstForeignNonce(each(transaction(account, 2), transaction(other, 3)), options), 3)
  })
})

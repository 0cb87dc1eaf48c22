import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvmAccount } from '../../../adapters/evm/index.ts'
import { findForeignUse } from '../../../adapters/evm/foreign-use.ts'
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

/** The first foreign nonce that the message names. */
async function foreignNonce(
  use: Parameters<typeof findForeignUse>[1],
  ...own: readonly PreparedAnchor[]
): Promise<number | undefined> {
  const each = async function* () {
    yield* own
  }
  const found = await findForeignUse(each(), use)
  if (found === undefined) return undefined
  assert.equal(found.uses, use.uses)
  return Number(/^The account 0x\w+ has sent the transaction with nonce (\d+), which/.exec(found.message)?.[1])
}

interface Case {
  readonly own: readonly number[]
  readonly uses: number
  readonly confirmed?: number
  readonly expected: number | undefined
}

const CASES: Readonly<Record<string, Case>> = {
  'no own transaction': { own: [], uses: 9, expected: undefined },
  'only own transactions': { own: [4, 5, 6], uses: 7, expected: undefined },
  'transactions that are prepared and not sent': { own: [4, 5, 6], uses: 5, expected: undefined },
  'a replacement with the nonce of another one': { own: [4, 4, 5], uses: 6, expected: undefined },
  'a foreign one between own ones': { own: [4, 6], uses: 7, expected: 5 },
  'a foreign one after the own ones': { own: [4, 5], uses: 7, expected: 6 },
  'a foreign one that is confirmed': { own: [4, 5], uses: 7, confirmed: 7, expected: undefined },
  'a foreign one after the confirmed one': { own: [4, 5], uses: 8, confirmed: 7, expected: 7 },
}

describe('the first nonce of the account that others have used', () => {
  for (const [name, { own, uses, confirmed = 0, expected }] of Object.entries(CASES))
    it(`${name}: ${expected ?? 'none'}`, async () => {
      const account = await newAccount()
      const { address } = account
      const transactions = own.map((nonce) => transaction(account, nonce))
      assert.equal(await foreignNonce({ address, uses, confirmed }, ...transactions), expected)
    })

  it('does not count transactions of another account', async () => {
    const [account, other] = [await newAccount(), await newAccount()]
    const use = { address: account.address, uses: 4, confirmed: 0 }
    assert.equal(await foreignNonce(use, transaction(other, 0)), undefined)
    assert.equal(await foreignNonce(use, transaction(other, 0), transaction(account, 3)), undefined)
    assert.equal(await foreignNonce(use, transaction(account, 2), transaction(other, 3)), 3)
  })
})

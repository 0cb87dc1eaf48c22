import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEvmAnchor, type EvmAccount } from '../../../adapters/evm/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { PreparedAnchor } from '../../../core/ports/index.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, withoutAnvil } from '../../support/anvil.ts'

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

test('a node tells how many transactions the account has sent', { skip: withoutAnvil }, async (t) => {
  const anvil = await Anvil.start()
  t.after(() => anvil.stop())
  const account = await newAccount()
  await anvil.fund(account.address)
  const options = { rpcUrls: [anvil.url], chainId: CHAIN_ID, account, maxFeePerGas: 50n * GWEI }
  const anchor = await openEvmAnchor(options)
  t.after(() => anchor.close())
  const [first, second] = [transaction(account, 0), transaction(account, 1)]
  await anchor.broadcast(first.raw)
  assert.equal(await anchor.findForeignUse(each(first)), undefined)
  await anchor.broadcast(second.raw)
  const foreign = await anchor.findForeignUse(each(first))
  assert.match(foreign?.message ?? '', new RegExp(`The account ${account.address} has sent .* nonce 1,`))
  assert.match(foreign?.confirmation ?? '', /EVIDENCE_EVM_ACCEPT_NONCES_BELOW=2 /)
  const accepting = await openEvmAnchor({ ...options, acceptNoncesBelow: 2 })
  t.after(() => accepting.close())
  assert.equal(await accepting.findForeignUse(each(first)), undefined)
})

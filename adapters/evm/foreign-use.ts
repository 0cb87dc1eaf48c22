import type { ForeignUse, PreparedAnchor } from '../kit/index.ts'
import { parseTransaction } from '../../core/verify/chain/transaction.ts'

interface AccountUse {
  /** The account, `0x` hex. */
  readonly address: string
  /** How many transactions it has sent, which is its next nonce. */
  readonly uses: number
  /** How many of them the operator has confirmed. */
  readonly confirmed: number
}

/**
 * Finds the lowest nonce that the account has used and that no transaction of `own` has. It looks from the first nonce
 * of `own` on, because earlier ones belong to the time before the account was used for anchors, and not among those
 * that are confirmed.
 *
 * An anchor is a transaction from an account to itself, so the receiver tells the account without the work of
 * recovering it from the signature.
 */
export async function findForeignUse(
  own: AsyncIterable<PreparedAnchor>,
  { address, uses, confirmed }: AccountUse,
): Promise<ForeignUse | undefined> {
  const account = address.toLowerCase()
  const nonces = new Set<number>()
  let first = Infinity
  for await (const { raw } of own) {
    const transaction = parseTransaction(raw)
    if (transaction?.to !== account) continue
    nonces.add(transaction.nonce)
    first = Math.min(first, transaction.nonce)
  }
  let nonce = Math.max(first, confirmed)
  while (nonces.has(nonce)) nonce++
  if (nonce >= uses) return undefined
  const message = `The account ${address} has sent the transaction with nonce ${nonce}, which no anchor on record has`
  return { message, uses }
}

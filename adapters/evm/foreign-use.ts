import type { ForeignUse, PreparedAnchor } from '../kit/index.ts'
import { parseTransaction } from '../../core/verify/chain/transaction.ts'

interface AccountUse {
  /** The account, `0x` hex. */
  readonly address: string
  /** The account's next nonce: how many transactions it has sent. */
  readonly next: number
}

/**
 * Returns the lowest nonce that the account has used and that no transaction of `own` has. It looks from the first
 * nonce of `own` on, because earlier ones belong to the time before the account was used for anchors, and not below
 * `acceptBelow`.
 *
 * An anchor is a transaction from an account to itself, so the receiver tells the account without the work of
 * recovering it from the signature.
 */
export async function firstForeignNonce(
  own: AsyncIterable<PreparedAnchor>,
  { address, next, acceptBelow }: AccountUse & { readonly acceptBelow: number },
): Promise<number | undefined> {
  const account = address.toLowerCase()
  const nonces = new Set<number>()
  let first = Infinity
  for await (const { raw } of own) {
    const transaction = parseTransaction(raw)
    if (transaction?.to !== account) continue
    nonces.add(transaction.nonce)
    first = Math.min(first, transaction.nonce)
  }
  for (let nonce = Math.max(first, acceptBelow); nonce < next; nonce++) if (!nonces.has(nonce)) return nonce
  return undefined
}

/** Describes the use of a nonce by another program, and how to confirm it. */
export const foreignUse = ({ address, nonce, next }: AccountUse & { readonly nonce: number }): ForeignUse => ({
  message:
    `The account ${address} has sent the transaction with nonce ${nonce}, ` +
    'which is not among the anchors on record',
  confirmation: `confirm it with EVIDENCE_EVM_ACCEPT_NONCES_BELOW=${next} (acceptNoncesBelow) and start again.`,
})

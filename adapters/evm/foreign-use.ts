import type { ForeignUse, PreparedAnchor } from '../kit/index.ts'
import { parseTransaction } from '../../core/verify/chain/transaction.ts'

/**
 * Returns the lowest nonce from the first one of `own` on that the account has used and `own` does not contain.
 * Earlier nonces belong to the time before the account was used for anchors. `next`: the account's next nonce.
 */
export async function firstForeignNonce(
  own: AsyncIterable<PreparedAnchor>,
  { next, acceptBelow }: { readonly next: number; readonly acceptBelow: number },
): Promise<number | undefined> {
  const nonces = new Set<number>()
  let first = Infinity
  for await (const { raw } of own) {
    const nonce = parseTransaction(raw)?.nonce
    if (nonce === undefined) continue
    nonces.add(nonce)
    first = Math.min(first, nonce)
  }
  for (let nonce = Math.max(first, acceptBelow); nonce < next; nonce++) if (!nonces.has(nonce)) return nonce
  return undefined
}

export const foreignUse = ({
  address,
  nonce,
  next,
}: {
  readonly address: string
  readonly nonce: number
  readonly next: number
}): ForeignUse => ({
  message: `The account ${address} has sent the transaction with nonce ${nonce}, which is not among the anchors on record`,
  confirmation: `confirm it with EVIDENCE_EVM_ACCEPT_NONCES_BELOW=${next} (acceptNoncesBelow) and start again.`,
})

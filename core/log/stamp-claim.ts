import type { Assurance } from '../ports.ts'
import type { StampRecord, StampToken } from './records.ts'

/** What a stamp claims as a whole, and how far it is to be believed. */
export interface StampClaim {
  /** The token by which the time is claimed. */
  readonly token: StampToken
  readonly assurance: Assurance
}

/** Whether two authorities are one: they share a trust anchor, or have none and the same name. */
export const isSameAuthority = (
  a: Pick<StampToken, 'authority' | 'trustAnchors'>,
  b: Pick<StampToken, 'authority' | 'trustAnchors'>,
): boolean =>
  a.trustAnchors.length === 0 && b.trustAnchors.length === 0
    ? a.authority === b.authority
    : a.trustAnchors.some((anchor) => b.trustAnchors.includes(anchor))

/** Without the later ones of authorities that are not distinct. */
export function distinctTokens(tokens: readonly StampToken[]): readonly StampToken[] {
  const distinct: StampToken[] = []
  for (const token of tokens) if (!distinct.some((other) => isSameAuthority(other, token))) distinct.push(token)
  return distinct
}

/**
 * The time that a quorum of k vouches for: the k-th smallest genTime of distinct authorities, since k of them say that the checkpoint was
 * there no later. Where k of them are independent, those alone are asked. Tokens that come after the quorum can only make it earlier or
 * better vouched for. `undefined` where there is no quorum.
 */
export function claimOf({ tokens, quorum }: Pick<StampRecord, 'tokens' | 'quorum'>): StampClaim | undefined {
  if (quorum === undefined) return undefined
  const distinct = distinctTokens(tokens)
  const independent = distinct.filter(({ assurance }) => assurance === 'independent')
  const assurance = independent.length >= quorum ? 'independent' : 'operator'
  const asked = assurance === 'independent' ? independent : distinct
  const token = asked.toSorted((a, b) => a.genTime - b.genTime)[quorum - 1]
  return token && { token, assurance }
}

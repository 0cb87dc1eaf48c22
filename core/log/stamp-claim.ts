import type { Assurance } from '../ports/index.ts'
import type { StampRecord, StampToken } from './records.ts'

/** The time that a whole stamp claims, and who vouches for it. */
export interface StampClaim {
  /** The token whose time is claimed. */
  readonly token: StampToken
  readonly assurance: Assurance
}

/** Whether two tokens come from the same authority: they share a trust anchor, or have none and the same name. */
export const isSameAuthority = (
  a: Pick<StampToken, 'authority' | 'trustAnchors'>,
  b: Pick<StampToken, 'authority' | 'trustAnchors'>,
): boolean =>
  a.trustAnchors.length === 0 && b.trustAnchors.length === 0
    ? a.authority === b.authority
    : a.trustAnchors.some((anchor) => b.trustAnchors.includes(anchor))

/** The first token of each distinct authority. */
export function distinctTokens(tokens: readonly StampToken[]): readonly StampToken[] {
  const distinct: StampToken[] = []
  for (const token of tokens) if (!distinct.some((other) => isSameAuthority(other, token))) distinct.push(token)
  return distinct
}

/**
 * The time that a quorum of k authorities vouches for: the k-th smallest genTime of distinct authorities, because k of
 * them say that the checkpoint existed by then. If k of them are independent, only the independent ones count. Tokens
 * that arrive after the quorum can only make the time earlier, or independent. `undefined` if there is no quorum.
 */
export function claimOf({ tokens, quorum }: Pick<StampRecord, 'tokens' | 'quorum'>): StampClaim | undefined {
  if (quorum === undefined) return undefined
  const distinct = distinctTokens(tokens)
  const independent = distinct.filter(({ assurance }) => assurance === 'independent')
  const assurance = independent.length >= quorum ? 'independent' : 'operator'
  const eligible = assurance === 'independent' ? independent : distinct
  const token = eligible.toSorted((a, b) => a.genTime - b.genTime)[quorum - 1]
  return token && { token, assurance }
}

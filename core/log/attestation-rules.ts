import { toBase64 } from '../bytes.ts'
import type { AnchorInfo, Assurance, SealerTrust } from '../ports/index.ts'
import type { AnchorHeadRecord, StampPeriod, StampRecord, StampRules, StampToken } from './records.ts'

/** What a stamp claims, and the history that verifiers pin: whose tokens and anchors count, for which trees. */

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
 * that arrive after the quorum can only make the time earlier, or independent. Before the quorum, k are those that have
 * stamped. `undefined` without a token.
 */
export function claimOf({ tokens, ...stamp }: Pick<StampRecord, 'tokens' | 'quorum'>): StampClaim | undefined {
  const distinct = distinctTokens(tokens)
  const { quorum = distinct.length } = stamp
  const independent = distinct.filter(({ assurance }) => assurance === 'independent')
  const assurance = independent.length >= quorum ? 'independent' : 'operator'
  const eligible = assurance === 'independent' ? independent : distinct
  const token = eligible.toSorted((a, b) => a.genTime - b.genTime)[quorum - 1]
  return token && { token, assurance }
}

// -- the history of authorities and accounts

/** Tree sizes, both inclusive. `until` is `null` while it counts. */
export interface TreeRange {
  readonly from: number
  readonly until: number | null
}

/** The ranges in which something counts, ascending. */
export interface Ranged<T> {
  readonly value: T
  readonly ranges: readonly TreeRange[]
}

/** The rules of a sealer, as they are stored. */
export const rulesOf = ({ quorum, authorities }: Pick<SealerTrust, 'quorum' | 'authorities'>): StampRules => ({
  quorum: Math.max(1, quorum),
  authorities: authorities
    .map(({ name, trustAnchors }) => ({ name, trustAnchors: trustAnchors.map(toBase64).toSorted() }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
})

export const isSameRules = (a: StampRules, b: StampRules): boolean =>
  a.quorum === b.quorum && JSON.stringify(a.authorities) === JSON.stringify(b.authorities)

export const isSameAccount = (a: AnchorInfo, b: AnchorInfo): boolean => keyOfAccount(a) === keyOfAccount(b)

const keyOfAccount = ({ type, network, chainId, account }: AnchorInfo): string =>
  JSON.stringify([type, network, chainId, account])

/** The stored periods, and that of a sealer whose rules no stamp follows yet. `stampedSize`: of the newest stamp. */
export function periodsWith(
  stored: readonly StampPeriod[],
  rules: StampRules,
  stampedSize: number,
): readonly (Omit<StampPeriod, 'entry'> & Partial<Pick<StampPeriod, 'entry'>>)[] {
  const last = stored.at(-1)
  if (rules.authorities.length === 0 || (last !== undefined && isSameRules(last, rules))) return stored
  return [...stored, { ...rules, from: last === undefined ? 1 : stampedSize + 1 }]
}

/** As `periodsWith`, for the accounts that anchor. Those without an account cannot be pinned. */
export function accountsWith(
  { accounts, outstanding, confirmedSize }: AnchorHeadRecord,
  info: AnchorInfo | undefined,
): AnchorHeadRecord['accounts'] {
  const last = accounts.at(-1)
  if (info === undefined || (last !== undefined && isSameAccount(last.info, info))) return accounts
  return [...accounts, { info, from: last === undefined ? 1 : (outstanding ?? confirmedSize + 1) }]
}

/** The ranges of each value that is in spans one after the other. */
export function mergedRanges<T>(
  spans: readonly (TreeRange & { readonly values: readonly T[] })[],
): readonly Ranged<T>[] {
  const found = new Map<string, { readonly value: T; readonly ranges: TreeRange[]; last: number }>()
  for (const [i, { from, until, values }] of spans.entries())
    for (const value of values) {
      const key = JSON.stringify(value)
      const known = found.get(key) ?? { value, ranges: [], last: -1 }
      found.set(key, known)
      const previous = i > 0 && known.last === i - 1 ? known.ranges.pop() : undefined
      known.ranges.push({ from: previous?.from ?? from, until })
      known.last = i
    }
  return [...found.values()]
}

import { emptyRoot, leafHash, nodeHash, splitPoint } from '../../../../core/log/tree/hash.ts'

/** The recursive definitions of RFC 9162 § 2.1, written as they are in the text. Slow, only for tests. */

/** MTH(D_n), § 2.1.1. */
export function referenceRoot(entries: readonly Uint8Array[]): Uint8Array {
  const n = entries.length
  if (n === 0) return emptyRoot()
  if (n === 1) return leafHash(entries[0] as Uint8Array)
  const k = splitPoint(n)
  return nodeHash(referenceRoot(entries.slice(0, k)), referenceRoot(entries.slice(k)))
}

/** PATH(m, D_n), § 2.1.3.1. Requires 0 <= m < n. */
export function referenceInclusionProof(m: number, entries: readonly Uint8Array[]): readonly Uint8Array[] {
  const n = entries.length
  if (n === 1) return []
  const k = splitPoint(n)
  return m < k
    ? [...referenceInclusionProof(m, entries.slice(0, k)), referenceRoot(entries.slice(k))]
    : [...referenceInclusionProof(m - k, entries.slice(k)), referenceRoot(entries.slice(0, k))]
}

/** PROOF(m, D_n), § 2.1.4.1. Requires 0 < m <= n. */
export const referenceConsistencyProof = (m: number, entries: readonly Uint8Array[]): readonly Uint8Array[] =>
  subproof(m, entries, true)

function subproof(m: number, entries: readonly Uint8Array[], isWhole: boolean): readonly Uint8Array[] {
  const n = entries.length
  if (m === n) return isWhole ? [] : [referenceRoot(entries)]
  const k = splitPoint(n)
  return m <= k
    ? [...subproof(m, entries.slice(0, k), isWhole), referenceRoot(entries.slice(k))]
    : [...subproof(m - k, entries.slice(k), false), referenceRoot(entries.slice(0, k))]
}

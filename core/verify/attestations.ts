import { verificationError } from '../errors.ts'
import { anchorOf, type AnchorContext } from './anchors.ts'
import type { VerifiedTrees } from './checkpoint.ts'
import type { BundleAnchorClaim, TimestampClaim } from './claims.ts'
import {
  isCosigned,
  PINNED_COSIGNATURE_COST,
  verifyCosignatures,
  witnessedBy,
  type Cosignatures,
  type Witnessed,
} from './cosignatures.ts'
import type { VerifyBundleOptions } from './run.ts'
import type { ShownBundle, ShownRenewal } from './shown.ts'
import { embeddedCertificates, isStampedAt, quorumOf, stampOf, type LoggedToken } from './stamps.ts'

/** What witnesses, timestamp authorities and chains attest of the trees of a bundle. */

/** All that attests a tree of a bundle. It holds for every entry of the tree. */
export interface Attestations {
  readonly timestamp: TimestampClaim | undefined
  readonly anchors: readonly BundleAnchorClaim[]
  /** Of this tree or of a larger one, which begins with it. */
  readonly witnessed: Witnessed
}

/** What attestations are verified with. */
interface AttestationContext extends AnchorContext, Pick<VerifyBundleOptions, 'tokens' | 'mlDsa44' | 'validationData'> {
  /** Whether the policy is the caller's own, not the bundle's. */
  readonly isPinned: boolean
}

/**
 * Verifies what authorities, chains and witnesses attest of the trees that count, by their sizes. A tree counts if its
 * key vouches for it, if it was stamped or cosigned before that key was retired, or if a larger tree of the bundle
 * counts, which begins with it. What does not verify attests nothing: so a bundle is never worth more without it.
 * Throws `VERIFICATION_FAILED` for a wrong cosignature.
 */
export function verifyAttestations(
  { renewals, checkpoints, validationData }: ShownBundle,
  trees: VerifiedTrees,
  context: AttestationContext,
): ReadonlyMap<number, Attestations> {
  const { policy, run } = context
  const { witnesses: required = { threshold: 0, members: [] } } = policy
  const cosigning = { run, cost: context.isPinned ? PINNED_COSIGNATURE_COST : 1, mlDsa44: context.mlDsa44 }
  const isChecked = (policy.authorities ?? []).length > 0
  const embedded = embeddedCertificates(isChecked ? checkpoints.flatMap(({ tokens }) => tokens) : [], context)
  const pieces = [...(context.validationData ?? []), ...validationData, ...embedded]
  const logged = new Map<string, LoggedToken>()
  const attestations = new Map<number, Attestations>()
  const renewalsIn = new Map<number, ShownRenewal[]>()
  for (const size of trees.keys()) renewalsIn.set(size, [])
  for (const renewal of renewals) for (const { treeSize } of renewal.inclusion) renewalsIn.get(treeSize)?.push(renewal)
  let counts = false
  let best: Witnessed | undefined
  // The largest tree comes first: it shows which tokens are in the log, and its own tokens show since when.
  for (const tree of [...trees.values()].toReversed()) {
    const { size } = tree
    const { tokens, timestamp } = stampOf(tree, { ...context, validationData: pieces, logged })
    const { vkey, unpinned, retiredAt, compromised = false } = tree.key
    counts ||= tree.isVouchedFor
    // Unless the key is marked, only the log had it before it was retired.
    const limit: number | undefined = counts || compromised ? undefined : retiredAt
    const cosignatures: Cosignatures =
      counts || limit !== undefined ? verifyCosignatures(tree, required, cosigning) : new Map()
    counts ||=
      limit !== undefined &&
      (isStampedAt(limit, tokens, quorumOf(policy, size)) || isCosigned(required, cosignatures, size, limit) === true)
    if (!counts) {
      run.doubt({ what: `the tree of ${size} entries`, why: WHY_NOT[unpinned === 'unknown' ? 'unknown' : 'retired'] })
      continue
    }
    if (unpinned === 'newer') run.doubt({ what: `the key ${vkey}`, why: NEWER_KEY })
    const stampedAt = timestamp === undefined || timestamp.isLocalTest ? Infinity : timestamp.notLaterThan
    for (const { token, position } of renewalsIn.get(size) ?? [])
      logged.set(token, { position, at: Math.min(stampedAt, logged.get(token)?.at ?? Infinity) })
    best = witnessedBy(cosignatures, size, required, best)
    const anchors = tree.shown.anchors.flatMap((anchor) => anchorOf(anchor, tree, context))
    attestations.set(size, { witnessed: best, anchors, timestamp })
  }
  // A check that was left out, which counts as one that failed, could have changed what is proven.
  if (run.budget.isExceeded) throw verificationError('limit.signatures', 'The bundle needs too many signature checks')
  return attestations
}

/** Why a tree does not count, by the key that signed it. */
const WHY_NOT = {
  retired: 'A retired key signed it, and nothing leads to its last tree',
  unknown: 'A key that this policy does not know signed it: fetch the newer policy',
} as const
const NEWER_KEY =
  'This policy does not know this newer key: a key that it pins handed over to it. Fetch the newer policy'

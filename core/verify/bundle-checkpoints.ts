import { toHex } from '../bytes.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { verifyInclusion } from '../log/tree/proof.ts'
import { TAG_BYTES } from '../commitment/event-format.ts'
import { entryOf, kindOf, verifyKeyChain, type KeyOpening } from '../commitment/log-entry.ts'
import type { ShownAnchor, ShownBundle, ShownCheckpoint, ShownEntry } from './bundle-document.ts'
import { verifyAnchorProof } from './chain/anchor-proof.ts'
import { verifyCheckpointUnder, type VerifiedCheckpoint, verifyCosignatures, type Cosignature } from './checkpoint.ts'
import type { Policy } from './policy.ts'
import type { BundleAnchorClaim, TimestampClaim, Unchecked } from './claims.ts'
import {
  authorityClaims,
  checkTokens,
  NO_VERIFIER,
  timeOfQuorum,
  uncheckedRevocations,
  type TokenContext,
} from './token-quorum.ts'
import { verificationError } from '../errors.ts'

/** All that attests a tree of a bundle. It holds for every entry of the tree. */
export interface Attestations {
  readonly witnesses: readonly Cosignature[]
  readonly timestamp: TimestampClaim | undefined
  readonly anchors: readonly BundleAnchorClaim[]
}

/** What checkpoints are verified with. */
export interface CheckpointContext {
  readonly policy: Policy
  readonly tokens: TokenContext
  /** Notes something that was not checked. */
  readonly doubt: (unchecked: Unchecked) => void
  readonly isBlockOnChain: ((anchor: Omit<ShownAnchor, 'proof'>) => boolean) | undefined
}

/** A tree that the log signed, with what the bundle shows about it. */
export interface SignedTree extends VerifiedCheckpoint {
  readonly shown: ShownCheckpoint
}

/** The signed trees of a bundle by their size, ascending. */
export type SignedTrees = ReadonlyMap<number, SignedTree>

/** Verifies the signature of every checkpoint, and the keys that signed them. Throws `VERIFICATION_FAILED`. */
export function verifyTrees(
  { origin, keys, checkpoints }: Pick<ShownBundle, 'origin' | 'keys' | 'checkpoints'>,
  { policy, tokens: { budget }, doubt }: CheckpointContext,
): SignedTrees {
  const chain = verifyKeyChain(keys.map(({ opening }) => opening))
  if (chain[0]?.log !== origin) throw verificationError(`The keys do not belong to the log ${origin}`)
  const trees = new Map<number, SignedTree>()
  let largest = 0
  for (const shown of checkpoints) {
    const whole = [shown.note, ...shown.cosignatures.map((line) => `${line}\n`)].join('')
    const tree = { ...verifyCheckpointUnder(whole, policy.keys, budget), shown }
    if (tree.origin !== origin) throw verificationError('A checkpoint belongs to another log')
    if (tree.size <= largest) throw verificationError('The checkpoints must have ascending sizes')
    if (tree.key.until === undefined)
      doubt({ what: 'retired keys', why: 'The policy does not say up to which tree size each key signs' })
    assertSigner(tree, keys, chain)
    largest = tree.size
    trees.set(tree.size, tree)
  }
  for (const entry of keys) assertIncluded(entry, trees)
  return trees
}

/**
 * Verifies what authorities, chains and witnesses attest of each tree, by its size. Runs last, because tokens take the
 * most time. Throws `VERIFICATION_FAILED`.
 */
export function verifyAttestations(
  renewals: readonly ShownEntry[],
  trees: SignedTrees,
  context: CheckpointContext,
): ReadonlyMap<number, Attestations> {
  const { witnesses: required = { threshold: 0, members: [] } } = context.policy
  const { budget } = context.tokens
  const timestamps = verifyTimestamps(renewals, trees, context)
  const attestations = new Map<number, Attestations>()
  for (const [size, tree] of trees)
    attestations.set(size, {
      witnesses: verifyCosignatures(tree.note, required, budget),
      anchors: tree.shown.anchors.flatMap((anchor) => anchorOf(anchor, tree, context)),
      timestamp: timestamps.get(size),
    })
  // The functions above throw as well. A check that was left out could have refuted the bundle.
  if (budget.isExceeded) throw verificationError('The bundle needs too many signature checks')
  return attestations
}

/**
 * The timestamp of each tree that has one, by its size. The largest tree comes first: its tokens show when the tokens
 * in it existed.
 */
function verifyTimestamps(
  renewals: readonly ShownEntry[],
  trees: SignedTrees,
  { tokens, doubt }: CheckpointContext,
): ReadonlyMap<number, TimestampClaim> {
  const renewed = renewals.map((renewal) => ({ ...renewal, token: renewedToken(renewal, trees) }))
  const renewedAt = new Map<string, number>()
  const timestamps = new Map<number, TimestampClaim>()
  for (const tree of [...trees.values()].toReversed()) {
    const timestamp = timestampOf(tree, { ...tokens, renewedAt }, doubt)
    if (timestamp === undefined) continue
    timestamps.set(tree.size, timestamp)
    const { notLaterThan: time } = timestamp
    for (const { token, inclusion } of renewed)
      if (inclusion.some(({ treeSize }) => treeSize === tree.size))
        renewedAt.set(token, Math.min(time, renewedAt.get(token) ?? time))
  }
  return timestamps
}

/** The SHA-256 (hex) of the token whose entry this is. Throws `VERIFICATION_FAILED` unless the trees hold the entry. */
function renewedToken(entry: ShownEntry, trees: SignedTrees): string {
  if (kindOf(entry.opening) !== 'token') throw verificationError('A renewal must be the entry of a token')
  assertIncluded(entry, trees)
  return toHex(entry.opening.subarray(TAG_BYTES))
}

function timestampOf(
  { noteBytes, size, shown: { tokens } }: SignedTree,
  context: TokenContext,
  doubt: CheckpointContext['doubt'],
): TimestampClaim | undefined {
  if (tokens.length === 0) return undefined
  const what = `timestamps of the tree of ${size} entries`
  const isPinned = context.authorities.length > 0
  if (!isPinned || context.verifier === undefined) {
    doubt({ what, why: isPinned ? NO_VERIFIER : 'No timestamp authority is pinned' })
    return undefined
  }
  const { held, rejected } = checkTokens(tokens, noteBytes, context)
  const authorities = authorityClaims(held)
  const notLaterThan = timeOfQuorum(authorities, context.quorum)
  if (notLaterThan === undefined)
    throw verificationError(
      `Expected timestamps of ${context.quorum} pinned authorities over the tree of ${size} entries, got ` +
        `${authorities.length}${rejected[0] === undefined ? '' : `: ${rejected[0]}`}`,
    )
  for (const why of rejected) doubt({ what: `a timestamp of the tree of ${size} entries`, why })
  for (const unchecked of uncheckedRevocations(authorities)) doubt(unchecked)
  return { notLaterThan, authorities }
}

function anchorOf(
  anchor: ShownAnchor,
  { noteBytes }: VerifiedCheckpoint,
  { policy, doubt, isBlockOnChain }: CheckpointContext,
): readonly BundleAnchorClaim[] {
  const { proof: _, ...shown } = anchor
  const { type, network, chainId, blockNumber, blockHash } = anchor
  const what = `the anchor in block ${blockNumber} of ${network.slice(0, 64)}`
  const chain = (policy.chains ?? []).find(
    (one) => one.type === type && one.network === network && one.chainId === chainId,
  )
  if (chain === undefined) {
    doubt({ what, why: 'No account of this chain is pinned' })
    return []
  }
  const proven = verifyAnchorProof(anchor, chain, noteBytes)
  if (typeof proven === 'string') {
    doubt({ what, why: proven })
    return []
  }
  if (!proven.isBlockFinal && isBlockOnChain?.(shown) === false)
    throw verificationError(`The block ${blockHash} is not part of the chain ${network}`)
  const isBlockFinal = proven.isBlockFinal || isBlockOnChain !== undefined
  if (!isBlockFinal) doubt({ what, why: `Ask a node whether the block ${blockHash} is part of the chain` })
  return [{ ...shown, account: chain.account, blockTime: proven.blockTime, isBlockFinal }]
}

/** The key that signed must be the newest one whose entry the tree holds, and must be proven to be in the tree. */
function assertSigner(
  { size, key }: VerifiedCheckpoint,
  entries: readonly ShownEntry[],
  chain: readonly KeyOpening[],
): void {
  const index = chain.findIndex(({ vkey }) => vkey === key.vkey)
  const entry = entries[index]
  if (entry === undefined) throw verificationError('The key that signed a checkpoint has no entry in the bundle')
  if (!entry.inclusion.some(({ treeSize }) => treeSize === size))
    throw verificationError(`The tree of ${size} entries is not proven to hold the entry of the key that signed it`)
  const next = entries[index + 1]?.position
  if (next !== undefined && size > next)
    throw verificationError(`The key was retired at ${next} entries, but signed a tree of ${size}`)
}

/** Verifies all inclusion proofs of an entry. Throws `VERIFICATION_FAILED`. */
export function assertIncluded({ opening, position, inclusion }: ShownEntry, trees: SignedTrees): void {
  const entry = entryOf(opening)
  for (const { treeSize, path } of inclusion) {
    const tree = trees.get(treeSize)
    if (tree === undefined) throw verificationError(`The bundle has no checkpoint of ${treeSize} entries`)
    const claim = { leafHash: leafHash(entry), leafIndex: position ?? -1, treeSize, proof: path, root: tree.root }
    if (!verifyInclusion(claim))
      throw verificationError(`The entry ${toHex(entry)} is not in the tree of ${treeSize} entries`)
  }
}

/** The first key is entry 0, and the positions of keys ascend. */
export function assertKeyPositions(keys: readonly ShownEntry[]): void {
  for (const [i, { position = 0 }] of keys.entries()) {
    const previous = keys[i - 1]?.position
    if (previous === undefined ? position !== 0 : position <= previous)
      throw verificationError('The positions of the keys must begin at 0 and ascend')
  }
}

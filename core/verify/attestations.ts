import { encodeUtf8, equalBytes, fromHex, sha256HexOfText, toHex } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import type { ValidationData } from '../ports/index.ts'
import { verifyEvmAnchor } from './chain/evm-anchor.ts'
import { assertSigned, parseBlock } from './chain/ledger-block.ts'
import { countsFor, type VerifiedTree, type VerifiedTrees, type Verification } from './checkpoint.ts'
import type { AuthorityClaim, BundleAnchorClaim, TimestampClaim, Unchecked } from './claims.ts'
import {
  isCosigned,
  PINNED_COSIGNATURE_COST,
  verifyCosignatures,
  witnessedBy,
  type Cosignatures,
  type VerifyMlDsa44,
  type Witnessed,
} from './cosignatures.ts'
import type { TreeRange } from '../log/attestation-rules.ts'
import type { PinnedChain, Policy } from './policy.ts'
import type { ShownAnchor, ShownBundle, ShownRenewal } from './shown.ts'
import { LOCAL_TEST_NOTICE, type TokenVerifier } from './token-verifier.ts'
import { isObject, parseUntrustedJson } from './untrusted.ts'

/** What witnesses, timestamp authorities and chains attest of the trees of a bundle. */

/** All that attests a tree of a bundle. It holds for every entry of the tree. */
export interface Attestations {
  readonly timestamp: TimestampClaim | undefined
  readonly anchors: readonly BundleAnchorClaim[]
  /** Of this tree or of a larger one, which begins with it. */
  readonly witnessed: Witnessed
}

/** What attestations are verified with. */
export interface AttestationContext {
  readonly policy: Policy
  /** Whether it is the caller's own policy, not the bundle's. */
  readonly isPinned: boolean
  readonly run: Verification
  /** `undefined`: tokens are not checked. */
  readonly tokens?: TokenVerifier | undefined
  readonly mlDsa44?: VerifyMlDsa44 | undefined
  readonly validationData?: readonly ValidationData[]
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean | undefined
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
  // A check that was left out could have changed what is proven.
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

/** The entry of a token in the log, and when a later independent stamp shows that it was there, ms since 1970. */
interface LoggedToken {
  readonly position: number
  readonly at: number
}

// -- timestamp authorities

/** What the tokens of one tree are verified with. */
interface StampContext extends AttestationContext {
  /** Certificates, CRLs and OCSP responses from the bundle and the caller, shared by all tokens. */
  readonly validationData: readonly ValidationData[]
  /** By the SHA-256 (hex) of a token. */
  readonly logged: ReadonlyMap<string, LoggedToken>
}

/** The different certificates in tokens. A token that is malformed has none, and fails when it is verified. */
function embeddedCertificates(
  tokens: readonly Uint8Array[],
  { tokens: verifier, run: { budget } }: AttestationContext,
): readonly ValidationData[] {
  const readable = (der: Uint8Array): readonly Uint8Array[] => {
    try {
      if (verifier === undefined) return []
      return budget.onceForAll(['certificates', budget.hashOf(der)], () => verifier.certificatesIn(der, budget))
    } catch (error) {
      if (budget.isExceeded) throw error
      return []
    }
  }
  const certificates = tokens.flatMap(readable).map((der) => [budget.hashOf(der), der] as const)
  return [...new Map(certificates).values()].map((der) => ({ type: 'certificate', der }))
}

/** A verified token, with the SHA-256 (hex) of its signer's public key. */
interface TokenClaim {
  readonly claim: AuthorityClaim
  readonly signerKey: string
}

/**
 * A quorum of k authorities vouches for the time of the k-th: all of them say that the data existed by then. The
 * operator's own authority counts only if there are not k others.
 */
function stampOf(
  { noteBytes, size, shown }: VerifiedTree,
  context: StampContext,
): Pick<Attestations, 'timestamp'> & { readonly tokens: readonly TokenClaim[] } {
  const {
    policy,
    run: { budget, doubt },
    tokens: verifier,
  } = context
  const { authorities: pinned = [] } = policy
  const quorum = quorumOf(policy, size)
  const verified: TokenClaim[] = []
  if (pinned.length > 0 && verifier !== undefined)
    for (const der of shown.tokens)
      try {
        verified.push(tokenClaim(der, { data: noteBytes, size }, verifier, context))
      } catch (error) {
        if (budget.isExceeded) throw error
        doubt(broken(`a timestamp of the tree of ${size} entries`, error))
      }
  const sorted = verified.toSorted((a, b) => latestTime(a.claim) - latestTime(b.claim))
  const independent = lastOf(
    sorted.filter(({ claim }) => !claim.isLocalTest),
    quorum,
  )
  const last = independent ?? lastOf(sorted, quorum)
  const claims = differentOf(sorted).map(({ claim }) => claim)
  if (last !== undefined) {
    for (const unchecked of uncheckedRevocations(claims)) doubt(unchecked)
    const isLocalTest = independent === undefined
    return { tokens: sorted, timestamp: { notLaterThan: latestTime(last.claim), isLocalTest, authorities: claims } }
  }
  const why =
    pinned.length === 0
      ? 'No timestamp authority is pinned'
      : shown.tokens.length === 0
        ? 'It has no token'
        : verifier === undefined
          ? 'No token verifier was passed: pass `tokens` of evidence-registry/verify/tokens'
          : `The policy asks for timestamps of ${quorum} pinned authorities, and it has those of ${claims.length}`
  if (shown.tokens.length > 0 || (pinned.length > 0 && shown.anchors.length === 0))
    doubt({ what: `timestamps of the tree of ${size} entries`, why })
  return { tokens: sorted, timestamp: undefined }
}

/** The token that completes a quorum, of tokens with ascending times. */
const lastOf = (sorted: readonly TokenClaim[], quorum: number): TokenClaim | undefined =>
  sorted.find((_, i) => differentOf(sorted.slice(0, i + 1)).length >= quorum)

const quorumOf = ({ timestampQuorums = [], timestampQuorum = 1 }: Policy, size: number): number =>
  timestampQuorums.find(({ ranges }) => countsFor(size, ranges))?.quorum ?? timestampQuorum

/** Whether a quorum of authorities had stamped a tree by this time, ms since 1970. */
const isStampedAt = (time: number, tokens: readonly TokenClaim[], quorum: number): boolean =>
  differentOf(tokens.filter(({ claim }) => claim.genTime <= time)).length >= quorum

/** Ours have up to 200 characters, and may quote a value. */
const MAX_REASON = 500

/** Something that does not count, because it breaks a rule. */
function broken(what: string, error: unknown): Unchecked {
  if (!isRegistryError(error)) throw error
  const { message, rule } = error
  // An attacker's tokens can all name one OID of 100 kB.
  return { what, why: message.slice(0, MAX_REASON), ...(rule && { rule }) }
}

function tokenClaim(
  der: Uint8Array,
  { data, size }: { readonly data: Uint8Array; readonly size: number },
  { verifyToken }: TokenVerifier,
  { policy: { authorities = [] }, validationData, run: { budget }, logged }: StampContext,
): TokenClaim {
  const { at: renewedAt, position = Infinity } = logged.get(budget.hashOf(der)) ?? {}
  const trustAnchors = budget.once(authorities, () => authorities.flatMap((authority) => authority.trustAnchors))
  // The same for all tokens of the bundle, of which there can be thousands.
  const pieces = budget.once('validation data', () =>
    sha256HexOfText(JSON.stringify(validationData.map((piece) => [piece.type, budget.hashOf(piece.der)]))),
  )
  const key = ['token', renewedAt, pieces, ...[der, data, ...trustAnchors].map((bytes) => budget.hashOf(bytes))]
  const { info, certificates, revocation, signerKey } = budget.onceForAll(key, () =>
    verifyToken(der, { data, trustAnchors, validationData, budget, ...(renewedAt !== undefined && { renewedAt }) }),
  )
  const pinned = authorities.filter((authority) =>
    authority.trustAnchors.some((anchor) => certificates.some((certificate) => equalBytes(certificate, anchor))),
  )
  if (pinned.length === 0) throw verificationError('certificate.not-trusted', 'It is of another authority')
  // The thief of an abandoned authority can stamp old trees, but cannot put the token into the log.
  const isBefore = ({ until }: TreeRange): boolean => until === null || position < until
  const authority = pinned.find(({ ranges }) => countsFor(size, ranges?.filter(isBefore)))
  if (authority === undefined)
    throw verificationError(
      'timestamp.not-in-use',
      'Its authority was not in use for this tree, or the bundle does not prove that the log got the token meanwhile',
    )
  const { genTime, accuracyMs = 0, notLaterThan, serialNumber, policy } = info
  const { name } = authority
  const isLocalTest = budget.once(authority, () => authority.trustAnchors.some(isOfLocalTest))
  const claim = { name, genTime, accuracyMs, notLaterThan, serialNumber, policy, isLocalTest, revocation }
  return { claim, signerKey }
}

const isOfLocalTest = (der: Uint8Array): boolean => new TextDecoder('latin1').decode(der).includes(LOCAL_TEST_NOTICE)

/** The latest true time that a token allows, ms since 1970. */
const latestTime = ({ notLaterThan }: AuthorityClaim): number => notLaterThan

/** The largest part in which no two are of one authority: neither of one name, nor of one signer's key. */
function differentOf(
  [first, ...rest]: readonly TokenClaim[],
  taken: readonly TokenClaim[] = [],
): readonly TokenClaim[] {
  if (first === undefined) return taken
  const without = differentOf(rest, taken)
  if (taken.some(({ claim, signerKey }) => claim.name === first.claim.name || signerKey === first.signerKey))
    return without
  const withFirst = differentOf(rest, [...taken, first])
  return withFirst.length >= without.length ? withFirst : without
}

/** The authorities whose certificates may have been revoked, as far as the bundle shows. */
const uncheckedRevocations = (authorities: readonly AuthorityClaim[]): readonly Unchecked[] =>
  authorities
    .filter(({ revocation }) => revocation.some(({ state }) => state === 'unknown'))
    .map(({ name, revocation }) => ({
      what: `revocation of ${name}`,
      why: `No CRL or OCSP response covers each of its certificates${whyUnusable(revocation)}`,
    }))

const whyUnusable = (revocation: AuthorityClaim['revocation']): string =>
  revocation.flatMap((status) => ('why' in status ? [`; one cannot be used: ${status.why}`] : []))[0] ?? ''

// -- chains

/** A transaction's sender is recovered from its signature in JavaScript, in Node as well. */
const ANCHOR_COST = 8

function anchorOf(
  anchor: ShownAnchor,
  { noteBytes, size }: VerifiedTree,
  { policy, run: { budget, doubt }, isBlockOnChain }: AttestationContext,
): readonly BundleAnchorClaim[] {
  const { proof: _, ...shown } = anchor
  const { type, network, chainId, blockNumber, blockHash } = anchor
  const what = `the anchor in block ${blockNumber} of ${network.slice(0, 64)}`
  const isOfChain = (one: PinnedChain): boolean =>
    one.type === type && one.network === network && one.chainId === chainId && countsFor(size, one.ranges)
  let doubted: Unchecked = { what, why: 'No account of this chain is pinned' }
  for (const chain of (policy.chains ?? []).filter(isOfChain))
    try {
      budget.spend(ANCHOR_COST)
      const key = ['anchor', chain.account, toHex(noteBytes), ...Object.values(anchor)]
      const verified = budget.onceForAll(key, () => verifyAnchorProof(anchor, chain, noteBytes))
      if (typeof verified === 'string') throw verificationError('anchor.malformed', verified)
      const isOnChain = verified.isBlockFinal || isBlockOnChain?.(shown)
      if (isOnChain === false)
        throw verificationError('anchor.not-on-chain', `The block ${blockHash} is not part of the chain ${network}`)
      const isBlockFinal = isOnChain === true
      if (!isBlockFinal) doubt({ what, why: `Ask a node whether the block ${blockHash} is part of the chain` })
      const isLocalTest = shown.type === 'local'
      return [{ ...shown, account: chain.account, isLocalTest, blockTime: verified.blockTime, isBlockFinal }]
    } catch (error) {
      if (budget.isExceeded) throw error
      doubted = broken(what, error)
    }
  doubt(doubted)
  return []
}

/** What an anchor's own proof shows, offline. */
export interface VerifiedAnchor {
  /** ms since 1970: the time that the block states. */
  readonly blockTime: number
  /**
   * Whether the proof itself shows that the block belongs to the chain. False for `evm`: anyone can make a header, so a
   * node must be asked.
   */
  readonly isBlockFinal: boolean
}

/** A proof of the EVM has some 10 KB, one of the ledger up to 23 KB. A longer one would only cost time. */
const MAX_PROOF_LENGTH = 131_072
const CHAIN_HASH = /^0x[0-9a-f]{64}$/

/**
 * Verifies that an account put a checkpoint into a block, with the proof that the chain's adapter made.
 *
 * @param noteBytes The note with the log's signature alone.
 * @returns A text if this kind of proof cannot be checked, with the reason.
 * @throws `VERIFICATION_FAILED`
 */
export function verifyAnchorProof(
  anchor: ShownAnchor,
  { account }: PinnedChain,
  noteBytes: Uint8Array,
): VerifiedAnchor | string {
  if (anchor.proof.length > MAX_PROOF_LENGTH) return `Its proof has more than ${MAX_PROOF_LENGTH} characters`
  if (anchor.type === 'local') return verifyLedgerAnchor(anchor, account, noteBytes)
  if (anchor.type !== 'evm') return `Proofs of the type ${anchor.type.slice(0, 32)} are not known`
  const { chainId, txHash, blockHash, blockNumber, proof } = anchor
  // One spelling only: the claims show both as the bundle has them.
  if (!CHAIN_HASH.test(txHash) || !CHAIN_HASH.test(blockHash))
    throw verificationError('anchor.malformed', 'txHash and blockHash must be 0x and 64 lowercase hex digits')
  const value = parseUntrustedJson(proof, "The anchor's proof")
  if (isObject(value) && value['inclusion'] === null)
    return 'The proof does not show that the block includes the transaction: ask a node of the chain'
  const expected = { chainId, account, checkpoint: noteBytes, txHash, blockHash }
  const verified = verifyEvmAnchor(encodeUtf8(proof), expected)
  if (verified.blockNumber !== blockNumber) throw otherBlock()
  return { blockTime: verified.blockTime, isBlockFinal: false }
}

const otherBlock = (): Error =>
  verificationError('anchor.block-differs', "blockHash or blockNumber is not that of the anchor's block")

function verifyLedgerAnchor(
  { proof, txHash, blockHash, blockNumber }: ShownAnchor,
  account: string,
  noteBytes: Uint8Array,
): VerifiedAnchor {
  const publicKey = fromHex(account)
  if (publicKey === undefined)
    throw verificationError('anchor.account-differs', 'The pinned account of a local ledger must be a key in hex')
  const block = parseBlock(encodeUtf8(proof))
  assertSigned(block, publicKey)
  if (block.hash !== blockHash || block.height !== blockNumber) throw otherBlock()
  const transaction = block.transactions.find(({ hash }) => hash === txHash)
  if (transaction === undefined)
    throw verificationError('anchor.not-in-block', 'The block does not hold the transaction')
  if (!equalBytes(transaction.input, noteBytes))
    throw verificationError('anchor.checkpoint-differs', 'The transaction holds another checkpoint')
  return { blockTime: block.time, isBlockFinal: true }
}

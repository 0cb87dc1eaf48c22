import { concatBytes, encodeUtf8, equalBytes, fromHex } from '../bytes.ts'
import { isError, isRegistryError, verificationError } from '../errors.ts'
import { ED25519_COSIGNATURE, usableKey, verifySignature, type SignedNote } from '../log/note.ts'
import type { ValidationData } from '../ports/index.ts'
import { verifyEvmAnchor } from './chain/evm-anchor.ts'
import { assertSigned, parseBlock } from './chain/ledger-block.ts'
import type { VerifiedTree, VerifiedTrees, Verification } from './checkpoint.ts'
import type { AuthorityClaim, BundleAnchorClaim, Cosignature, TimestampClaim, Unchecked } from './claims.ts'
import type { Witness, WitnessGroup } from './policy-text.ts'
import type { PinnedChain, Policy } from './policy.ts'
import type { ShownAnchor, ShownBundle } from './shown.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { isObject, parseUntrustedJson, type SignatureBudget } from './untrusted.ts'

/** What witnesses, timestamp authorities and chains attest of the trees of a bundle. */

/** All that attests a tree of a bundle. It holds for every entry of the tree. */
export interface Attestations {
  readonly witnesses: readonly Cosignature[]
  readonly timestamp: TimestampClaim | undefined
  readonly anchors: readonly BundleAnchorClaim[]
  /** The quorums of the policy that are not reached. */
  readonly missing: readonly string[]
}

/** What attestations are verified with. */
export interface AttestationContext {
  readonly policy: Policy
  readonly run: Verification
  /** `undefined`: tokens are not checked. */
  readonly tokens?: TokenVerifier | undefined
  readonly validationData?: readonly ValidationData[]
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean
}

/**
 * Verifies what authorities, chains and witnesses attest of each tree, by its size. Runs last, because tokens take the
 * most time. Throws `VERIFICATION_FAILED`.
 */
export function verifyAttestations(
  bundle: ShownBundle,
  trees: VerifiedTrees,
  context: AttestationContext,
): ReadonlyMap<number, Attestations> {
  const { witnesses: required = { threshold: 0, members: [] } } = context.policy
  const { budget } = context.run
  const stamps = verifyStamps(bundle, trees, context)
  const attestations = new Map<number, Attestations>()
  for (const [size, tree] of trees) {
    const { timestamp, missing = [] } = stamps.get(size) ?? {}
    const { witnesses, isMet } = verifyCosignatures(tree.note, required, budget)
    const anchors = tree.shown.anchors.flatMap((anchor) => anchorOf(anchor, tree, context))
    const tooFew = isMet ? [] : [`Too few of the required witnesses have cosigned the tree of ${size} entries`]
    attestations.set(size, { witnesses, anchors, timestamp, missing: [...missing, ...tooFew] })
  }
  // The functions above throw as well. A check that was left out could have refuted the bundle.
  if (budget.isExceeded) throw verificationError('limit.signatures', 'The bundle needs too many signature checks')
  return attestations
}

// -- witnesses: cosignatures (https://c2sp.org/tlog-cosignature), with Ed25519 keys of the type 04

const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
/** The largest time that is read, in seconds: the end of the year 9999. */
const MAX_SECONDS = 253_402_300_799n

/**
 * Verifies the cosignatures of a note by the witnesses of a policy. Lines of other keys are ignored, as C2SP specifies.
 * Throws `VERIFICATION_FAILED` if a witness's line does not verify.
 */
function verifyCosignatures(
  note: SignedNote,
  required: WitnessGroup,
  budget: SignatureBudget,
): { readonly witnesses: readonly Cosignature[]; readonly isMet: boolean } {
  const held = new Map<Witness, Cosignature>()
  for (const witness of witnessesOf(required)) {
    const cosignature = verifyCosignature(note, witness, budget)
    if (cosignature !== undefined) held.set(witness, cosignature)
  }
  return { witnesses: [...held.values()], isMet: isMet(required, held) }
}

const isGroup = (member: Witness | WitnessGroup): member is WitnessGroup => 'members' in member

const witnessesOf = ({ members }: WitnessGroup): readonly Witness[] =>
  members.flatMap((member) => (isGroup(member) ? witnessesOf(member) : [member]))

const isMet = ({ threshold, members }: WitnessGroup, held: ReadonlyMap<Witness, Cosignature>): boolean =>
  members.filter((member) => (isGroup(member) ? isMet(member, held) : held.has(member))).length >= threshold

function verifyCosignature(
  { text, signatures }: SignedNote,
  witness: Witness,
  budget: SignatureBudget,
): Cosignature | undefined {
  const { name } = witness
  const key = budget.once(witness, () => usableKey(witness.vkey, ED25519_COSIGNATURE))
  const line = key && signatures.find((one) => one.name === key.name && equalBytes(one.keyId, key.keyId))
  if (key === undefined || line === undefined) return undefined
  const { signature } = line
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES)
    throw verificationError('witness.malformed', `The cosignature of ${name} has another length`)
  const seconds = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)
  if (seconds === 0n || seconds > MAX_SECONDS)
    throw verificationError('witness.malformed', `The time of the cosignature of ${name} is not a time`)
  const signed = concatBytes(encodeUtf8(`cosignature/v1\ntime ${seconds}\n`), encodeUtf8(text))
  budget.spend()
  if (!verifySignature(key.publicKey, signed, signature.subarray(TIME_BYTES)))
    throw verificationError('witness.signature', `The cosignature of ${name} does not verify`)
  return { name, time: Number(seconds) * 1000 }
}

// -- timestamp authorities

/** What the tokens of one tree are verified with. */
interface StampContext extends AttestationContext {
  /** Certificates, CRLs and OCSP responses from the bundle and the caller, shared by all tokens. */
  readonly validationData: readonly ValidationData[]
  /** By the SHA-256 (hex) of a token: when a later stamp proves that it existed. */
  readonly renewedAt: ReadonlyMap<string, number>
}

type Stamp = Partial<Pick<Attestations, 'timestamp' | 'missing'>>

/**
 * The timestamp of each tree, by its size. The largest tree comes first: its tokens show when the tokens in it existed.
 */
function verifyStamps(
  { renewals, checkpoints, validationData }: ShownBundle,
  trees: VerifiedTrees,
  context: AttestationContext,
): ReadonlyMap<number, Stamp> {
  const isChecked = (context.policy.authorities ?? []).length > 0
  const embedded = embeddedCertificates(isChecked ? checkpoints.flatMap(({ tokens }) => tokens) : [], context)
  const pieces = [...(context.validationData ?? []), ...validationData, ...embedded]
  const renewedAt = new Map<string, number>()
  const stamps = new Map<number, Stamp>()
  for (const tree of [...trees.values()].toReversed()) {
    const stamp = stampOf(tree, { ...context, validationData: pieces, renewedAt })
    stamps.set(tree.size, stamp)
    const time = stamp.timestamp?.notLaterThan
    if (time === undefined) continue
    for (const { token, inclusion } of renewals)
      if (inclusion.some(({ treeSize }) => treeSize === tree.size))
        renewedAt.set(token, Math.min(time, renewedAt.get(token) ?? time))
  }
  return stamps
}

/** The different certificates in tokens. A token that is malformed has none, and fails when it is verified. */
function embeddedCertificates(
  tokens: readonly Uint8Array[],
  { tokens: verifier, run: { budget } }: AttestationContext,
): readonly ValidationData[] {
  const readable = (der: Uint8Array): readonly Uint8Array[] => {
    try {
      return verifier?.certificatesIn(der, budget) ?? []
    } catch (error) {
      if (budget.isExceeded) throw error
      return []
    }
  }
  const certificates = tokens.flatMap(readable).map((der) => [budget.hashOf(der), der] as const)
  return [...new Map(certificates).values()].map((der) => ({ type: 'certificate', der }))
}

/** A token that does not verify counts for no authority. If the others are too few, it refutes the bundle. */
function stampOf({ noteBytes, size, shown }: VerifiedTree, context: StampContext): Stamp {
  const {
    policy,
    run: { budget, doubt },
    tokens: verifier,
  } = context
  const { authorities: pinned = [], timestampQuorum = 1 } = policy
  if (shown.tokens.length === 0) return {}
  if (pinned.length === 0 || verifier === undefined) {
    const why = pinned.length === 0 ? 'No timestamp authority is pinned' : NO_VERIFIER
    doubt({ what: `timestamps of the tree of ${size} entries`, why })
    return {}
  }
  const claims: AuthorityClaim[] = []
  const rejected: Error[] = []
  for (const der of shown.tokens)
    try {
      claims.push(authorityOf(der, noteBytes, verifier, context))
    } catch (error) {
      if (budget.isExceeded) throw error
      rejected.push(isError(error) ? error : new Error(String(error)))
    }
  const authorities = earliestOfEach(claims)
  const last = authorities[timestampQuorum - 1]
  const forged = rejected.find((error) => !isRegistryError(error) || error.rule !== 'certificate.not-trusted')
  if (last === undefined && forged !== undefined) throw forged
  for (const { message } of rejected) doubt({ what: `a timestamp of the tree of ${size} entries`, why: message })
  if (last === undefined) {
    const expected = `Expected timestamps of ${timestampQuorum} pinned authorities over the tree of ${size} entries`
    return { missing: [`${expected}, got ${authorities.length}`] }
  }
  for (const unchecked of uncheckedRevocations(authorities)) doubt(unchecked)
  return { timestamp: { notLaterThan: latestTime(last), authorities } }
}

/** Why tokens are not checked. */
const NO_VERIFIER = 'No token verifier was passed: pass `tokens` of evidence-registry/verify/tokens'

function authorityOf(
  der: Uint8Array,
  data: Uint8Array,
  { verifyToken }: TokenVerifier,
  { policy: { authorities = [] }, validationData, run: { budget }, renewedAt }: StampContext,
): AuthorityClaim {
  const renewed = renewedAt.get(budget.hashOf(der))
  const { info, certificates, revocation } = verifyToken(der, {
    data,
    trustAnchors: budget.once(authorities, () => authorities.flatMap(({ trustAnchors }) => trustAnchors)),
    validationData,
    budget,
    ...(renewed !== undefined && { renewedAt: renewed }),
  })
  const authority = authorities.find(({ trustAnchors }) =>
    trustAnchors.some((anchor) => certificates.some((certificate) => equalBytes(certificate, anchor))),
  )
  if (authority === undefined) throw verificationError('certificate.not-trusted', 'It is of another authority')
  const { genTime, accuracyMs = 0, notLaterThan, serialNumber, policy } = info
  return { name: authority.name, genTime, accuracyMs, notLaterThan, serialNumber, policy, revocation }
}

/** The latest true time that a token allows, ms since 1970. */
const latestTime = ({ notLaterThan }: AuthorityClaim): number => notLaterThan

/**
 * The claim of each authority, which counts once, by its earliest token. In the order of their latest times, so that a
 * quorum of k authorities vouches for the time of the k-th: all of them say that the data existed by then.
 */
function earliestOfEach(claims: readonly AuthorityClaim[]): readonly AuthorityClaim[] {
  const earliest = new Map<string, AuthorityClaim>()
  for (const claim of claims.toSorted((a, b) => latestTime(a) - latestTime(b)))
    if (!earliest.has(claim.name)) earliest.set(claim.name, claim)
  return [...earliest.values()]
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
  { noteBytes }: VerifiedTree,
  { policy, run: { budget, doubt }, isBlockOnChain }: AttestationContext,
): readonly BundleAnchorClaim[] {
  const { proof: _, ...shown } = anchor
  const { type, network, chainId, blockNumber, blockHash } = anchor
  const what = `the anchor in block ${blockNumber} of ${network.slice(0, 64)}`
  const chain = policy.chains?.find((one) => one.type === type && one.network === network && one.chainId === chainId)
  const notVerified = (why: string): readonly [] => {
    doubt({ what, why })
    return []
  }
  if (chain === undefined) return notVerified('No account of this chain is pinned')
  budget.spend(ANCHOR_COST)
  const verified = verifyAnchorProof(anchor, chain, noteBytes)
  if (typeof verified === 'string') return notVerified(verified)
  if (!verified.isBlockFinal && isBlockOnChain?.(shown) === false)
    throw verificationError('anchor.not-on-chain', `The block ${blockHash} is not part of the chain ${network}`)
  const isBlockFinal = verified.isBlockFinal || isBlockOnChain !== undefined
  if (!isBlockFinal) doubt({ what, why: `Ask a node whether the block ${blockHash} is part of the chain` })
  return [{ ...shown, account: chain.account, blockTime: verified.blockTime, isBlockFinal }]
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

import { verifyKeyChain } from '../commitment/log-entry.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { parseVerifierKey } from '../log/note.ts'
import type { ValidationData } from '../ports/index.ts'
import {
  assertIncluded,
  assertKeyPositions,
  verifyAttestations,
  verifyTrees,
  type Attestations,
  type CheckpointContext,
  type SignedTrees,
} from './bundle-checkpoints.ts'
import { parseBundle, type ShownAnchor, type ShownBundle, type ShownBundleEvent } from './bundle-document.ts'
import { deletionIn, holdsFile, verifyEvents, type CommittedEvent } from './bundle-events.ts'
import type { BundleClaims, BundleEventClaims, BundleFileClaim, Unchecked } from './claims.ts'
import { parsePolicy, type Policy } from './policy.ts'
import { embeddedCertificates, type TokenContext } from './token-quorum.ts'
import { MAX_SIGNATURE_CHECKS, SignatureBudget, asHash } from './untrusted.ts'
import type { TokenVerifier } from './token-verifier.ts'

/**
 * The checks of a bundle in their order:
 *
 * - `document`: the bundle is well-formed.
 * - `keys`: its keys belong to its log, and the policy pins one of them.
 * - `events`: every event hashes to its txId, and they have one subject.
 * - `checkpoint`: the log signed the trees, each of which extends the tree before it.
 * - `inclusion`: every event is in these trees.
 * - `attestations`: the cosignatures, tokens and anchors are valid.
 * - `expected`: the bundle is about what the caller expects and requires.
 */
export type BundleCheck = 'document' | 'keys' | 'events' | 'checkpoint' | 'inclusion' | 'attestations' | 'expected'

/**
 * What a verification found. Only `refuted` says that something is wrong:
 *
 * - `proven`: every event is in the log, by keys that the policy pins.
 * - `consistent`: the bundle agrees with its own policy, which anyone can make. No policy was pinned.
 * - `pending`: nothing is wrong, but an event is not in a signed tree yet.
 * - `requirement`: it holds, but something that `require` names is missing.
 * - `not-comparable`: it holds, but it discloses no hash to compare one of the `contents` with.
 * - `other-log`: it is of another log than the policy's, so nothing is said about it.
 * - `refuted`: the check in `check` failed. The checks after it did not run, and there are no claims.
 */
export type BundleResult =
  | {
      readonly state: 'proven' | 'consistent' | 'pending'
      readonly claims: BundleClaims
      readonly unchecked: readonly Unchecked[]
    }
  | {
      readonly state: 'requirement' | 'not-comparable'
      readonly reason: string
      readonly claims: BundleClaims
      readonly unchecked: readonly Unchecked[]
    }
  | {
      readonly state: 'other-log' | 'refuted'
      readonly check: BundleCheck
      readonly reason: string
      readonly unchecked: readonly Unchecked[]
    }

export interface VerifyBundleOptions {
  /** What you pin, from a source that you trust (`parsePolicy`). Default: the bundle's own word. */
  readonly policy?: Policy
  /** `tokens` of `evidence-registry/verify/tokens`. Default: tokens are not checked, and prove nothing. */
  readonly tokens?: TokenVerifier | undefined
  /** What the bundle must be about: its subject's txId (hex), the id of its file. */
  readonly expect?: { readonly txId?: string; readonly fileId?: string }
  /** Contents that must be those of files of the bundle: SHA-256 in hex and size in bytes. */
  readonly contents?: readonly { readonly name: string; readonly sha256: string; readonly size: number }[]
  /** What every event must have, else the state is `requirement`. Default: nothing. */
  readonly require?: readonly ('timestamp' | 'anchor')[]
  /** Your own certificates, CRLs and OCSP responses for the tokens. */
  readonly validationData?: readonly ValidationData[]
  /** Whether a block belongs to its chain, as a node said beforehand. Default: not known. */
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean
}

/**
 * Verifies a proof bundle, offline (`core/registry/proof/README.md`). Every claim in the result holds, also for a
 * bundle that an attacker made, or that was put together from pieces of several bundles.
 *
 * @param text The bundle's text. Untrusted: whatever it holds, the function returns a result and does not throw.
 * @example
 * const result = verifyBundle(await readFile('VIN-1.evidence.json', 'utf8'), { policy, tokens })
 * if (result.state === 'proven') console.log(result.claims.events.length)
 */
export function verifyBundle(text: string, options: VerifyBundleOptions = {}): BundleResult {
  const unchecked = new Map<string, Unchecked>()
  const doubt = (one: Unchecked): void => void unchecked.set(`${one.what}: ${one.why}`, one)
  let current: BundleCheck = 'document'
  const check = <T>(name: BundleCheck, step: () => T): T => {
    current = name
    return step()
  }
  try {
    const bundle = check('document', () => parseBundle(text))
    const reason = otherLog(bundle, options)
    if (reason !== undefined) return { state: 'other-log', check: 'keys', reason, unchecked: [] }
    const policy = check('keys', () => policyFor(bundle, options))
    const events = check('events', () => verifyEvents(bundle))
    const context = contextOf(bundle, policy, doubt, options)
    const trees = check('checkpoint', () => verifyTrees(bundle, context))
    check('inclusion', () => assertEventsIncluded(bundle.events, trees))
    const attested = check('attestations', () => verifyAttestations(bundle.renewals, trees, context))
    const claims = check('expected', () => claimsOf(bundle, events, attested, options))
    if (options.policy === undefined)
      doubt({ what: 'the keys of the log', why: "No policy is pinned: this is the bundle's own word" })
    if (claims.isHistory) doubt({ what: 'later versions', why: 'A bundle cannot show that it has the newest version' })
    return { ...verdictOn(claims, options), claims, unchecked: [...unchecked.values()] }
  } catch (error) {
    const reason = isRegistryError(error) ? error.message : `The bundle cannot be verified: ${String(error)}`
    return { state: 'refuted', check: current, reason, unchecked: [...unchecked.values()] }
  }
}

/** Why a bundle is not about the pinned log; `undefined` if it is, or if nothing is pinned. */
function otherLog({ origin }: ShownBundle, { policy }: VerifyBundleOptions): string | undefined {
  return policy === undefined || pins(policy, origin) ? undefined : `The policy pins no key of the log ${origin}`
}

const pins = ({ keys }: Policy, origin: string): boolean =>
  keys.some(({ vkey }) => parseVerifierKey(vkey).name === origin)

type Verdict =
  | { readonly state: 'proven' | 'consistent' | 'pending' }
  | { readonly state: 'requirement' | 'not-comparable'; readonly reason: string }

/** What follows from claims that hold. */
function verdictOn(
  { events, contents: found }: BundleClaims,
  { policy, contents = [], require = [] }: VerifyBundleOptions,
): Verdict {
  if (found.length < contents.length) {
    const names = contents.map(({ name }) => name).filter((name) => !found.some((one) => one.name === name))
    const reason = `No disclosed file has the content of ${names.join(', ')}, and some files are not disclosed`
    return { state: 'not-comparable', reason }
  }
  if (events.some(({ log }) => log === undefined)) return { state: 'pending' }
  const reason = missingIn(events, require)
  if (reason !== undefined) return { state: 'requirement', reason }
  return { state: policy === undefined ? 'consistent' : 'proven' }
}

/**
 * The pinned policy or, without one, that of the bundle itself or at least its own keys. It must pin the bundle's log.
 */
function policyFor({ claimedPolicy, keys, origin }: ShownBundle, { policy: pinned }: VerifyBundleOptions): Policy {
  const policy = pinned ?? (claimedPolicy === undefined ? ownPolicyOf(keys) : parsePolicy(claimedPolicy))
  if (!pins(policy, origin)) throw verificationError(`The policy pins no key of the log ${origin}`)
  assertKeyPositions(keys)
  return policy
}

const ownPolicyOf = (keys: ShownBundle['keys']): Policy => ({
  keys: verifyKeyChain(keys.map(({ opening }) => opening)).map(({ vkey }) => ({ vkey })),
})

function contextOf(
  { checkpoints, validationData }: ShownBundle,
  policy: Policy,
  doubt: CheckpointContext['doubt'],
  { validationData: own = [], tokens: verifier, isBlockOnChain }: VerifyBundleOptions,
): CheckpointContext {
  const embedded = embeddedCertificates(
    checkpoints.flatMap(({ tokens }) => tokens),
    verifier,
  )
  const tokens: TokenContext = {
    verifier,
    authorities: policy.authorities ?? [],
    quorum: policy.timestampQuorum ?? 1,
    validationData: [...own, ...validationData, ...embedded],
    renewedAt: new Map(),
    budget: new SignatureBudget(MAX_SIGNATURE_CHECKS * (1 + checkpoints.length)),
  }
  return { policy, tokens, doubt, isBlockOnChain }
}

/** Later versions are later in the log, and after an event that is not sealed none is. Entry 0 is a key. */
function assertEventsIncluded(events: readonly ShownBundleEvent[], trees: SignedTrees): void {
  const positions = events.map(({ position = Infinity }) => position)
  for (const [i, position] of positions.entries())
    if (position <= (positions[i - 1] ?? 0) && position !== Infinity)
      throw verificationError('The positions of the events must ascend')
  for (const event of events) assertIncluded(event, trees)
}

function claimsOf(
  bundle: ShownBundle,
  committed: readonly CommittedEvent[],
  attested: ReadonlyMap<number, Attestations>,
  { expect = {}, contents = [] }: VerifyBundleOptions,
): BundleClaims {
  const { origin, subject } = bundle
  const events = committed.map((event) => eventClaims(event, attested))
  const file = fileClaim(bundle, committed)
  if (expect.txId !== undefined && subject.txId !== expect.txId.toLowerCase())
    throw verificationError(`The bundle is about another event than ${expect.txId}`)
  if (expect.fileId !== undefined && file?.fileId !== expect.fileId)
    throw verificationError(`The bundle is not about the file ${expect.fileId}`)
  return {
    origin,
    subject: subject.txId,
    events,
    isHistory: committed.every(({ header }) => header !== undefined),
    file,
    contents: contents.flatMap((content) => contentClaim(content, committed) ?? []),
  }
}

function eventClaims(event: CommittedEvent, attested: ReadonlyMap<number, Attestations>): BundleEventClaims {
  const { shown } = event
  const trees = shown.inclusion.flatMap(({ treeSize }) => attested.get(treeSize) ?? [])
  const timestamps = trees.flatMap(({ timestamp }) => timestamp ?? [])
  const anchors = trees.flatMap((tree) => tree.anchors)
  const times = [
    ...timestamps.map(({ notLaterThan }) => notLaterThan),
    ...anchors.filter(({ isBlockFinal }) => isBlockFinal).map(({ blockTime }) => blockTime),
  ]
  const treeSize = Math.min(...shown.inclusion.map((one) => one.treeSize))
  return {
    txId: event.txId,
    committedTime: event.time,
    log: shown.position === undefined ? undefined : { position: shown.position, treeSize },
    notLaterThan: times.length === 0 ? undefined : Math.min(...times),
    timestamps,
    anchors,
    witnesses: trees.flatMap(({ witnesses }) => witnesses),
    version: event.header?.version,
    fields: event.header?.fields ?? new Map(),
    hiddenFields: event.header?.hiddenFields ?? [],
    files: event.files ?? new Map(),
    hiddenFiles: event.hiddenFiles,
  }
}

/** The first event that lacks something required, and what it lacks. */
function missingIn(
  events: readonly BundleEventClaims[],
  require: NonNullable<VerifyBundleOptions['require']>,
): string | undefined {
  for (const { txId, timestamps, anchors } of events) {
    const held = { timestamp: timestamps.length > 0, anchor: anchors.some(({ isBlockFinal }) => isBlockFinal) }
    const missing = require.find((name) => !held[name])
    if (missing !== undefined) return `The event ${txId} has no verified ${missing}`
  }
  return undefined
}

function fileClaim({ subject }: ShownBundle, events: readonly CommittedEvent[]): BundleFileClaim | undefined {
  if (subject.type !== 'file') return undefined
  const { fileId, txId } = subject
  const event = events.find((one) => one.txId === txId)
  if (event === undefined || !holdsFile(event, fileId))
    throw verificationError(`The event ${txId} does not hold the file ${fileId}`)
  if (deletionIn(event, fileId) !== undefined) throw verificationError(`The event ${txId} deletes the file ${fileId}`)
  const deletedBy = events.find((one) => deletionIn(one, fileId)?.deleted === txId)?.txId
  const state = deletedBy === undefined ? (event.files?.has(fileId) === true ? 'attached' : 'listed') : 'deleted'
  return { fileId, state, event: txId, deletedBy }
}

/** The file that has a content. `undefined` if it may be one that is not disclosed. */
function contentClaim(
  { name, sha256: digest, size }: NonNullable<VerifyBundleOptions['contents']>[number],
  events: readonly CommittedEvent[],
): BundleClaims['contents'][number] | undefined {
  const hash = digest.toLowerCase()
  asHash(hash, `The SHA-256 of ${name}`)
  for (const { txId, files } of events)
    for (const file of files?.values() ?? [])
      if ('sha256' in file && file.sha256 === hash && file.size === size) return { name, fileId: file.id, txId }
  if (events.some(({ files, hiddenFiles }) => files === undefined || hiddenFiles.length > 0)) return undefined
  throw verificationError(`No file has the content of ${name}`)
}

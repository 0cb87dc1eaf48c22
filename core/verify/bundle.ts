import { assertKeyChain } from '../commitment/log-entry.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { usableKey } from '../log/note.ts'
import type { ValidationData } from '../ports/index.ts'
import { verifyAttestations, type Attestations } from './attestations.ts'
import { parseBundle } from './bundle-document.ts'
import {
  assertIncluded,
  assertKeyPositions,
  assertSameTree,
  verifyTrees,
  type Verification,
  type VerifiedTrees,
} from './checkpoint.ts'
import {
  FILE_VERDICTS,
  notLaterThanOf,
  type BundleCheck,
  type BundleClaims,
  type BundleEventClaims,
  type BundleFileClaim,
  type BundleResult,
  type ContentClaim,
  type Unchecked,
} from './claims.ts'
import { deletionIn, holdsFile, verifyEvents, type VerifiedBundleEvent } from './event.ts'
import type { VerificationRule } from '../rules.ts'
import { parsePolicy, type Policy } from './policy.ts'
import type { ShownAnchor, ShownBundle } from './shown.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { asHash, MAX_COST, SignatureBudget, type VerifierMemory } from './untrusted.ts'

/**
 * Verifies a proof bundle, offline (`core/SPECIFICATION.md`). Every claim in the result holds, also for a bundle that
 * an attacker made, or that was put together from pieces of several bundles.
 *
 * @param text The bundle's text. Untrusted: whatever it holds, the function returns a result and does not throw.
 * @throws `VERIFICATION_FAILED` for `contents` without a SHA-256, which is a mistake of the caller
 * @example
 * const result = verifyBundle(await readFile('VIN-1.evidence.json', 'utf8'), { policy, tokens })
 * if (result.state === 'proven') console.log(result.claims.events.length)
 */
export function verifyBundle(text: string, options: VerifyBundleOptions = {}): BundleResult {
  for (const { name, sha256 } of options.contents ?? []) asHash(sha256.toLowerCase(), `The SHA-256 of ${name}`)
  const run = new Run(options)
  try {
    const bundle = run.check('document', () => parseBundle(text))
    const policy = run.check('keys', () => policyFor(bundle, options, run.budget))
    const events = run.check('events', () => verifyEvents(bundle))
    const trees = run.check('checkpoint', () => verifyTrees(bundle, policy, run))
    run.check('inclusion', () => assertAllIncluded(bundle, trees))
    const attested = run.check('attestations', () =>
      verifyAttestations(bundle, trees, { ...options, policy, isPinned: options.policy !== undefined, run }),
    )
    run.check('checkpoint', () => assertInTreesThatCount(bundle, trees, attested))
    run.check('checkpoint', () =>
      trees.forEach((tree) => attested.has(tree.size) && assertSameTree(tree, options.policy, run.budget)),
    )
    const claims = run.check('expected', () => claimsOf(bundle, events, attested, options))
    return run.result(claims, attested)
  } catch (error) {
    return run.failure(error)
  }
}

export interface VerifyBundleOptions {
  /** What you pin, from a source that you trust (`parsePolicy`). Default: the bundle's own word. */
  readonly policy?: Policy
  /** `tokens` of `evidence-registry/verify/tokens`. Default: tokens are not checked, and prove nothing. */
  readonly tokens?: TokenVerifier | undefined
  /** What the bundle must be about: its subject's txId (hex), the id of its file. */
  readonly expect?: { readonly txId?: string; readonly fileId?: string }
  /** Contents to compare with the files of the bundle, for `file` of the result: SHA-256 in hex and size in bytes. */
  readonly contents?: readonly { readonly name: string; readonly sha256: string; readonly size: number }[]
  /** What every event must have, else the state is `requirement`. Default: nothing. */
  readonly require?: readonly ('timestamp' | 'anchor')[]
  /** Your own certificates, CRLs and OCSP responses for the tokens. */
  readonly validationData?: readonly ValidationData[]
  /** Pass the same one for many bundles of a log: what they share is verified once. Default: none. */
  readonly memory?: VerifierMemory
  /** Called when a check begins, to show progress. */
  readonly onCheck?: ((name: BundleCheck) => void) | undefined
  /** Whether a block belongs to its chain, as a node said beforehand; `undefined` and default: not known. */
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean | undefined
}

type Failure = Extract<BundleResult, { readonly check: BundleCheck }>['state']
/** What a rule says if it does not hold. All others refute, besides those of the form in the first two checks. */
const STATE_OF: { readonly [rule in VerificationRule]?: Failure } = {
  'keys.retired': 'retired-key',
  'document.format': 'unreadable',
  'document.newer': 'unreadable',
  'document.entry': 'unreadable',
  // What was not verified to the end contradicts nothing.
  'form.length': 'unreadable',
  'limit.signatures': 'unreadable',
  'verifier.failed': 'unreadable',
}
const STATE_UNDER_POLICY: typeof STATE_OF = { 'keys.not-pinned': 'other-log', 'keys.newer': 'newer-key' }

const NOT_IN_IT = ': later events, such as a theft, are not in it'

/** One verification of a bundle. */
class Run implements Verification {
  readonly budget: SignatureBudget
  readonly #options: VerifyBundleOptions
  readonly #unchecked = new Map<string, Unchecked>()
  #check: BundleCheck = 'document'

  constructor(options: VerifyBundleOptions) {
    this.#options = options
    this.budget = new SignatureBudget(MAX_COST, options.memory)
  }

  check<T>(name: BundleCheck, step: () => T): T {
    this.#check = name
    this.#options.onCheck?.(name)
    return step()
  }

  readonly doubt = (one: Unchecked): void => void this.#unchecked.set(`${one.what}: ${one.why}`, one)

  /** What follows from claims that hold. */
  result(claims: BundleClaims, attested: ReadonlyMap<number, Attestations>): BundleResult {
    if (this.#options.policy === undefined)
      this.doubt({ what: 'the keys of the log', why: "No policy is pinned: this is the bundle's own word" })
    this.doubt(
      claims.isHistory
        ? { what: 'later versions', why: `A bundle cannot show that it has the newest version${NOT_IN_IT}` }
        : {
            what: 'the history',
            why: `This is ${claims.events.length === 1 ? 'one event' : 'a part'} of it${NOT_IN_IT}`,
          },
    )
    const uncosigned = [...attested].find(([, { isCosigned }]) => !isCosigned)?.[0]
    const file = FILE_VERDICTS.find((verdict) => claims.contents.some(({ state }) => state === verdict))
    const verdict = { ...verdictOn(claims, uncosigned, this.#options), ...(file && { file }) }
    return { ...verdict, claims, unchecked: [...this.#unchecked.values()] }
  }

  /** What a policy does not know is not refuted, but what a bundle does not know of itself is. */
  failure(error: unknown): BundleResult {
    const { rule = 'verifier.failed', message: reason } = isRegistryError(error)
      ? error
      : { message: `The bundle cannot be verified: ${String(error)}` }
    // The form of the bundle or of its own policy is that of another program. The other checks read what was hashed.
    const isForm = rule.startsWith('form.') && (this.#check === 'document' || this.#check === 'keys')
    const known = (this.#options.policy && STATE_UNDER_POLICY[rule]) ?? STATE_OF[rule]
    const state = known ?? (isForm ? 'unreadable' : 'refuted')
    const unchecked = [...this.#unchecked.values()]
    return { state, check: this.#check, rule, reason, unchecked }
  }
}

/**
 * The pinned policy or, without one, that of the bundle itself or at least its own keys. It must pin the bundle's log,
 * to which the bundle's keys must belong.
 */
function policyFor(
  { claimedPolicy: claimed, keys, origin }: ShownBundle,
  { policy: pinned }: VerifyBundleOptions,
  budget: SignatureBudget,
): Policy {
  const parse = (text: string): Policy => budget.onceForAll(['policy', text], () => parsePolicy(text))
  const policy = pinned ?? (claimed === undefined ? { keys: keys.map(toPinned) } : parse(claimed))
  if (!isOfLog(policy, origin))
    throw verificationError('keys.not-pinned', `The policy pins no key of the log ${origin}`)
  assertKeyChain(keys, origin, () => budget.spend())
  assertKeyPositions(keys)
  return policy
}

/** Whether the policy pins a key of a log. */
export const isOfLog = ({ keys }: Policy, origin: string): boolean =>
  keys.some(({ vkey }) => usableKey(vkey)?.name === origin)

const toPinned = ({ vkey }: ShownBundle['keys'][number]): Policy['keys'][number] => ({ vkey })

type Verdict =
  | { readonly state: 'proven' | 'consistent' | 'pending' }
  | { readonly state: 'requirement'; readonly reason: string }

/** `uncosigned`: the size of a tree that too few witnesses cosigned. */
function verdictOn(
  { events }: BundleClaims,
  uncosigned: number | undefined,
  { policy, require = [] }: VerifyBundleOptions,
): Verdict {
  if (events.some(({ log }) => log === undefined)) return { state: 'pending' }
  const reason =
    uncosigned === undefined
      ? missingIn(events, require)
      : `Too few of the required witnesses have cosigned the tree of ${uncosigned} entries`
  if (reason !== undefined) return { state: 'requirement', reason }
  return { state: policy === undefined ? 'consistent' : 'proven' }
}

/** Later versions are later in the log, and after an event that is not sealed none is. Entry 0 is a key. */
function assertAllIncluded({ events, keys, renewals }: ShownBundle, trees: VerifiedTrees): void {
  for (const one of [...keys, ...renewals]) assertIncluded(one.entry, one, trees)
  let last = 0
  for (const { place, entry } of events) {
    if (place !== undefined && place.position <= last)
      throw verificationError('inclusion.order', 'The events are in another order in the log')
    last = place?.position ?? Infinity
    if (place !== undefined) assertIncluded(entry, place, trees)
  }
}

/** A retired key may have signed the others after others got to know it, and a thief's key may be unknown. */
function assertInTreesThatCount(
  { events }: ShownBundle,
  trees: VerifiedTrees,
  attested: ReadonlyMap<number, Attestations>,
): void {
  for (const { txId, place } of events) {
    const sizes = place?.inclusion.map(({ treeSize }) => treeSize) ?? []
    if (place === undefined || sizes.some((size) => attested.has(size))) continue
    if (sizes.some((size) => trees.get(size)?.key.unpinned === 'unknown'))
      throw verificationError(
        'keys.newer',
        'It is signed by a key that this policy does not know: fetch the newer policy',
      )
    throw verificationError('keys.retired', `Only trees that a retired key signed hold the event ${txId}`)
  }
}

function claimsOf(
  bundle: ShownBundle,
  verified: readonly VerifiedBundleEvent[],
  attested: ReadonlyMap<number, Attestations>,
  { expect = {}, contents = [] }: VerifyBundleOptions,
): BundleClaims {
  const { origin, subject } = bundle
  const events = verified.map((event) => eventClaims(event, attested))
  const file = fileClaim(bundle, verified)
  if (expect.txId !== undefined && subject.txId !== expect.txId.toLowerCase())
    throw verificationError('expected.subject', `The bundle is about another event than ${expect.txId}`)
  if (expect.fileId !== undefined && file?.fileId !== expect.fileId)
    throw verificationError('expected.subject', `The bundle is not about the file ${expect.fileId}`)
  return {
    origin,
    subject: subject.txId,
    events,
    isHistory: verified.every(({ header }) => header !== undefined),
    file,
    contents: contents.map((content) => contentClaim(content, verified)),
  }
}

function eventClaims(event: VerifiedBundleEvent, attested: ReadonlyMap<number, Attestations>): BundleEventClaims {
  const { place } = event.shown
  const sizes = (place?.inclusion ?? []).map(({ treeSize }) => treeSize).filter((size) => attested.has(size))
  const trees = sizes.flatMap((size) => attested.get(size) ?? [])
  const timestamps = trees.flatMap(({ timestamp }) => timestamp ?? [])
  const anchors = trees.flatMap((tree) => tree.anchors)
  return {
    txId: event.txId,
    committedTime: event.time,
    log: place && { position: place.position, treeSize: Math.min(...sizes) },
    notLaterThan: notLaterThanOf({ timestamps, anchors }),
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

function fileClaim({ subject }: ShownBundle, events: readonly VerifiedBundleEvent[]): BundleFileClaim | undefined {
  if (subject.type !== 'file') return undefined
  const { fileId, txId } = subject
  const event = events.find((one) => one.txId === txId)
  if (event === undefined || !holdsFile(event, fileId))
    throw verificationError('subject.file-missing', `The event ${txId} does not hold the file ${fileId}`)
  if (deletionIn(event, fileId) !== undefined)
    throw verificationError('subject.file-missing', `The event ${txId} deletes the file ${fileId}`)
  const deletedBy = events.find((one) => deletionIn(one, fileId)?.deleted === txId)?.txId
  const state = deletedBy === undefined ? (event.files?.has(fileId) === true ? 'attached' : 'listed') : 'deleted'
  return { fileId, state, event: txId, deletedBy }
}

/** The file that has a content. */
function contentClaim(
  { name, sha256: digest, size }: NonNullable<VerifyBundleOptions['contents']>[number],
  events: readonly VerifiedBundleEvent[],
): ContentClaim {
  const hash = digest.toLowerCase()
  for (const { txId, files } of events)
    for (const file of files?.values() ?? [])
      if ('sha256' in file && file.sha256 === hash && file.size === size)
        return { name, state: 'matches', fileId: file.id, txId }
  const mayBeHidden = events.some(({ files, hiddenFiles }) => files === undefined || hiddenFiles.length > 0)
  return { name, state: mayBeHidden ? 'not-comparable' : 'not-in-this-proof' }
}

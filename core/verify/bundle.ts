import { toHex } from '../bytes.ts'
import { assertKeyChain } from '../commitment/log-entry.ts'
import { verificationError } from '../errors.ts'
import { usableKey } from '../log/verifier-key.ts'
import { verifyAttestations, type Attestations } from './attestations.ts'
import { parseBundle } from './bundle-document.ts'
import { assertIncluded, assertKeyPositions, assertSameTree, verifyTrees, type VerifiedTrees } from './checkpoint.ts'
import {
  notLaterThanOf,
  type BundleClaims,
  type BundleEventClaims,
  type BundleFileClaim,
  type BundleResult,
  type ContentClaim,
  type ReceiptClaims,
} from './claims.ts'
import { witnessedText } from './cosignatures.ts'
import { deletionIn, holdsFile, verifyEvents, type VerifiedBundleEvent } from './history.ts'
import { parsePolicy, type Policy } from './policy.ts'
import { verifyReceipts, type VerifiedReceipt } from './receipts.ts'
import { Run, type VerifyBundleOptions } from './run.ts'
import type { ShownBundle, ShownPlace } from './shown.ts'
import { asHash, type SignatureBudget } from './untrusted.ts'

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
    return verifyShown(run, bundle, policy, () => verifyTrees(bundle, policy, run))
  } catch (error) {
    return run.failure(error)
  }
}

/**
 * What trees of a log prove of the events in them.
 *
 * @param policy - the pinned one, or that of the bundle itself
 * @param verifySigned - verifies the signatures of the trees
 * @throws `VERIFICATION_FAILED`
 */
export function verifyShown(
  run: Run,
  bundle: ShownBundle,
  policy: Policy,
  verifySigned: () => VerifiedTrees,
): BundleResult {
  const { options } = run
  const verified = run.check('events', () => ({ events: verifyEvents(bundle), receipts: verifyReceipts(bundle) }))
  const trees = run.check('checkpoint', verifySigned)
  run.check('inclusion', () => assertAllIncluded(bundle, trees))
  const attested = run.check('attestations', () =>
    verifyAttestations(bundle, trees, { ...options, policy, isPinned: options.policy !== undefined, run }),
  )
  run.check('checkpoint', () => assertInTreesThatCount(bundle, trees, attested))
  run.check('checkpoint', () =>
    trees.forEach((tree) => attested.has(tree.size) && assertSameTree(tree, options.policy, run.budget)),
  )
  return run.result(run.check('expected', () => claimsOf(bundle, verified, attested, options)))
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
  assertOfLog(policy, origin)
  assertKeyChain(keys, origin, () => budget.spend())
  assertKeyPositions(keys)
  return policy
}

/** Whether the policy pins a key of a log. */
export const isOfLog = ({ keys }: Policy, origin: string): boolean =>
  keys.some(({ vkey }) => usableKey(vkey)?.name === origin)

/** Throws `VERIFICATION_FAILED` if it does not. */
export function assertOfLog(policy: Policy, origin: string): void {
  if (!isOfLog(policy, origin))
    throw verificationError('keys.not-pinned', `The policy pins no key of the log ${origin}`)
}

const toPinned = ({ vkey }: ShownBundle['keys'][number]): Policy['keys'][number] => ({ vkey })

/** Later versions are later in the log, and after an event that is not sealed none is. Entry 0 is a key. */
function assertAllIncluded({ events, keys, renewals, receipts }: ShownBundle, trees: VerifiedTrees): void {
  for (const one of [...keys, ...renewals, ...receipts]) assertIncluded(one.entry, one, trees)
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
  verified: { readonly events: readonly VerifiedBundleEvent[]; readonly receipts: readonly VerifiedReceipt[] },
  attested: ReadonlyMap<number, Attestations>,
  { expect = {}, contents = [] }: VerifyBundleOptions,
): BundleClaims {
  const { origin, subject } = bundle
  const events = verified.events.map((event) => eventClaims(event, attested))
  const file = fileClaim(bundle, verified.events)
  if (expect.txId !== undefined && subject.txId !== expect.txId.toLowerCase())
    throw verificationError('expected.subject', `The bundle is about another event than ${expect.txId}`)
  if (expect.fileId !== undefined && file?.fileId !== expect.fileId)
    throw verificationError('expected.subject', `The bundle is not about the file ${expect.fileId}`)
  return {
    origin,
    subject: subject.txId,
    events,
    isHistory: verified.events.every(({ header }) => header !== undefined),
    file,
    receipts: verified.receipts.flatMap((receipt) => receiptClaims(receipt, attested)),
    contents: contents.map((content) => contentClaim(content, verified.events)),
  }
}

/** Who states when the log had an entry: the trees that count and hold it. `treeSize`: of the smallest. */
function statedTimes(place: ShownPlace | undefined, attested: ReadonlyMap<number, Attestations>) {
  const sizes = (place?.inclusion ?? []).map(({ treeSize }) => treeSize).filter((size) => attested.has(size))
  const trees = sizes.flatMap((size) => attested.get(size) ?? [])
  const timestamps = trees.flatMap(({ timestamp }) => timestamp ?? [])
  const anchors = trees.flatMap((tree) => tree.anchors)
  return { treeSize: Math.min(...sizes), notLaterThan: notLaterThanOf({ timestamps, anchors }), timestamps, anchors }
}

/** None for a receipt that no tree that counts holds: it proves nothing. */
function receiptClaims(
  { shown, erasure }: VerifiedReceipt,
  attested: ReadonlyMap<number, Attestations>,
): readonly ReceiptClaims[] {
  const { treeSize, ...times } = statedTimes(shown, attested)
  if (treeSize === Infinity) return []
  return [{ txId: toHex(shown.entry), log: { position: shown.position, treeSize }, ...times, erasure }]
}

function eventClaims(event: VerifiedBundleEvent, attested: ReadonlyMap<number, Attestations>): BundleEventClaims {
  const { place } = event.shown
  const { treeSize, ...times } = statedTimes(place, attested)
  const witnessed = attested.get(treeSize)?.witnessed
  return {
    txId: event.txId,
    committedTime: event.time,
    log: place && { position: place.position, treeSize },
    ...times,
    witnesses: witnessed?.witnesses ?? [],
    isWitnessed: witnessed?.isMet === true,
    assurance: witnessed && witnessedText(witnessed),
    version: event.header?.version,
    fields: event.header?.fields ?? new Map(),
    hiddenFields: event.header?.hiddenFields ?? [],
    files: event.files ?? new Map(),
    hiddenFiles: event.hiddenFiles,
  }
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

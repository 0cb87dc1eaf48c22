import { encodeUtf8, equalBytes, fromBase64, toHex } from '../bytes.ts'
import type { ValidationData } from '../ports.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { rootFromInclusionProof, sidesOf, verifyConsistency } from '../log/tree/proof.ts'
import { openFilesMap, openOpening } from './event.ts'
import { verifySignedCheckpoint } from './log.ts'
import { verifyTimeStamp } from './timestamp.ts'
import { countOf, hashesOf, hashOf, listOf, membersOf, refuse, textOf, timeOf, type Members } from './untrusted.ts'

export const PROOF_STEPS = [
  /** The opening hashes to the txId, and the shown time is the committed one. */
  'opening',
  /** The event's files map opens, and holds the file. Answers about files only. */
  'files',
  /** The txId's leaf is at its place in the tree of `merkleRoot`. */
  'inclusion',
  /** The log signed this tree. */
  'checkpoint',
  /** The stamped tree is signed, and begins with this tree. */
  'stamped checkpoint',
  /** The token is over exactly the stamped checkpoint, and as many authorities as asked for say that it was there by its time. */
  'timestamp',
  /** The anchored tree is signed, and begins with this tree. */
  'anchored checkpoint',
  /** The chain holds exactly the anchored checkpoint, where the answer says. */
  'anchor',
] as const
export type ProofStepName = (typeof PROOF_STEPS)[number]

export interface ProofStep {
  readonly name: ProofStepName
  /** Of the event itself, or of the event that deleted the file. */
  readonly of: 'event' | 'deletion'
  readonly state: 'ok' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  readonly reason?: string
}

export interface ProofResult {
  /** No step failed; skipped ones prove nothing. */
  readonly ok: boolean
  readonly steps: readonly ProofStep[]
}

/** What the chain itself says of an anchor's transaction; the anchor's adapter finds it. */
export interface AnchoredTransaction {
  /** The transaction's whole input. */
  readonly input: Uint8Array
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
}

/** What the verifier knows from elsewhere than the answer. */
export interface VerifyProofOptions {
  /** C2SP verifier keys of the log; where it rotated its key, all of them (`verifierKeysOf`). */
  readonly verifierKeys: readonly string[]
  /** DER certificates that are trusted for time stamps. Default: those of `authorities`; without any, `timestamp` is skipped. */
  readonly trustAnchors?: readonly Uint8Array[]
  /** The trust anchors of each timestamp authority that counts for the quorum. Default: one, with all `trustAnchors`. */
  readonly authorities?: readonly (readonly Uint8Array[])[]
  /** How many of them must have stamped the answer's log by the time of `tsa`. Default 1. */
  readonly quorum?: number
  /** What the chain holds for the anchor of the answer, found beforehand; `undefined` where it holds no such transaction. Default: `anchor` is skipped. */
  readonly anchored?: (anchor: Members) => AnchoredTransaction | undefined
  /** Steps that count as failed where they are skipped. `inclusion` and `checkpoint` always do. */
  readonly require?: readonly ProofStepName[]
}

/**
 * Checks an answer of `GET /merkle/verify/…` or `GET /merkle/proof/…` (parsed JSON, from anybody): opening → txId → leaf → root → signed
 * checkpoint → consistency to the stamped and the anchored checkpoint → token. Every step is made, also after one
 * that failed. Never throws for what the answer holds.
 *
 * Claims that no step covers, because nothing here can prove them: batch id, send status, confirmations, assurance, file count, the
 * evidence's and the authority's names, and without `anchored` all that is said of the chain.
 */
export function verifyProof(answer: unknown, options: VerifyProofOptions): ProofResult {
  const steps: ProofStep[] = []
  const run = (name: ProofStepName, of: ProofStep['of'], check: () => Skip | void): void => {
    const step = attempt(check)
    const required = name === 'inclusion' || name === 'checkpoint' || options.require?.includes(name) === true
    steps.push({ name, of, ...step, ...(step.state === 'skipped' && required && { state: 'failed' }) })
  }
  const whole = membersOrNothing(answer)
  checkEvent(whole, 'event', options, run)
  if (whole['deletion'] !== undefined) checkEvent(membersOrNothing(whole['deletion']), 'deletion', options, run)
  return { ok: steps.every(({ state }) => state !== 'failed'), steps }
}

type Run = (name: ProofStepName, of: ProofStep['of'], check: () => Skip | void) => void

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null

/** What is no object has no members, and so no proof. */
const membersOrNothing = (value: unknown): Members => (isObject(value) ? value : {})

/** A step that cannot be made, and why. */
interface Skip {
  readonly skip: string
}

function skip(reason: string): Skip {
  return { skip: reason }
}

function attempt(check: () => Skip | void): Pick<ProofStep, 'state' | 'reason'> {
  try {
    const skipped = check()
    return skipped === undefined ? { state: 'ok' } : { state: 'skipped', reason: skipped.skip }
  } catch (error) {
    return { state: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}

function checkEvent(answer: Members, of: ProofStep['of'], options: VerifyProofOptions, run: Run): void {
  // `/merkle/proof` answers flat, the others under `merkle`.
  const merkle = answer['merkle'] ?? (answer['merkleRoot'] === undefined ? undefined : answer)
  const tsa = answer['tsa'] ?? undefined
  const anchor = isObject(merkle) ? (merkle['anchor'] ?? undefined) : undefined

  run('opening', of, () => checkOpening(answer))
  if (of === 'event' && answer['fileId'] !== undefined) run('files', of, () => checkFiles(answer))
  run('inclusion', of, () => (merkle === undefined ? UNSEALED : checkInclusion(answer, membersOf(merkle, 'merkle'))))
  run('checkpoint', of, () => (merkle === undefined ? UNSEALED : checkCheckpoint(membersOf(merkle, 'merkle'), options)))
  run('stamped checkpoint', of, () => (tsa === undefined ? UNSTAMPED : checkLater(merkle, tsa, options)))
  run('timestamp', of, () => (tsa === undefined ? UNSTAMPED : checkTokens(answer, membersOf(tsa, 'tsa'), options)))
  run('anchored checkpoint', of, () => (anchor === undefined ? UNANCHORED : checkLater(merkle, anchor, options)))
  run('anchor', of, () =>
    anchor === undefined ? UNANCHORED : checkAnchor(answer, membersOf(anchor, 'anchor'), options),
  )
}

const UNSEALED = skip('The answer holds no Merkle proof: the event is not sealed, or not known')
const UNSTAMPED = skip('The answer holds no time stamp')
const UNANCHORED = skip('The answer holds no anchor')

function checkOpening(answer: Members): Skip | void {
  if (answer['opening'] === undefined) return skip('The answer holds no opening')
  const { time } = openOpening(answer['opening'], answer['txId'])
  for (const name of ['createdAt', 'eventTimestamp'])
    if (answer[name] !== undefined && timeOf(answer[name], name) !== time)
      throw refuse(`${name} is not the time that the event commits to`)
}

function checkFiles(answer: Members): void {
  const opening = openOpening(answer['opening'], answer['txId'])
  const files = openFilesMap(answer['filesText'], answer['filesSalt'], opening)
  const fileId = textOf(answer['fileId'], 'fileId')
  if (!files.has(fileId)) throw refuse(`The event does not hold the file ${fileId}`)
}

function checkInclusion(answer: Members, merkle: Members): void {
  const txId = hashOf(answer['txId'], 'The txId')
  const [leafIndex, treeSize] = [countOf(merkle['leafIndex'], 'leafIndex'), countOf(merkle['treeSize'], 'treeSize')]
  const items = listOf(merkle['proof'], 'proof').map((item) => membersOf(item, 'A proof item'))
  const root = rootFromInclusionProof(
    leafHash(txId),
    leafIndex,
    treeSize,
    hashesOf(
      items.map(({ hash }) => hash),
      'proof',
    ),
  )
  if (root === undefined) throw refuse('The proof has not the length of a path to this leaf')
  if (!equalBytes(root, hashOf(merkle['merkleRoot'], 'merkleRoot'))) throw refuse('The proof leads to another root')
  const sides = sidesOf(leafIndex, treeSize)
  if (items.some(({ position }, i) => position !== sides[i])) throw refuse("A position is not that of the leaf's path")
}

function checkCheckpoint(merkle: Members, { verifierKeys }: VerifyProofOptions): void {
  const signed = verifySignedCheckpoint(textOf(merkle['checkpoint'], 'checkpoint'), verifierKeys)
  if (signed.size !== countOf(merkle['treeSize'], 'treeSize')) throw refuse('The checkpoint is of another size')
  if (!equalBytes(signed.root, hashOf(merkle['merkleRoot'], 'merkleRoot')))
    throw refuse('The checkpoint is of another root')
}

/** The checkpoint of a stamp or anchor, which may be later than that of the answer: signed, and it begins with the answer's tree. */
function checkLater(answered: unknown, stampedOrAnchored: unknown, { verifierKeys }: VerifyProofOptions): void {
  const [merkle, later] = [membersOf(answered, 'merkle'), membersOf(stampedOrAnchored, 'A stamp or anchor')]
  const signed = verifySignedCheckpoint(textOf(later['checkpoint'], 'checkpoint'), verifierKeys)
  if (signed.size !== countOf(later['treeSize'], 'treeSize')) throw refuse('The checkpoint is of another size')
  if (later['merkleRoot'] !== undefined && !equalBytes(signed.root, hashOf(later['merkleRoot'], 'merkleRoot')))
    throw refuse('The checkpoint is of another root')
  const size = countOf(merkle['treeSize'], 'treeSize')
  const root = hashOf(merkle['merkleRoot'], 'merkleRoot')
  if (!verifyConsistency(size, signed.size, hashesOf(later['consistency'], 'consistency'), root, signed.root))
    throw refuse('The consistency proof does not lead to the checkpoint')
}

/** The token that is shown, and the quorum by which its time is claimed. A token of `tsas` that does not hold does not count. */
function checkTokens(answer: Members, tsa: Members, options: VerifyProofOptions): Skip | void {
  const { trustAnchors = options.authorities?.flat() ?? [], authorities = [trustAnchors], quorum = 1 } = options
  const { genTime, bytes } = openToken(tsa)
  if (trustAnchors.length === 0) return skip('No certificate was given to trust a token by')
  checkToken(tsa, trustAnchors)
  const all = listOf(answer['tsas'] ?? [tsa], 'tsas').slice(0, MAX_TOKENS)
  const holding = all.filter((one) => isOverTheSame(one, tsa) && isNoLater(one, genTime))
  if (!holding.some((one) => equalBytes(openToken(membersOf(one, 'tsas')).bytes, bytes)))
    throw refuse('tsas does not hold the token of tsa')
  const vouching = authorities.filter((anchors) =>
    holding.some((one) => holds(() => checkToken(membersOf(one, 'tsas'), anchors))),
  )
  if (vouching.length < quorum)
    throw refuse(`${vouching.length} of the trusted authorities stamped it by then, not ${quorum}`)
}

/** Tokens of one answer that are looked at: each costs a few signatures. */
const MAX_TOKENS = 32

function holds(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** Then the stamped checkpoint of `tsa`, which is checked in its own step, is that of the other as well. */
const isOverTheSame = (one: unknown, tsa: Members): boolean =>
  isObject(one) &&
  one['checkpoint'] === tsa['checkpoint'] &&
  one['treeSize'] === tsa['treeSize'] &&
  JSON.stringify(one['consistency']) === JSON.stringify(tsa['consistency'])

const isNoLater = (tsa: unknown, genTime: number): boolean =>
  holds(() => {
    if (openToken(membersOf(tsa, 'tsas')).genTime > genTime) throw refuse('It is later')
  })

function openToken(tsa: Members): { readonly bytes: Uint8Array; readonly genTime: number } {
  const bytes = fromBase64(textOf(tsa['token'], 'token'))
  if (bytes === undefined) throw refuse('The token is not base64')
  return { bytes, genTime: timeOf(tsa['genTime'], 'genTime') }
}

/** Throws unless the token verifies under these anchors and says what is shown of it. */
function checkToken(tsa: Members, trustAnchors: readonly Uint8Array[]): void {
  const stamped = encodeUtf8(textOf(tsa['checkpoint'], 'checkpoint'))
  const info = verifyTimeStamp(openToken(tsa).bytes, { data: stamped, trustAnchors, evidence: evidenceOf(tsa) })
  const shown = {
    genTime: new Date(info.genTime).toISOString(),
    serialNumber: info.serialNumber,
    policy: info.policy,
    hashAlgorithm: info.hashAlgorithm,
    imprint: toHex(info.imprint),
  }
  for (const [name, value] of Object.entries(shown))
    if (tsa[name] !== value) throw refuse(`${name} is not what the token says`)
}

function evidenceOf(tsa: Members): readonly ValidationData[] {
  const pieces = listOf(tsa['evidence'] ?? [], 'evidence')
  if (pieces.length > MAX_EVIDENCE) throw refuse(`There is more than ${MAX_EVIDENCE} evidence with the token`)
  return pieces.map((piece) => {
    const { type, data } = membersOf(piece, 'A piece of evidence')
    const der = fromBase64(textOf(data, 'evidence'))
    if (der === undefined || (type !== 'certificate' && type !== 'crl' && type !== 'ocsp'))
      throw refuse('The evidence with a token is of no known type, or not base64')
    return { type, der }
  })
}

const MAX_EVIDENCE = 32

function checkAnchor(answer: Members, anchor: Members, { anchored }: VerifyProofOptions): Skip | void {
  if (answer['blockNumber'] !== undefined && answer['blockNumber'] !== anchor['blockNumber'])
    throw refuse("blockNumber is not that of the anchor's block")
  if (anchored === undefined) return skip('Nothing was given to look into the chain with')
  const found = anchored(anchor)
  if (found === undefined) throw refuse('The chain does not hold the transaction')
  if (!equalBytes(found.input, encodeUtf8(textOf(anchor['checkpoint'], 'checkpoint'))))
    throw refuse('The transaction holds another checkpoint')
  if (countOf(anchor['blockNumber'], 'blockNumber') !== found.blockNumber || anchor['blockHash'] !== found.blockHash)
    throw refuse('The transaction is in another block')
  if (timeOf(anchor['blockTime'], 'blockTime') !== found.blockTime) throw refuse('The block has another time')
}

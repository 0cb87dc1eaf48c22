import { encodeUtf8, equalBytes } from '../bytes.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { rootFromInclusionProof, sidesOf, verifyConsistency } from '../log/tree/proof.ts'
import { verifyFilesMap, verifyOpening } from './event.ts'
import { verifySignedCheckpoint } from './log.ts'
import { decodeToken, verifyTokens } from './proof-tokens.ts'
import {
  asArray,
  asCount,
  asHash,
  asHashes,
  asObject,
  asString,
  asTime,
  isObject,
  verificationError,
  type UntrustedObject,
} from './untrusted.ts'

/** The steps of `verifyProof`, in their order. */
export const PROOF_STEPS = [
  /** The opening hashes to the txId, and the shown time is the committed one. */
  'opening',
  /** The event's files map matches its opening, and holds the file. Only for proofs of files. */
  'files',
  /** The txId's leaf is in the tree with the root `merkleRoot`. */
  'inclusion',
  /** The log signed this tree. */
  'checkpoint',
  /** The log signed the stamped tree, and it extends this tree. */
  'stamped checkpoint',
  /** The token covers the stamped checkpoint, and a quorum of authorities stamped it by the shown time. */
  'timestamp',
  /** The log signed the anchored tree, and it extends this tree. */
  'anchored checkpoint',
  /** The chain holds the anchored checkpoint in the shown transaction. */
  'anchor',
] as const

/** The name of one step. */
export type ProofStepName = (typeof PROOF_STEPS)[number]

/** The result of one step. */
export interface ProofStep {
  readonly name: ProofStepName
  /** Whether the step is about the event itself, or about the event that deleted the file. */
  readonly of: 'event' | 'deletion'
  readonly state: 'ok' | 'failed' | 'skipped'
  /** Why the step failed or was skipped. */
  readonly reason?: string
}

/** The result of `verifyProof`. */
export interface ProofResult {
  /** True if no step failed. Skipped steps prove nothing. */
  readonly ok: boolean
  readonly steps: readonly ProofStep[]
}

/** An anchor's transaction, as read from the chain. */
export interface AnchoredTransaction {
  /** The transaction's whole input data. */
  readonly input: Uint8Array
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
}

/** What the verifier knows from trusted sources. */
export interface VerifyProofOptions {
  /** C2SP verifier keys of the log. If the log rotated its key: all of them (`verifierKeysOf`). */
  readonly verifierKeys: readonly string[]
  /**
   * DER certificates that are trusted for tokens. Default: those of `authorities`. Without any, `timestamp` is skipped.
   */
  readonly trustAnchors?: readonly Uint8Array[]
  /**
   * The trust anchors (DER) of each timestamp authority that counts for the quorum. Default: one authority with
   * `trustAnchors`.
   */
  readonly authorities?: readonly (readonly Uint8Array[])[]
  /** How many of the authorities must have stamped the log by the shown time. Default 1. */
  readonly quorum?: number
  /**
   * Returns the transaction of an anchor (the `anchor` member of the proof) as the chain holds it, fetched beforehand,
   * or `undefined` if the chain does not hold it. Default: `anchor` is skipped.
   */
  readonly findTransaction?: (anchor: UntrustedObject) => AnchoredTransaction | undefined
  /** Steps that count as failed if they are skipped. `inclusion` and `checkpoint` always do. */
  readonly require?: readonly ProofStepName[]
}

/**
 * Verifies a proof document, as `GET /merkle/verify/…` and `GET /merkle/proof/…` return it: opening → txId → leaf →
 * root → signed checkpoint → consistency with the stamped and the anchored checkpoint → token and anchor. All steps
 * run, also after a failed one.
 *
 * Some members cannot be verified offline and are ignored: batch id, send status, confirmations, assurance, file count,
 * the names of the evidence and the authority, and without `findTransaction` everything about the chain.
 *
 * @param proof The parsed JSON document. Untrusted: whatever it holds, the function returns a result and does not
 *   throw.
 * @example
 * const { ok, steps } = verifyProof(proof, { verifierKeys, trustAnchors, require: ['timestamp'] })
 * if (!ok) console.error(steps.filter(({ state }) => state === 'failed'))
 */
export function verifyProof(proof: unknown, options: VerifyProofOptions): ProofResult {
  const steps: ProofStep[] = []
  const runStep: RunStep = (name, of, check) => {
    const step = resultOf(check)
    const isRequired = name === 'inclusion' || name === 'checkpoint' || options.require?.includes(name) === true
    steps.push({ name, of, ...step, ...(step.state === 'skipped' && isRequired && { state: 'failed' }) })
  }
  const document = asObjectOrEmpty(proof)
  checkEvent(document, 'event', options, runStep)
  if (document['deletion'] !== undefined)
    checkEvent(asObjectOrEmpty(document['deletion']), 'deletion', options, runStep)
  return { ok: steps.every(({ state }) => state !== 'failed'), steps }
}

type RunStep = (name: ProofStepName, of: ProofStep['of'], check: () => Skip | void) => void

/** A value that is not an object has no members, so all its steps fail. */
const asObjectOrEmpty = (value: unknown): UntrustedObject => (isObject(value) ? value : {})

/** A step that cannot run, and why. */
interface Skip {
  readonly skipped: string
}

const UNSEALED: Skip = { skipped: 'The proof document has no Merkle proof: the event is not sealed yet, or not known' }
const UNSTAMPED: Skip = { skipped: 'The proof document has no timestamp' }
const UNANCHORED: Skip = { skipped: 'The proof document has no anchor' }

function resultOf(check: () => Skip | void): Pick<ProofStep, 'state' | 'reason'> {
  try {
    const skip = check()
    return skip === undefined ? { state: 'ok' } : { state: 'skipped', reason: skip.skipped }
  } catch (error) {
    return { state: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}

function checkEvent(document: UntrustedObject, of: ProofStep['of'], options: VerifyProofOptions, run: RunStep): void {
  // `/merkle/proof` returns the members at the top, the other routes under `merkle`.
  const merkle = document['merkle'] ?? (document['merkleRoot'] === undefined ? undefined : document)
  const tsa = document['tsa'] ?? undefined
  const anchor = isObject(merkle) ? (merkle['anchor'] ?? undefined) : undefined

  run('opening', of, () => checkOpening(document))
  if (of === 'event' && document['fileId'] !== undefined) run('files', of, () => checkFiles(document))
  run('inclusion', of, () => (merkle === undefined ? UNSEALED : checkInclusion(document, asObject(merkle, 'merkle'))))
  run('checkpoint', of, () => (merkle === undefined ? UNSEALED : checkCheckpoint(asObject(merkle, 'merkle'), options)))
  run('stamped checkpoint', of, () => (tsa === undefined ? UNSTAMPED : checkLaterCheckpoint(merkle, tsa, options)))
  run('timestamp', of, () => (tsa === undefined ? UNSTAMPED : checkTimestamp(document, asObject(tsa, 'tsa'), options)))
  run('anchored checkpoint', of, () =>
    anchor === undefined ? UNANCHORED : checkLaterCheckpoint(merkle, anchor, options),
  )
  run('anchor', of, () =>
    anchor === undefined ? UNANCHORED : checkAnchor(document, asObject(anchor, 'anchor'), options),
  )
}

function checkOpening(document: UntrustedObject): Skip | void {
  if (document['opening'] === undefined) return { skipped: 'The proof document has no opening' }
  const { time } = verifyOpening(document['opening'], document['txId'])
  for (const name of ['createdAt', 'eventTimestamp'])
    if (document[name] !== undefined && asTime(document[name], name) !== time)
      throw verificationError(`${name} is not the time that the event commits to`)
}

function checkFiles(document: UntrustedObject): void {
  const opening = verifyOpening(document['opening'], document['txId'])
  const files = verifyFilesMap(document['filesText'], document['filesSalt'], opening)
  const fileId = asString(document['fileId'], 'fileId')
  if (!files.has(fileId)) throw verificationError(`The event does not hold the file ${fileId}`)
}

function checkInclusion(document: UntrustedObject, merkle: UntrustedObject): void {
  const leaf = leafHash(asHash(document['txId'], 'The txId'))
  const [leafIndex, treeSize] = [asCount(merkle['leafIndex'], 'leafIndex'), asCount(merkle['treeSize'], 'treeSize')]
  const items = asArray(merkle['proof'], 'proof').map((item) => asObject(item, 'A proof item'))
  const hashes = items.map(({ hash }) => hash)
  const root = rootFromInclusionProof({ leafHash: leaf, leafIndex, treeSize, proof: asHashes(hashes, 'proof') })
  if (root === undefined)
    throw verificationError('The inclusion proof does not have the length for this leaf and tree size')
  if (!equalBytes(root, asHash(merkle['merkleRoot'], 'merkleRoot')))
    throw verificationError('The inclusion proof leads to another root')
  const sides = sidesOf(leafIndex, treeSize)
  if (items.some(({ position }, i) => position !== sides[i]))
    throw verificationError('A position of the inclusion proof is wrong for this leaf')
}

function checkCheckpoint(merkle: UntrustedObject, { verifierKeys }: VerifyProofOptions): void {
  const signed = verifySignedCheckpoint(asString(merkle['checkpoint'], 'checkpoint'), verifierKeys)
  if (signed.size !== asCount(merkle['treeSize'], 'treeSize'))
    throw verificationError('The checkpoint has another size')
  if (!equalBytes(signed.root, asHash(merkle['merkleRoot'], 'merkleRoot')))
    throw verificationError('The checkpoint has another root')
}

/**
 * The checkpoint of a stamp or anchor may be later than the proof's: it must be signed, and extend the proof's tree.
 */
function checkLaterCheckpoint(proven: unknown, stampOrAnchor: unknown, { verifierKeys }: VerifyProofOptions): void {
  const [merkle, later] = [asObject(proven, 'merkle'), asObject(stampOrAnchor, 'A stamp or anchor')]
  const signed = verifySignedCheckpoint(asString(later['checkpoint'], 'checkpoint'), verifierKeys)
  if (signed.size !== asCount(later['treeSize'], 'treeSize')) throw verificationError('The checkpoint has another size')
  if (later['merkleRoot'] !== undefined && !equalBytes(signed.root, asHash(later['merkleRoot'], 'merkleRoot')))
    throw verificationError('The checkpoint has another root')
  const from = {
    fromSize: asCount(merkle['treeSize'], 'treeSize'),
    fromRoot: asHash(merkle['merkleRoot'], 'merkleRoot'),
  }
  const proof = asHashes(later['consistency'], 'consistency')
  if (!verifyConsistency({ ...from, toSize: signed.size, toRoot: signed.root, proof }))
    throw verificationError('The consistency proof does not lead to the checkpoint')
}

function checkTimestamp(document: UntrustedObject, tsa: UntrustedObject, options: VerifyProofOptions): Skip | void {
  const { trustAnchors = options.authorities?.flat() ?? [], authorities = [trustAnchors], quorum = 1 } = options
  decodeToken(tsa)
  if (trustAnchors.length === 0) return { skipped: 'No trust anchor was given to verify the token with' }
  verifyTokens({ shown: tsa, all: document['tsas'] ?? [tsa], trustAnchors, authorities, quorum })
}

function checkAnchor(
  document: UntrustedObject,
  anchor: UntrustedObject,
  { findTransaction }: VerifyProofOptions,
): Skip | void {
  if (document['blockNumber'] !== undefined && document['blockNumber'] !== anchor['blockNumber'])
    throw verificationError("blockNumber is not that of the anchor's block")
  if (findTransaction === undefined) return { skipped: 'No findTransaction was given to read the chain with' }
  const transaction = findTransaction(anchor)
  if (transaction === undefined) throw verificationError('The chain does not hold the transaction')
  const { input, blockNumber, blockHash, blockTime } = transaction
  if (!equalBytes(input, encodeUtf8(asString(anchor['checkpoint'], 'checkpoint'))))
    throw verificationError('The transaction holds another checkpoint')
  if (asCount(anchor['blockNumber'], 'blockNumber') !== blockNumber || anchor['blockHash'] !== blockHash)
    throw verificationError('The transaction is in another block')
  if (asTime(anchor['blockTime'], 'blockTime') !== blockTime) throw verificationError('The block has another time')
}

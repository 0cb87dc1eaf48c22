import assert from 'node:assert/strict'
import { fromBase64, fromHex, toHex } from '../../core/bytes.ts'
import { filesHash, parseOpening, txIdOf } from '../../core/commitment/event-format.ts'
import type { EvidenceProof, FileProof, MerkleProof } from '../../core/index.ts'
import { leafHash } from '../../core/log/tree/hash.ts'
import { sidesOf, verifyConsistency, verifyInclusion } from '../../core/log/tree/proof.ts'
import { verifySignedCheckpoint, type Policy, type TokenVerifier } from '../../core/verify/index.ts'
import { SignatureBudget } from '../../core/verify/untrusted.ts'
import { tokens as tokenVerifier } from '../../core/verify/tokens.ts'
import { present } from './present.ts'

/**
 * Checks a proof document (endpoints 20 to 22) as `core/verify/README.md` says how to do it by hand: opening, path,
 * checkpoint, consistency, tokens. What is recomputed from the document must be what it shows.
 */

type Document = EvidenceProof | FileProof | MerkleProof
type Sealed = Extract<EvidenceProof, { readonly status: 'ok' }>
type Attached = Extract<FileProof, { readonly status: 'deleted' }>
type Merkle = Sealed['merkle']
type Stamp = NonNullable<Sealed['tsa']>

/** The members of one event, in a document or in its `deletion`. */
interface ShownEvent {
  readonly txId: string
  readonly opening: string
  readonly createdAt?: string
  readonly eventTimestamp?: string
  readonly filesText?: string
  readonly filesSalt?: string
  readonly merkle?: Merkle
  readonly tsa?: Stamp
  readonly tsas?: readonly Stamp[]
}

const bytes = (hex: string): Uint8Array => present(fromHex(hex))
const hashes = (list: readonly string[]): readonly Uint8Array[] => list.map(bytes)

/** Throws unless every step of the document holds. */
export function checkProof(document: Document, policy: Policy, tokens: TokenVerifier = tokenVerifier): void {
  if (!('opening' in document)) return
  checkEvent('merkleRoot' in document ? { ...document, merkle: document } : document, policy, tokens)
  if ('fileId' in document) assert.ok(document.fileId in JSON.parse(document.filesText))
  if ('deletion' in document) checkDeletion(document, policy, tokens)
}

function checkDeletion({ deletion, fileId, txId }: Attached, policy: Policy, tokens: TokenVerifier): void {
  checkEvent(deletion, policy, tokens)
  assert.deepEqual(JSON.parse(deletion.file.text), { id: fileId, deleted: txId })
}

function checkEvent(event: ShownEvent, policy: Policy, tokens: TokenVerifier): void {
  const { txId, opening, createdAt, eventTimestamp, filesText, filesSalt, merkle, tsa, tsas = [] } = event
  assert.equal(toHex(txIdOf(bytes(opening))), txId)
  const parsed = parseOpening(bytes(opening))
  for (const time of [createdAt, eventTimestamp])
    if (time !== undefined) assert.equal(time, new Date(present(parsed).time).toISOString())
  if (filesText !== undefined) assert.deepEqual(filesHash(bytes(present(filesSalt)), filesText), present(parsed).files)
  if (merkle === undefined) return
  const { leafIndex, treeSize, proof, merkleRoot, checkpoint, anchor } = merkle
  const path = proof.map(({ hash }) => bytes(hash))
  const claim = { leafHash: leafHash(bytes(txId)), leafIndex, treeSize, proof: path, root: bytes(merkleRoot) }
  verifyInclusion(claim)
  const sides = proof.map(({ position }) => position)
  assert.deepEqual(sides, sidesOf(leafIndex, treeSize))
  checkCheckpoint({ checkpoint, treeSize, merkleRoot }, policy)
  for (const later of [anchor, tsa, ...tsas]) if (later !== undefined) checkLater(later, merkle, policy)
  if (tsa !== undefined) checkStamp(tsa, tsas.length === 0 ? [tsa] : tsas, policy, tokens)
}

type ShownTree = Pick<Merkle, 'checkpoint' | 'treeSize'> & { readonly merkleRoot?: string }

function checkCheckpoint({ checkpoint, treeSize, merkleRoot }: ShownTree, { keys }: Policy): Uint8Array {
  const { size, root } = verifySignedCheckpoint(checkpoint, keys)
  assert.deepEqual([size, toHex(root)], [treeSize, merkleRoot ?? toHex(root)])
  return root
}

function checkLater(later: ShownTree & Pick<Stamp, 'consistency'>, earlier: Merkle, policy: Policy): void {
  const from = { fromSize: earlier.treeSize, fromRoot: bytes(earlier.merkleRoot) }
  const to = { toSize: later.treeSize, toRoot: checkCheckpoint(later, policy) }
  verifyConsistency({ ...from, ...to, proof: hashes(later.consistency) })
}

/** The shown token is one of those of the pinned authorities, and a quorum of these stamped by its time. */
function checkStamp(tsa: Stamp, tsas: readonly Stamp[], policy: Policy, tokens: TokenVerifier): void {
  const { authorities = [], timestampQuorum = 1 } = policy
  const byThen = authorities.filter(({ trustAnchors }) =>
    tsas.some((shown) => shown.genTime <= tsa.genTime && isTokenOf(shown, trustAnchors, tokens)),
  )
  if (authorities.length > 0) assert.ok(byThen.length >= timestampQuorum, `${byThen.length} authorities by then`)
  assert.ok(tsas.some(({ token, genTime }) => token === tsa.token && genTime === tsa.genTime))
}

function isTokenOf(shown: Stamp, trustAnchors: readonly Uint8Array[], tokens: TokenVerifier): boolean {
  const data = new TextEncoder().encode(shown.checkpoint)
  const options = { data, trustAnchors, validationData: [], budget: new SignatureBudget() }
  try {
    const { info } = tokens.verifyToken(present(fromBase64(shown.token)), options)
    const { serialNumber, policy, hashAlgorithm } = info
    const stated = { serialNumber, policy, hashAlgorithm, genTime: new Date(info.genTime).toISOString() }
    assert.deepEqual({ ...shown, ...stated, imprint: toHex(info.imprint) }, shown)
    return true
  } catch {
    return false
  }
}

import { concatBytes, encodeUtf8, sha256HexOfText, toBase64, toHex } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { parseNote, type NoteSignature, type SignedNote } from '../log/note.ts'
import { parseVerifierKey, usableKey, verifySignature } from '../log/verifier-key.ts'
import type { TreeRange } from '../log/attestation-rules.ts'
import { leafHash } from '../log/tree/hash.ts'
import { verifyConsistency, verifyInclusion } from '../log/tree/proof.ts'
import type { Unchecked } from './claims.ts'
import type { PinnedKey, Policy } from './policy.ts'
import type { ShownBundle, ShownCheckpoint, ShownKey, ShownPlace } from './shown.ts'
import { SignatureBudget } from './untrusted.ts'

/**
 * Checkpoints from an untrusted source (https://c2sp.org/tlog-checkpoint): unknown signature lines are ignored, and the
 * text may have extension lines.
 */

/** A key that may have signed a checkpoint. */
export interface Signer extends PinnedKey {
  /**
   * Of a key that the policy does not pin: `older` than one that it pins, `newer` if a key that it pins and that is not
   * retired leads to it by handovers, else `unknown`.
   */
  readonly unpinned?: 'older' | 'newer' | 'unknown'
}

/** A checkpoint that a key of the log signed. */
export interface VerifiedCheckpoint extends Checkpoint {
  readonly key: Signer
  readonly note: SignedNote
  /** The note with the log's signature alone: the bytes that are stamped and anchored. */
  readonly noteBytes: Uint8Array
}

/**
 * Verifies a checkpoint that one of these keys signed, and that the key may sign this size.
 *
 * @param note The whole signed note. Untrusted.
 * @throws `VERIFICATION_FAILED`
 */
export function verifyCheckpointUnder(
  note: string,
  keys: readonly Signer[],
  budget: SignatureBudget = new SignatureBudget(),
): VerifiedCheckpoint {
  const parsed = parseNote(note)
  const checkpoint = parseCheckpointText(parsed.text)
  const byLine = budget.once(keys, () => keysByLine(keys))
  const [match, ...others] = parsed.signatures
    .filter(({ name }) => name === checkpoint.origin)
    .flatMap((line) => (byLine.get(lineId(line)) ?? []).map((key) => ({ key, line })))
  if (others.length > 0) throw verificationError('checkpoint.signed-twice', 'The log signed the checkpoint twice')
  if (match === undefined)
    throw verificationError('checkpoint.not-signed', `No pinned key of ${checkpoint.origin} signed it`)
  const { key, line } = match
  budget.spend()
  const isSigned = budget.onceForAll(['signed', key.vkey, parsed.text, toHex(line.signature)], () =>
    verifySignature(parseVerifierKey(key.vkey).publicKey, encodeUtf8(parsed.text), line.signature),
  )
  if (!isSigned) throw verificationError('checkpoint.signature', "The checkpoint's signature does not verify")
  assertMaySign(key, checkpoint.size)
  return { ...checkpoint, key, note: parsed, noteBytes: encodeUtf8(`${parsed.text}\n${lineText(line)}`) }
}

/** What a signature line says about its key. */
const lineId = ({ name, keyId }: Pick<NoteSignature, 'name' | 'keyId'>): string => `${name} ${toHex(keyId)}`

/** The keys that a line can mean. A key of a type that cannot be used has no lines. */
function keysByLine(keys: readonly Signer[]): ReadonlyMap<string, readonly Signer[]> {
  const byLine = new Map<string, Signer[]>()
  for (const key of keys) {
    const usable = usableKey(key.vkey)
    if (usable !== undefined) byLine.set(lineId(usable), [...(byLine.get(lineId(usable)) ?? []), key])
  }
  return byLine
}

const lineText = ({ name, keyId, signature }: NoteSignature): string =>
  `— ${name} ${toBase64(concatBytes(keyId, signature))}\n`

/** A retired key may not sign later trees, and no key signs a tree that does not hold its own entry. */
function assertMaySign({ from = 1, until }: PinnedKey, size: number): void {
  if (size < from)
    throw verificationError('checkpoint.key-too-new', `The key signs trees from ${from} entries on, not one of ${size}`)
  assertNotRetired(until ?? Infinity, size)
}

function assertNotRetired(until: number, size: number): void {
  if (size > until)
    throw verificationError('checkpoint.key-retired', `The key signs trees up to ${until}, not one of ${size}`)
}

// -- the trees of a bundle

/** What all checks of a bundle share. */
export interface Verification {
  readonly budget: SignatureBudget
  /** Notes something that was not checked. */
  readonly doubt: (unchecked: Unchecked) => void
}

/** A tree that the log signed, with what the bundle shows about it. */
export interface VerifiedTree extends VerifiedCheckpoint {
  readonly shown: ShownCheckpoint
  /** Whether its key vouches for it: it is not retired, or the tree is the beginning of the last one of that key. */
  readonly isVouchedFor: boolean
}

/** The signed trees of a bundle by their size, ascending. */
export type VerifiedTrees = ReadonlyMap<number, VerifiedTree>

/**
 * Verifies that every tree is signed by a key that it holds, and is the beginning of the next one. Throws
 * `VERIFICATION_FAILED`.
 */
export function verifyTrees(
  { origin, keys, checkpoints }: Pick<ShownBundle, 'origin' | 'keys' | 'checkpoints'>,
  policy: Policy,
  run: Verification,
): VerifiedTrees {
  const trees = new Map<number, VerifiedTree>()
  const signers = [...policy.keys, ...unpinnedKeys(keys, policy.keys)]
  let previous: VerifiedTree | undefined
  for (const shown of checkpoints) {
    const tree = verifyTree(shown, signers, run)
    if (tree.origin !== origin) throw verificationError('checkpoint.other-log', 'A checkpoint belongs to another log')
    if (tree.size <= (previous?.size ?? 0))
      throw verificationError('checkpoint.order', 'The checkpoints must have ascending sizes')
    assertSigner(tree, keys)
    if (previous !== undefined) assertBeginningOf(tree, previous, previous.shown.consistency)
    previous = tree
    trees.set(tree.size, tree)
  }
  return trees
}

/** Verifies that one of these keys signed a tree. Throws `VERIFICATION_FAILED`. */
export function verifyTree(
  shown: ShownCheckpoint,
  signers: readonly Signer[],
  { budget, doubt }: Verification,
): VerifiedTree {
  const whole = [shown.note, ...shown.cosignatures.map((line) => `${line}\n`)].join('')
  const checkpoint = verifyCheckpointUnder(whole, signers, budget)
  const { vkey, until, compromised } = checkpoint.key
  if (until === undefined)
    doubt({ what: 'retired keys', why: 'The policy does not say up to which tree size each key signs' })
  if (compromised === true && (until ?? null) === null)
    doubt({ what: `the key ${vkey}`, why: 'The policy says that others may know it, and names no later key' })
  return { ...checkpoint, shown, isVouchedFor: isVouchedFor(checkpoint, shown) }
}

/**
 * The keys of a bundle that are not pinned. Each key signed the next one. Others may know a key that the policy retired
 * or marked, so it introduces none. One that is not retired may sign every tree, so a handover gives it no more power.
 */
function unpinnedKeys(keys: readonly ShownKey[], pinned: readonly PinnedKey[]): readonly Signer[] {
  const pinOf = (key: ShownKey | undefined): PinnedKey | undefined => pinned.find(({ vkey }) => vkey === key?.vkey)
  const last = keys.findLastIndex((key) => pinOf(key) !== undefined)
  const newest = pinOf(keys[last])
  const mayIntroduce = newest !== undefined && (newest.until ?? null) === null && newest.compromised !== true
  return keys.flatMap((key, i): readonly Signer[] => {
    if (pinOf(key) !== undefined) return []
    const unpinned = i < last ? 'older' : mayIntroduce ? 'newer' : 'unknown'
    return [{ vkey: key.vkey, from: key.position + 1, until: keys[i + 1]?.position ?? null, unpinned }]
  })
}

/**
 * Throws if a tree that counts differs from one of the same size in another bundle with the same memory and policy.
 *
 * @param policy - under another one, or by its bundle's own word, a tree of a retired key may have counted
 */
export function assertSameTree(
  { origin, size, root }: Checkpoint,
  policy: Policy | undefined,
  budget: SignatureBudget,
): void {
  const pinned = policy && budget.once(policy, () => sha256HexOfText(JSON.stringify(policy.keys)))
  const shown = toBase64(root)
  if (budget.firstRoot(`${origin} ${pinned}`, size, shown) !== shown)
    throw verificationError('log.forked', `Another bundle shows another tree of ${size} entries`)
}

const assertBeginningOf = (
  to: Pick<Checkpoint, 'size' | 'root'>,
  from: Pick<Checkpoint, 'size' | 'root'>,
  proof: readonly Uint8Array[] = [],
): void => verifyConsistency({ fromSize: from.size, fromRoot: from.root, toSize: to.size, toRoot: to.root, proof })

function isVouchedFor(checkpoint: VerifiedCheckpoint, { keyConsistency }: ShownCheckpoint): boolean {
  const { until = null, root, unpinned } = checkpoint.key
  if (until === null) return unpinned !== 'unknown'
  if (root === undefined) return false
  try {
    assertBeginningOf({ size: until, root }, checkpoint, keyConsistency)
    return true
  } catch (error) {
    if (!isRegistryError(error)) throw error
    return false
  }
}

/** The key that signed must be the newest one whose entry the tree holds, and must be proven to be in the tree. */
function assertSigner({ size, key }: VerifiedCheckpoint, keys: readonly ShownKey[]): void {
  const index = keys.findIndex(({ vkey }) => vkey === key.vkey)
  if (keys[index]?.inclusion.some(({ treeSize }) => treeSize === size) !== true)
    throw verificationError('checkpoint.key-not-proven', `The tree of ${size} entries is not proven to hold its key`)
  assertNotRetired(keys[index + 1]?.position ?? Infinity, size)
}

/** Whether something counts for the tree of this size. Without ranges, it counts for all. */
export const countsFor = (size: number, ranges: readonly TreeRange[] = [{ from: 1, until: null }]): boolean =>
  ranges.some(({ from, until }) => size >= from && size <= (until ?? Infinity))

/** Verifies all inclusion proofs of an entry. Throws `VERIFICATION_FAILED`. */
export function assertIncluded(entry: Uint8Array, { position, inclusion }: ShownPlace, trees: VerifiedTrees): void {
  for (const { treeSize, path } of inclusion) {
    const tree = trees.get(treeSize)
    if (tree === undefined) throw verificationError('inclusion.no-checkpoint', `There is no checkpoint of ${treeSize}`)
    verifyInclusion({ leafHash: leafHash(entry), leafIndex: position, treeSize, proof: path, root: tree.root })
  }
}

/** The first key is entry 0, and the positions of keys ascend. */
export function assertKeyPositions(keys: readonly { readonly position: number }[]): void {
  let least = 0
  for (const [i, { position }] of keys.entries()) {
    if (position < least || (i === 0 && position > 0))
      throw verificationError('keys.order', 'The positions of the keys must begin at 0 and ascend')
    least = position + 1
  }
}

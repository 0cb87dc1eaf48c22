import { toHex } from '../bytes.ts'
import { TAG_BYTES } from '../commitment/event-format.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { parseNote } from '../log/note.ts'
import { assertKeyChain, parseKeyOpening } from '../commitment/log-entry.ts'
import { assertKeyPositions, verifyCheckpointUnder } from './checkpoint.ts'
import { LogReading, type KeyEntry } from './log-reading.ts'
import type { PinnedKey } from './policy.ts'
import { verificationError } from '../errors.ts'

/** A key of a log, with the tree sizes that it signs. */
export interface LogKey {
  /** C2SP verifier key. */
  readonly vkey: string
  /** The smallest tree size that holds the key's own entry. */
  readonly from: number
  /** The largest tree size that does not hold the next key's entry; `null` for the newest key. */
  readonly until: number | null
}

/**
 * Derives the keys of a log and the tree sizes that each may sign, for a policy. The origin commits to the first key,
 * and each key signed the next. A key signs the trees that contain its own entry and not the next key's.
 *
 * @param origin The log's origin, from a trusted source.
 * @param entries All key entries in log order. Untrusted, except that they must be proven to be in the log.
 * @throws `VERIFICATION_FAILED` if the keys do not belong to the origin, or if the first one is not entry 0.
 */
export function logKeysOf(origin: string, entries: readonly KeyEntry[]): readonly LogKey[] {
  const keys = entries.map(({ opening, position }) => ({ ...parseKeyOpening(opening), position }))
  assertKeyChain(keys, origin)
  assertKeyPositions(keys)
  return keys.map(({ vkey, position }, i) => ({ vkey, from: position + 1, until: keys[i + 1]?.position ?? null }))
}

/**
 * Verifies a checkpoint (C2SP tlog-checkpoint) that one of the keys signed. Signature lines of unknown keys are
 * ignored.
 *
 * @param note The signed note. Untrusted.
 * @param keys C2SP verifier keys, or keys with the tree sizes that they sign (`logKeysOf`, `Policy.keys`).
 * @returns Origin, tree size and root hash.
 * @throws `VERIFICATION_FAILED` if no key verifies the signature, or if its key may not sign a tree of this size.
 */
export function verifySignedCheckpoint(note: string, keys: readonly (string | PinnedKey)[]): Checkpoint {
  const pinned = keys.map((key) => (typeof key === 'string' ? { vkey: key } : key))
  const { origin, size, root } = verifyCheckpointUnder(note, pinned)
  return { origin, size, root }
}

/** A verified log. */
export interface VerifiedLog {
  readonly origin: string
  /** All checkpoint keys of the log (C2SP), oldest first. */
  readonly verifierKeys: readonly string[]
  /** The same keys with the tree sizes that they sign, for a policy. */
  readonly keys: readonly LogKey[]
  /** Number of entries. */
  readonly size: number
  /** Root hash of the Merkle tree (RFC 9162 § 2.1), hex. */
  readonly root: string
  /**
   * The slot (hex) of each event. If it holds the slot after a history's last version, versions are missing from the
   * history.
   */
  readonly slots: ReadonlySet<string>
  /** SHA-256 (hex) of each TimeStampResp in the log. */
  readonly tokens: ReadonlySet<string>
  /** Entries of kinds that this version does not know. They are in the tree, and nothing is said about them. */
  readonly skipped: number
}

/** What a log is verified against. */
export interface VerifyLogOptions {
  /** The signed checkpoint. Untrusted. */
  readonly checkpoint: string
  /** The log's origin, from a trusted source. Default: the checkpoint's own. */
  readonly origin?: string
}

/**
 * Verifies a whole log, as a monitor does: its entries hash to the checkpoint's root, its keys belong to the origin,
 * entry 0 is the first of them, the newest one signed the checkpoint, and no two events have the same slot (a forked
 * history). Keeps all slots in memory.
 *
 * @param openings The openings of all entries in log order, as many as the checkpoint's size. Untrusted.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 */
export function verifyLog(
  openings: Iterable<Uint8Array>,
  { checkpoint, origin = originOf(checkpoint) }: VerifyLogOptions,
): VerifiedLog {
  const log = new LogReading()
  const slots = new Set<string>()
  const tokens = new Set<string>()
  let skipped = 0
  for (const opening of openings) {
    const { size } = log.tree
    const { kind, slot } = log.add(opening)
    if (kind === undefined) skipped++
    if (kind === 'token') tokens.add(toHex(opening.subarray(TAG_BYTES)))
    if (slot !== undefined) addSlot(slots, toHex(slot), size)
  }
  const keys = logKeysOf(origin, log.keys)
  const { size, root } = assertWholeTree(log, verifySignedCheckpoint(checkpoint, keys))
  const verifierKeys = keys.map(({ vkey }) => vkey)
  return { origin, verifierKeys, keys, size, root: toHex(root), slots, tokens, skipped }
}

/** Throws `VERIFICATION_FAILED` unless what was read is the tree of this checkpoint, which it returns. */
export function assertWholeTree({ tree }: LogReading, signed: Checkpoint): Checkpoint {
  if (signed.size !== tree.size)
    throw verificationError('log.size-differs', `Expected ${signed.size} entries, got ${tree.size}`)
  const [computed, expected] = [toHex(tree.root()), toHex(signed.root)]
  if (computed !== expected)
    throw verificationError('log.root-differs', `The entries hash to ${computed}, and the checkpoint has ${expected}`)
  return signed
}

/** The origin that a note states. Its keys must belong to it, so a wrong one verifies nothing. */
const originOf = (note: string): string => parseCheckpointText(parseNote(note).text).origin

function addSlot(slots: Set<string>, slot: string, position: number): void {
  if (slots.has(slot)) throw verificationError('log.forked', `Entry ${position} forks a history: its slot is taken`)
  slots.add(slot)
}

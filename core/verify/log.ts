import { equalBytes, toHex } from '../bytes.ts'
import { parseOpening, TAG_BYTES } from '../commitment/event-format.ts'
import { parseCheckpoint, verifyCheckpoint, type Checkpoint } from '../log/checkpoint.ts'
import { entryOf, kindOf, verifyKeyChain } from '../commitment/log-entry.ts'
import { isRegistryError } from '../errors.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { verificationError } from './untrusted.ts'

/**
 * Derives a log's verifier keys (C2SP signed-note) from its origin. The origin commits to the first key, and each key
 * signed the next.
 *
 * @param origin The log's origin, from a trusted source.
 * @param keyOpenings The openings of the log's key entries in log order, entry 0 first. Untrusted.
 * @returns One verifier key for each key entry, for `verifySignedCheckpoint` and `verifyProof`.
 * @throws `VERIFICATION_FAILED` if the keys do not belong to the origin.
 */
export function verifierKeysOf(origin: string, keyOpenings: readonly Uint8Array[]): readonly string[] {
  const chain = verifyKeyChain(keyOpenings)
  if (chain[0]?.log !== origin) throw verificationError(`The keys do not belong to the log ${origin}`)
  return chain.map(({ vkey }) => vkey)
}

/**
 * Verifies a checkpoint (C2SP tlog-checkpoint) that one of the keys signed.
 *
 * @param note The signed note. Untrusted.
 * @param verifierKeys C2SP verifier keys, for example from `verifierKeysOf`.
 * @returns Origin, tree size and root hash.
 * @throws `VERIFICATION_FAILED` if no key verifies the signature.
 */
export function verifySignedCheckpoint(note: string, verifierKeys: readonly string[]): Checkpoint {
  let lastError: unknown = verificationError('No verifier key was given to verify the checkpoint with')
  for (const key of verifierKeys) {
    try {
      return verifyCheckpoint(note, key)
    } catch (error) {
      if (!isRegistryError(error)) throw error
      lastError = error
    }
  }
  throw lastError
}

/** A verified log. */
export interface VerifiedLog {
  readonly origin: string
  /** All checkpoint keys of the log (C2SP), oldest first. */
  readonly verifierKeys: readonly string[]
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
}

/** What a log is verified against. */
export interface VerifyLogOptions {
  /** The signed checkpoint. Untrusted. */
  readonly checkpoint: string
  /** The log's origin, from a trusted source. Default: the checkpoint's own. */
  readonly origin?: string
}

/**
 * Verifies a whole log, as a monitor does: its entries hash to the checkpoint's root, its keys belong to the origin and
 * signed the checkpoint, and no two events have the same slot (a forked history). Keeps all slots in memory.
 *
 * @param openings The openings of all entries in log order, as many as the checkpoint's size. Untrusted.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 */
export function verifyLog(
  openings: Iterable<Uint8Array>,
  { checkpoint, origin = parseCheckpoint(checkpoint).origin }: VerifyLogOptions,
): VerifiedLog {
  const tree = new TreeAccumulator()
  const keyOpenings: Uint8Array[] = []
  const slots = new Set<string>()
  const tokens = new Set<string>()
  for (const opening of openings) {
    const kind = kindOf(opening)
    if (kind === undefined) throw verificationError(`The opening of entry ${tree.size} is of an unknown kind`)
    if (kind === 'key') keyOpenings.push(opening)
    if (kind === 'token') tokens.add(toHex(opening.subarray(TAG_BYTES)))
    if (kind === 'event') addSlot(slots, opening, tree.size)
    tree.add(leafHash(entryOf(opening)))
  }
  const verifierKeys = verifierKeysOf(origin, keyOpenings)
  const signed = verifySignedCheckpoint(checkpoint, verifierKeys)
  if (signed.size !== tree.size)
    throw verificationError(`Expected the ${signed.size} entries of the checkpoint, got ${tree.size}`)
  if (!equalBytes(signed.root, tree.root())) throw verificationError("The entries do not hash to the checkpoint's root")
  return { origin, verifierKeys, size: tree.size, root: toHex(tree.root()), slots, tokens }
}

function addSlot(slots: Set<string>, opening: Uint8Array, position: number): void {
  const slot = parseOpening(opening)?.slot
  if (slot === undefined) throw verificationError(`The event opening of entry ${position} is malformed`)
  const text = toHex(slot)
  if (slots.has(text))
    throw verificationError(`Entry ${position} has the slot of an earlier entry: a history was forked`)
  slots.add(text)
}

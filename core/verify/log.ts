import { equalBytes, toHex } from '../bytes.ts'
import { parseOpening } from '../commitment/event-format.ts'
import { parseCheckpoint, verifyCheckpoint, type Checkpoint } from '../log/checkpoint.ts'
import { entryOf, kindOf, verifyKeyChain } from '../commitment/log-entry.ts'
import { isRegistryError } from '../errors.ts'
import { TAG_BYTES } from '../commitment/event-format.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { refuse } from './untrusted.ts'

/**
 * The verifier keys (C2SP) of a log, from its origin and the openings of its key entries, entry 0 first: the origin commits to the first
 * key, each key signed the next. Throws `VERIFICATION_FAILED`.
 */
export function verifierKeysOf(origin: string, keyOpenings: readonly Uint8Array[]): readonly string[] {
  const chain = verifyKeyChain(keyOpenings)
  if (chain[0]?.log !== origin) throw refuse(`The keys are not those of the log ${origin}`)
  return chain.map(({ vkey }) => vkey)
}

/** What a checkpoint says where one of these keys signed it. Throws `VERIFICATION_FAILED`. */
export function verifySignedCheckpoint(note: string, verifierKeys: readonly string[]): Checkpoint {
  let refusal: unknown = refuse('There is no verifier key to check the checkpoint with')
  for (const key of verifierKeys) {
    try {
      return verifyCheckpoint(note, key)
    } catch (error) {
      if (!isRegistryError(error)) throw error
      refusal = error
    }
  }
  throw refusal
}

/** What a whole log proves. */
export interface VerifiedLog {
  readonly origin: string
  /** Every checkpoint key that the log holds, oldest first. */
  readonly verifierKeys: readonly string[]
  readonly size: number
  /** Hex. */
  readonly root: string
  /** The slot (hex) of each event. The slot of a history's next version that is here means that the history was cut short. */
  readonly slots: ReadonlySet<string>
  /** SHA-256 (hex) of each TimeStampResp that the log holds. */
  readonly tokens: ReadonlySet<string>
}

/**
 * What a monitor does: takes the openings of all entries in order (as many as the checkpoint's size), and checks that they make its root, that
 * the log's own keys follow from its origin and signed it, and that no two events have one slot (a forked history). Holds
 * the slots in memory. `origin` is the one that you know from elsewhere; default: the checkpoint's. Throws `VERIFICATION_FAILED`.
 */
export function verifyLog(
  openings: Iterable<Uint8Array>,
  {
    checkpoint,
    origin = parseCheckpoint(checkpoint).origin,
  }: { readonly checkpoint: string; readonly origin?: string },
): VerifiedLog {
  const tree = new TreeAccumulator()
  const keyOpenings: Uint8Array[] = []
  const slots = new Set<string>()
  const tokens = new Set<string>()
  for (const opening of openings) {
    const kind = kindOf(opening)
    if (kind === undefined) throw refuse(`Entry ${tree.size} opens to nothing that is known`)
    if (kind === 'key') keyOpenings.push(opening)
    if (kind === 'token') tokens.add(toHex(opening.subarray(TAG_BYTES)))
    if (kind === 'event') addSlot(slots, opening, tree.size)
    tree.add(leafHash(entryOf(opening)))
  }
  const verifierKeys = verifierKeysOf(origin, keyOpenings)
  const signed = verifySignedCheckpoint(checkpoint, verifierKeys)
  if (signed.size !== tree.size)
    throw refuse(`The log has ${tree.size} entries here, the checkpoint says ${signed.size}`)
  if (!equalBytes(signed.root, tree.root())) throw refuse("The entries do not make the checkpoint's root")
  return { origin, verifierKeys, size: tree.size, root: toHex(tree.root()), slots, tokens }
}

function addSlot(slots: Set<string>, opening: Uint8Array, position: number): void {
  const slot = parseOpening(opening)?.slot
  if (slot === undefined) throw refuse(`Entry ${position} is no event that can be read`)
  const text = toHex(slot)
  if (slots.has(text)) throw refuse(`Entry ${position} has the slot of an earlier one: a history was forked`)
  slots.add(text)
}

import { concatBytes, encodeUtf8, equalBytes, toBase64 } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { parseNote, parseVerifierKey, verifySignature, type NoteSignature, type SignedNote } from '../log/note.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { SignatureBudget } from './signature-budget.ts'
import type { PinnedKey } from './policy.ts'

/**
 * Checkpoints from an untrusted source (https://c2sp.org/tlog-checkpoint): unknown signature lines are ignored, and the
 * text may have extension lines.
 */

/** A checkpoint that a key of the log signed. */
export interface VerifiedCheckpoint extends Checkpoint {
  readonly key: PinnedKey
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
  keys: readonly PinnedKey[],
  budget: SignatureBudget = new SignatureBudget(),
): VerifiedCheckpoint {
  const parsed = parseNote(note)
  const checkpoint = parseCheckpointText(parsed.text)
  const [match, ...others] = keys.flatMap((key) =>
    linesBy(parsed, key, checkpoint.origin).map((line) => ({ key, line })),
  )
  if (others.length > 0) throw verificationError('The checkpoint has more than one signature of the log')
  if (match === undefined) throw verificationError(`No pinned key of ${checkpoint.origin} signed the checkpoint`)
  const { key, line } = match
  budget.spend()
  if (!verifySignature(parseVerifierKey(key.vkey).publicKey, encodeUtf8(parsed.text), line.signature))
    throw verificationError("The checkpoint's signature does not verify")
  assertMaySign(key, checkpoint.size)
  return { ...checkpoint, key, note: parsed, noteBytes: encodeUtf8(`${parsed.text}\n${lineText(line)}`) }
}

/** The signatures of a note that name this key. A key that cannot be parsed has none. */
function linesBy({ signatures }: SignedNote, { vkey }: PinnedKey, origin: string): readonly NoteSignature[] {
  const key = parsedKey(vkey)
  return key?.name === origin
    ? signatures.filter(({ name, keyId }) => name === origin && equalBytes(keyId, key.keyId))
    : []
}

function parsedKey(vkey: string): ReturnType<typeof parseVerifierKey> | undefined {
  try {
    return parseVerifierKey(vkey)
  } catch (error) {
    if (!isRegistryError(error)) throw error
    return undefined
  }
}

const lineText = ({ name, keyId, signature }: NoteSignature): string =>
  `— ${name} ${toBase64(concatBytes(keyId, signature))}\n`

/** A retired key may not sign later trees, and no key signs a tree that does not hold its own entry. */
function assertMaySign({ from = 1, until }: PinnedKey, size: number): void {
  if (size < from)
    throw verificationError(`The key signs trees from ${from} entries on, but the checkpoint has ${size}`)
  if (typeof until === 'number' && size > until)
    throw verificationError(
      `The key was retired: it signs trees up to ${until} entries, but the checkpoint has ${size}`,
    )
}

import { concatBytes, encodeUtf8, equalBytes, toBase64 } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import {
  parseNote,
  parseVerifierKey,
  verifySignature,
  type NoteSignature,
  type SignedNote,
  ED25519_COSIGNATURE,
} from '../log/note.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { SignatureBudget } from './untrusted.ts'
import type { PinnedKey } from './policy.ts'
import type { Witness, WitnessGroup } from './policy-text.ts'

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

/** Cosignatures of witnesses (https://c2sp.org/tlog-cosignature), with Ed25519 keys of the type 04. */

const TIME_BYTES = 8
const SIGNATURE_BYTES = 64

/** The largest time that is read, in seconds: the end of the year 9999. */
const MAX_SECONDS = 253_402_300_799n

function secondsOf(signature: Uint8Array): number {
  const seconds = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)
  if (seconds === 0n || seconds > MAX_SECONDS) throw verificationError('The time of a cosignature is not a time')
  return Number(seconds)
}

/** A witness whose cosignature verified. */
export interface Cosignature {
  /** The witness's name in the policy. */
  readonly name: string
  /** When the witness says that it saw the checkpoint, ms since 1970. */
  readonly time: number
}

/**
 * Verifies the cosignatures of a note by the witnesses of a policy. Lines of other keys are ignored, as C2SP specifies.
 *
 * @returns The witnesses that cosigned.
 * @throws `VERIFICATION_FAILED` if a witness's line does not verify, or if too few cosigned.
 */
export function verifyCosignatures(
  note: SignedNote,
  required: WitnessGroup,
  budget: SignatureBudget,
): readonly Cosignature[] {
  const held = new Map<Witness, Cosignature>()
  for (const witness of witnessesOf(required)) {
    const cosignature = verifyCosignature(note, witness, budget)
    if (cosignature !== undefined) held.set(witness, cosignature)
  }
  if (!isMet(required, held)) throw verificationError('Too few of the required witnesses have cosigned the checkpoint')
  return [...held.values()]
}

const isGroup = (member: Witness | WitnessGroup): member is WitnessGroup => 'members' in member

const witnessesOf = ({ members }: WitnessGroup): readonly Witness[] =>
  members.flatMap((member) => (isGroup(member) ? witnessesOf(member) : [member]))

const isMet = ({ threshold, members }: WitnessGroup, held: ReadonlyMap<Witness, Cosignature>): boolean =>
  members.filter((member) => (isGroup(member) ? isMet(member, held) : held.has(member))).length >= threshold

function verifyCosignature(
  { text, signatures }: SignedNote,
  { name, vkey }: Witness,
  budget: SignatureBudget,
): Cosignature | undefined {
  const key = parseVerifierKey(vkey, ED25519_COSIGNATURE)
  const line = signatures.find((one) => one.name === key.name && equalBytes(one.keyId, key.keyId))
  if (line === undefined) return undefined
  if (line.signature.length !== TIME_BYTES + SIGNATURE_BYTES)
    throw verificationError(`The cosignature of ${name} has another length`)
  const seconds = secondsOf(line.signature)
  const signed = concatBytes(encodeUtf8(`cosignature/v1\ntime ${seconds}\n`), encodeUtf8(text))
  budget.spend()
  if (!verifySignature(key.publicKey, signed, line.signature.subarray(TIME_BYTES)))
    throw verificationError(`The cosignature of ${name} does not verify`)
  return { name, time: seconds * 1000 }
}

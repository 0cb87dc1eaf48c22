import { concatBytes, encodeUtf8, equalBytes } from '../bytes.ts'
import { ED25519_COSIGNATURE, parseVerifierKey, verifySignature, type SignedNote } from '../log/note.ts'
import type { SignatureBudget } from './signature-budget.ts'
import type { Witness, WitnessGroup } from './policy-text.ts'
import { verificationError } from '../errors.ts'

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

import { concatBytes, encodeUtf8, equalBytes, toBase64 } from '../bytes.ts'
import { verificationError } from '../errors.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { parseNote, type SignedNote } from '../log/note.ts'
import {
  ED25519_COSIGNATURE,
  ML_DSA_44_COSIGNATURE,
  usableCosignatureKey,
  usableKey,
  verifySignature,
  type VerifierKey,
} from '../log/verifier-key.ts'
import { countsFor, type Verification } from './checkpoint.ts'
import type { Cosignature } from './claims.ts'
import type { Policy } from './policy.ts'
import type { Witness, WitnessGroup } from './policy-text.ts'

/**
 * Cosignatures of witnesses (https://c2sp.org/tlog-cosignature), with keys of the types 04 (Ed25519) and 06
 * (ML-DSA-44), and the quorum that a policy asks for.
 */

/**
 * Whether a cosignature of type 06 verifies. It is a value that the caller passes, so that its library is only loaded
 * for a policy and a proof that need it.
 *
 * @param seconds since 1970: the time that it states
 * @param signature 2,420 bytes
 */
export type VerifyMlDsa44 = (tree: Checkpoint, key: VerifierKey, seconds: bigint, signature: Uint8Array) => boolean

/**
 * A bundle can have thousands, and only witnesses that the caller pins can make many: the first wrong one refutes it.
 * The maker of a bundle can make those of the witnesses in its own policy, so each of them costs a unit.
 */
export const PINNED_COSIGNATURE_COST = 1 / 8
/** ML-DSA-44 in JavaScript takes about as long as so many signatures with Ed25519 in Node. */
const ML_DSA_44_COST = 16
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
const ML_DSA_44_SIGNATURE_BYTES = 2_420
/** The largest time that is read, in seconds: the end of the year 9999. */
const MAX_SECONDS = 253_402_300_799n

/** What cosignatures are verified with. */
export interface Cosigning {
  readonly run: Verification
  /** Of each signature with Ed25519. */
  readonly cost: number
  /** `undefined`: cosignatures of type 06 are not checked, and count as absent. */
  readonly mlDsa44?: VerifyMlDsa44 | undefined
}

/** What was cosigned: a checkpoint and its note. */
type Cosigned = Checkpoint & { readonly note: SignedNote }

/** Parses the note of a checkpoint. Throws `VERIFICATION_FAILED`. */
export function parseCosigned(text: string): Cosigned {
  const note = parseNote(text)
  return { ...parseCheckpointText(note.text), note }
}

/** The cosignatures of a tree that hold. */
export type Cosignatures = ReadonlyMap<Witness, Cosignature>

/**
 * Verifies the cosignatures of a tree by the witnesses of a policy that are in use for trees of its size. Lines of
 * other keys are ignored, as C2SP specifies. Throws `VERIFICATION_FAILED` if a witness's line does not verify.
 */
export function verifyCosignatures(tree: Cosigned, required: WitnessGroup, cosigning: Cosigning): Cosignatures {
  const held = new Map<Witness, Cosignature>()
  for (const witness of witnessesIn(required).filter(({ ranges }) => countsFor(tree.size, ranges))) {
    const cosignature = verifyCosignature(tree, witness, cosigning)
    if (cosignature !== undefined) held.set(witness, cosignature)
  }
  return held
}

export function verifyCosignature(
  tree: Cosigned,
  witness: Witness,
  { run: { budget, doubt }, cost, mlDsa44 }: Cosigning,
): Cosignature | undefined {
  const { name } = witness
  const key = budget.once(witness, () => usableCosignatureKey(witness.vkey))
  const line = key && tree.note.signatures.find((one) => one.name === key.name && equalBytes(one.keyId, key.keyId))
  if (key === undefined || line === undefined) return undefined
  const isEd25519 = key.type === ED25519_COSIGNATURE
  if (!isEd25519 && mlDsa44 === undefined) {
    doubt({ what: `the cosignature of ${name}`, why: 'Type 06: needs `mlDsa44` of evidence-registry/verify/ml-dsa' })
    return undefined
  }
  const { signature } = line
  const isWhole = signature.length === TIME_BYTES + (isEd25519 ? SIGNATURE_BYTES : ML_DSA_44_SIGNATURE_BYTES)
  const seconds = isWhole ? new DataView(signature.buffer, signature.byteOffset).getBigUint64(0) : -1n
  // Of type 06, it does not say that this was the newest tree.
  if (seconds === 0n && !isEd25519) return undefined
  if (seconds < 1n || seconds > MAX_SECONDS)
    throw verificationError('witness.malformed', `The cosignature of ${name} has another length, or no time`)
  budget.spend(isEd25519 ? cost : cost * ML_DSA_44_COST)
  const bare = signature.subarray(TIME_BYTES)
  const isValid = isEd25519
    ? verifySignature(key.publicKey, encodeUtf8(`cosignature/v1\ntime ${seconds}\n${tree.note.text}`), bare)
    : mlDsa44?.(tree, key, seconds, bare)
  if (isValid !== true) throw verificationError('witness.signature', `The cosignature of ${name} does not verify`)
  return { name, time: Number(seconds) * 1000 }
}

/** The digits of base64 that a key ID and the first four bits of a time, which are 0, make together. */
const KEY_ID_DIGITS = 6

/**
 * Whether checking the cosignatures of a proof needs `mlDsa44`: the policy names a key of type 06, and the text has a
 * line of it. Without a text, the policy decides. Reads the text without parsing it. A wrong result does no harm: a
 * cosignature that is not checked counts as absent.
 */
export const needsMlDsa44 = ({ witnesses }: Pick<Policy, 'witnesses'>, text?: string): boolean =>
  witnesses !== undefined &&
  witnessesIn(witnesses).some(({ vkey }) => {
    const key = usableKey(vkey, ML_DSA_44_COSIGNATURE)
    if (key === undefined || text === undefined) return key !== undefined
    return text.includes(toBase64(concatBytes(key.keyId, new Uint8Array(2))).slice(0, KEY_ID_DIGITS))
  })

// -- the quorum

type Member = Witness | WitnessGroup

const isGroup = (member: Member): member is WitnessGroup => 'members' in member

const witnessesIn = ({ members }: WitnessGroup): readonly Witness[] =>
  members.flatMap((member) => (isGroup(member) ? witnessesIn(member) : [member]))

/** Who cosigned a tree. */
export interface Witnessed {
  readonly witnesses: readonly Cosignature[]
  /** How many of the operators: the members of the quorum's group that are in use for trees of this size. */
  readonly cosigned: number
  readonly operators: number
  /** Whether the quorum is reached. False if the policy names no witness, and true if none of them is in use. */
  readonly isMet: boolean
}

/**
 * Who cosigned a tree of this size, by the cosignatures that hold.
 *
 * @param later - who cosigned a larger tree, which holds the same entries: it is returned if it is better
 */
export function witnessedBy(
  held: Cosignatures,
  size: number,
  required: WitnessGroup,
  later: Witnessed | undefined,
): Witnessed {
  const operators = operatorsOf(required, held, size)
  const own = {
    witnesses: [...held.values()],
    cosigned: operators.filter((hasCosigned) => hasCosigned).length,
    operators: operators.length,
    isMet: witnessesIn(required).length > 0 && isCosigned(required, held, size) !== false,
  }
  return later !== undefined && isBetter(later, own) ? later : own
}

/** Its quorum is reached, or else more operators cosigned. */
const isBetter = (one: Witnessed, other: Witnessed): boolean =>
  one.isMet === other.isMet ? one.cosigned > other.cosigned : one.isMet

/**
 * Whether a witness, or enough members of a group, had cosigned a tree of this size; `undefined` if none of them is in
 * use for it. A threshold is not more than the members that are in use.
 *
 * @param until - ms since 1970. Default: at any time
 */
export function isCosigned(member: Member, held: Cosignatures, size: number, until = Infinity): boolean | undefined {
  if (!isGroup(member)) {
    const time = held.get(member)?.time
    return countsFor(size, member.ranges) ? time !== undefined && time <= until : undefined
  }
  const inUse = votesOf(member, held, size, until)
  if (inUse.length === 0) return undefined
  return inUse.filter((vote) => vote).length >= Math.min(member.threshold, inUse.length)
}

/** Of each member of a group that is in use. */
const votesOf = ({ members }: WitnessGroup, held: Cosignatures, size: number, until?: number): readonly boolean[] =>
  members.flatMap((member) => isCosigned(member, held, size, until) ?? [])

/** Of each operator. Several witnesses of one operator are a group, so they count once. */
function operatorsOf(group: WitnessGroup, held: Cosignatures, size: number): readonly boolean[] {
  const inUse = group.members.filter((member) => isCosigned(member, held, size) !== undefined)
  const [only] = inUse
  return only !== undefined && inUse.length === 1 && isGroup(only)
    ? operatorsOf(only, held, size)
    : votesOf(group, held, size)
}

/** In words; `undefined` if the policy names no witness. */
export function witnessedText({ cosigned, operators, isMet }: Witnessed): string | undefined {
  if (operators === 0) return isMet ? 'no witness was in use' : undefined
  return `witnessed by ${cosigned} of ${operators}${isMet ? '' : ', too few'}`
}

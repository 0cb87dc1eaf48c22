import { toHex } from '../bytes.ts'
import { ED25519_COSIGNATURE, parseVerifierKey } from '../log/note.ts'
import { verificationError } from '../errors.ts'

/** Parses C2SP tlog-policy text (https://c2sp.org/tlog-policy) and resolves its quorum. */

/** A witness, by its local name and its cosignature key. */
export interface Witness {
  readonly name: string
  /** C2SP verifier key of the type 04 (Ed25519 cosignature). */
  readonly vkey: string
}

/** At least `threshold` of the members must have cosigned. A threshold of 0 requires nothing. */
export interface WitnessGroup {
  readonly threshold: number
  readonly members: readonly (Witness | WitnessGroup)[]
}

/** The lines of a policy by kind, each in their order. */
export interface PolicyLines {
  readonly logs: readonly { readonly vkey: string }[]
  readonly witnesses: readonly Witness[]
  readonly groups: readonly {
    readonly name: string
    readonly threshold: string
    readonly members: readonly string[]
  }[]
  readonly quorum: string
}

interface WritableLines {
  logs: { vkey: string }[]
  witnesses: Witness[]
  groups: { name: string; threshold: string; members: string[] }[]
  quorum: string | undefined
  /** Names of witnesses and groups so far: a line may only use earlier names. */
  names: Set<string>
}

/** Throws `VERIFICATION_FAILED` with the first rule that the text breaks. */
export function parsePolicyText(text: string): PolicyLines {
  if (/[^\t\n\x20-\x7e\u0080-\u{10ffff}]/u.test(text))
    throw verificationError('The policy contains a control character')
  const lines: WritableLines = { logs: [], witnesses: [], groups: [], quorum: undefined, names: new Set() }
  for (const [i, line] of text.split('\n').entries()) {
    const [keyword, ...words] = line.split(/[ \t]+/).filter((word) => word !== '')
    if (keyword === undefined || keyword.startsWith('#')) continue
    if (!addLine(lines, keyword, words))
      throw verificationError(`Line ${i + 1} of the policy is not a tlog-policy line`)
  }
  const { logs, witnesses, groups, quorum } = lines
  if (quorum === undefined) throw verificationError('The policy has no quorum line')
  if (logs.length === 0) throw verificationError('The policy has no log line')
  assertDistinctKeys(logs.map(({ vkey }) => toHex(parseVerifierKey(vkey).publicKey)))
  return { logs, witnesses, groups, quorum }
}

/** Returns false if the line has another form. */
function addLine(lines: WritableLines, keyword: string, words: readonly string[]): boolean {
  const [first, second, ...others] = words
  if (first === undefined) return false
  if (keyword === 'log' && words.length <= 2) {
    lines.logs.push({ vkey: first })
    return true
  }
  if (keyword === 'witness' && second !== undefined && others.length <= 1) {
    lines.witnesses.push({ name: addName(lines, first), vkey: second })
    return true
  }
  if (keyword === 'group' && second !== undefined && others.length > 0) {
    for (const member of others) assertKnown(lines, member)
    lines.groups.push({ name: addName(lines, first), threshold: second, members: others })
    return true
  }
  if (keyword !== 'quorum' || words.length > 1) return false
  if (lines.quorum !== undefined) throw verificationError('The policy has two quorum lines')
  if (first !== 'none') assertKnown(lines, first)
  lines.quorum = first
  return true
}

function addName({ names }: WritableLines, name: string): string {
  if (name === 'none' || names.has(name)) throw verificationError(`The policy defines the name ${name} twice`)
  names.add(name)
  return name
}

function assertKnown({ names }: WritableLines, name: string): void {
  if (!names.has(name)) throw verificationError(`The policy uses the name ${name} before it is defined`)
}

function assertDistinctKeys(keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) throw verificationError('The policy has one key twice')
}

/** The group that the quorum line names. Throws `VERIFICATION_FAILED` if a group or witness breaks a rule. */
export function resolveQuorum({ witnesses, groups, quorum }: PolicyLines): WitnessGroup {
  assertDistinctKeys(witnesses.map(({ vkey }) => toHex(parseVerifierKey(vkey, ED25519_COSIGNATURE).publicKey)))
  const defined = new Map<string, Witness | WitnessGroup>()
  const define = (name: string, member: Witness | WitnessGroup): void => {
    if (name === 'none' || defined.has(name)) throw verificationError(`The policy defines the name ${name} twice`)
    defined.set(name, member)
  }
  for (const witness of witnesses) define(witness.name, witness)
  const used = new Set<string>()
  for (const { name, threshold, members } of groups) {
    const resolved = members.map((member) => memberOf(defined, used, member))
    define(name, { threshold: thresholdOf(threshold, members.length), members: resolved })
  }
  if (quorum === 'none') return { threshold: 0, members: [] }
  const required = defined.get(quorum)
  if (required === undefined) throw verificationError(`The policy does not define its quorum ${quorum}`)
  return { threshold: 1, members: [required] }
}

/** A name is a member of at most one group, so that no witness counts twice. */
function memberOf(
  defined: ReadonlyMap<string, Witness | WitnessGroup>,
  used: Set<string>,
  name: string,
): Witness | WitnessGroup {
  const member = defined.get(name)
  if (member === undefined) throw verificationError(`The policy uses the name ${name} before it is defined`)
  if (used.has(name)) throw verificationError(`The policy uses ${name} as a member twice`)
  used.add(name)
  return member
}

function thresholdOf(threshold: string, members: number): number {
  if (threshold === 'all') return members
  if (threshold === 'any') return 1
  const count = /^[1-9]\d{0,8}$/.test(threshold) ? Number(threshold) : 0
  if (count < 1 || count > members)
    throw verificationError(`The threshold of a group must be all, any or 1 to ${members}, got ${threshold}`)
  return count
}

import { toHex } from '../bytes.ts'
import { splitVerifierKey, usableCosignatureKey, usableKey } from '../log/verifier-key.ts'
import { verificationError } from '../errors.ts'
import type { TreeRange } from '../log/attestation-rules.ts'
import type { WitnessPolicy } from '../ports/index.ts'

/** Parses C2SP tlog-policy text (https://c2sp.org/tlog-policy) and resolves its quorum. */

/** A witness, by its local name and its cosignature key. */
export interface Witness {
  readonly name: string
  /** C2SP verifier key of the type 04 (Ed25519) or 06 (ML-DSA-44). A witness of another type counts as absent. */
  readonly vkey: string
  /** The trees for which it is in use. Default: all. */
  readonly ranges?: readonly TreeRange[]
}

/** At least `threshold` of the members must have cosigned. A threshold of 0 requires nothing. */
export interface WitnessGroup {
  readonly threshold: number
  readonly members: readonly (Witness | WitnessGroup)[]
}

/** The witnesses and groups of a policy, defined one after the other: each may only use earlier names. */
export class WitnessQuorum {
  readonly #defined = new Map<string, Witness | WitnessGroup>()
  /** Names that are members of a group, so that no witness counts twice. */
  readonly #members = new Set<string>()
  readonly #keys = new Set<string>()
  #required: WitnessGroup | undefined

  /** Throws `VERIFICATION_FAILED`, as the other methods. */
  witness(witness: Witness): void {
    usableCosignatureKey(witness.vkey)
    addKey(this.#keys, witness.vkey)
    this.#define(witness.name, witness)
  }

  group(name: string, threshold: string, members: readonly string[]): void {
    if (members.length === 0) throw verificationError('policy.quorum', `The group ${name} has no members`)
    const resolved = members.map((member) => {
      if (this.#members.has(member)) throw verificationError('policy.names', `The policy uses ${member} twice`)
      this.#members.add(member)
      return this.#find(member)
    })
    this.#define(name, { threshold: thresholdOf(threshold, members.length), members: resolved })
  }

  /** Sets the quorum: the name of a witness or group, or `none`. */
  require(name: string): void {
    if (this.#required !== undefined) throw verificationError('policy.quorum', 'The policy has two quorum lines')
    this.#required = name === 'none' ? { threshold: 0, members: [] } : { threshold: 1, members: [this.#find(name)] }
  }

  get required(): WitnessGroup {
    if (this.#required === undefined) throw verificationError('policy.quorum', 'The policy has no quorum line')
    return this.#required
  }

  #define(name: string, member: Witness | WitnessGroup): void {
    if (name === 'none' || this.#defined.has(name))
      throw verificationError('policy.names', `The policy defines ${name} twice`)
    this.#defined.set(name, member)
  }

  #find(name: string): Witness | WitnessGroup {
    const member = this.#defined.get(name)
    if (member === undefined) throw verificationError('policy.names', `The policy has not defined ${name} yet`)
    return member
  }
}

/** As `readPolicyText`, of a policy that names a log. */
export function parsePolicyText(given: string): ReturnType<typeof readPolicyText> {
  const policy = readPolicyText(given)
  if (policy.logs.length === 0) throw verificationError('policy.keys', 'The policy has no log line')
  return policy
}

/**
 * Returns the verifier keys of the logs, the quorum, and the lines about witnesses as they are written. Lines may also
 * end in CR LF. Throws `VERIFICATION_FAILED` with the first broken rule.
 */
export function readPolicyText(given: string) {
  const text = given.replaceAll('\r\n', '\n')
  if (/[^\t\n\x20-\x7e\u00a0-\u{10ffff}]/u.test(text))
    throw verificationError('policy.line', 'The policy contains a control character')
  const lines: PolicyLines = { logs: [], witnesses: [], groups: [], quorum: 'none' }
  const quorum = new WitnessQuorum()
  for (const [i, line] of text.split('\n').entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '')
    if (words.length > 0 && words[0]?.startsWith('#') !== true && !addLine(lines, quorum, words))
      throw verificationError('policy.line', `Line ${i + 1} of the policy is not a tlog-policy line`)
  }
  const { required } = quorum
  const { logs, ...witnesses } = lines
  const keys = new Set<string>()
  for (const vkey of logs) {
    usableKey(vkey)
    addKey(keys, vkey)
  }
  return { logs, required, witnesses }
}

/** The lines of a policy, as they are written. */
type PolicyLines = WitnessPolicy & { readonly logs: string[] }

/** Returns false if the line has another form. */
function addLine(lines: PolicyLines, quorum: WitnessQuorum, words: readonly string[]): boolean {
  const [keyword, name, second, ...others] = words
  if (name === undefined) return false
  if (keyword === 'log' && others.length === 0) lines.logs.push(name)
  else if (keyword === 'witness' && second !== undefined && others.length <= 1) {
    quorum.witness({ name, vkey: second })
    const [url] = others
    lines.witnesses.push({ name, vkey: second, ...(url !== undefined && { url }) })
  } else if (keyword === 'group' && second !== undefined && others.length > 0) {
    quorum.group(name, second, others)
    const threshold = second === 'all' || second === 'any' ? second : Number(second)
    lines.groups.push({ name, threshold, members: others })
  } else if (keyword === 'quorum' && second === undefined) {
    quorum.require(name)
    lines.quorum = name
  } else return false
  return true
}

/** A key of a type that cannot be used is kept. It counts as absent. */
function addKey(keys: Set<string>, vkey: string): void {
  const key = toHex(splitVerifierKey(vkey).typedKey)
  if (keys.has(key)) throw verificationError('policy.keys', 'The policy has one key twice')
  keys.add(key)
}

function thresholdOf(threshold: string, members: number): number {
  if (threshold === 'all') return members
  if (threshold === 'any') return 1
  const count = /^[1-9]\d{0,8}$/.test(threshold) ? Number(threshold) : 0
  if (count < 1 || count > members)
    throw verificationError('policy.quorum', `A threshold must be all, any or 1 to ${members}`)
  return count
}

import { MAX_LOG_KEYS } from '../commitment/log-entry.ts'
import { fromBase64 } from '../bytes.ts'
import { isRegistryError, RegistryError, verificationError } from '../errors.ts'
import { splitVerifierKey, usableKey } from '../log/verifier-key.ts'
import type { TreeRange } from '../log/attestation-rules.ts'
import { derAt } from './der.ts'
import { parsePolicyText, WitnessQuorum, type WitnessGroup } from './policy-text.ts'
import {
  asArray,
  asCount,
  asHash,
  asObject,
  asObjects,
  asString,
  assertNotNewer,
  assertOnlyMembers,
  parseUntrustedJson,
  withoutBom,
  type UntrustedObject,
} from './untrusted.ts'

/** A key that signs checkpoints. */
export interface PinnedKey {
  /** C2SP verifier key. Its name is the log's origin. */
  readonly vkey: string
  /** The smallest tree size that the key may sign: the position of its own entry in the log, plus 1. Default 1. */
  readonly from?: number
  /**
   * The largest tree size that the key may sign: the position of the next key's entry. `null`: there is no next key.
   * Default: not pinned, and the result says that it could not be checked.
   */
  readonly until?: number | null
  /** Of a retired key: the root of its last tree. Without it, what the key signed counts only beside a later tree. */
  readonly root?: Uint8Array
  /** Of a retired key, ms since 1970: what was stamped by then counts, unless the key is `compromised`. */
  readonly retiredAt?: number
  readonly compromised?: boolean
}

/** A timestamp authority that counts for the quorum. */
export interface PinnedAuthority {
  readonly name: string
  /** DER certificates that are trusted to issue (or to be) the certificate of its tokens. */
  readonly trustAnchors: readonly Uint8Array[]
  /**
   * The trees of which its tokens count. If one has an `until`, the authority is not in use any more: the entry of a
   * token must be before that position of the log. Default: all trees.
   */
  readonly ranges?: readonly TreeRange[]
}

/** A chain account that anchors checkpoints. */
export interface PinnedChain {
  /** The kind of chain, for example `evm` or `local`. */
  readonly type: string
  /** For example `eip155:1`. */
  readonly network: string
  /** 0 if the chain has none. */
  readonly chainId: number
  /** The account that sends the transactions: `0x` hex in either case, for the local ledger its public key in hex. */
  readonly account: string
  /** The trees of which its anchors count. Default: all. */
  readonly ranges?: readonly TreeRange[]
}

/** What a verifier pins, from a source that it trusts. `parsePolicy` reads it from what `GET /log/policy` returns. */
export interface Policy {
  /** All keys of the log. */
  readonly keys: readonly PinnedKey[]
  /** The witnesses, and how many operators of them are a quorum. Default: none. */
  readonly witnesses?: WitnessGroup
  /** Whether their quorum is required, as by `require`: of C2SP tlog-policy text. Default: no. */
  readonly requiresWitnesses?: boolean
  readonly authorities?: readonly PinnedAuthority[]
  /** How many of `authorities` must have stamped the log by the shown time. Default 1. */
  readonly timestampQuorum?: number
  /** The same for the trees of some ranges. */
  readonly timestampQuorums?: readonly { readonly quorum: number; readonly ranges: readonly TreeRange[] }[]
  readonly chains?: readonly PinnedChain[]
}

const MAX_POLICY_LENGTH = 1_048_576
/** An authority comes again for each change of what it trusts. */
const MAX_LIST = 1_024

/**
 * Parses a policy: the JSON of `GET /log/policy`, or C2SP tlog-policy text.
 *
 *     {"origin", "keys": [{"vkey", "from", "until", "root", "retiredAt", "compromised"}],
 *      "witnesses": [{"name", "vkey", "url", "ranges"}], "groups": [{"name", "threshold", "members"}], "quorum",
 *      "timestampAuthorities": [{"name", "trustAnchors": [PEM], "ranges": [{"from", "until"}]}],
 *      "timestampQuorum", "timestampQuorums": [{"quorum", "ranges"}],
 *      "chains": [{"type", "network", "chainId", "account", "ranges"}]}
 *
 * Only `keys` is required, and `version` may be 1. `threshold` is `all`, `any` or a number, and `quorum` the name of a
 * witness or group, or `none`. `until` is `null` for the newest key. Members with other names are only accepted inside
 * `extensions`.
 *
 * @throws `VERIFICATION_FAILED` with the first rule that the text breaks: `document.newer` for a policy of a newer
 *   version.
 * @example
 * const policy = parsePolicy(await readFile('policy.json', 'utf8'))
 */
export function parsePolicy(given: string): Policy {
  const text = withoutBom(given)
  if (text.length > MAX_POLICY_LENGTH)
    throw verificationError('form.length', `A policy must have at most ${MAX_POLICY_LENGTH} characters`)
  return /^\s*\{/.test(text) ? policyOfJson(text) : policyOfText(text)
}

function policyOfText(text: string): Policy {
  const { logs, required } = parsePolicyText(text)
  const keys = logs.map((vkey) => ({ vkey }))
  return { keys, witnesses: required, requiresWitnesses: required.threshold > 0 }
}

const LISTS = ['keys', 'witnesses', 'groups', 'timestampAuthorities', 'timestampQuorums', 'chains']
const MEMBERS = ['origin', ...LISTS, 'quorum', 'timestampQuorum', 'extensions']

function policyOfJson(text: string): Policy {
  const policy = asObject(parseUntrustedJson(text, 'The policy'), 'The policy')
  if (policy['format'] !== undefined) throw verificationError('document.format', 'A policy has no format')
  const shown = asObjects(policy['keys'], 'keys', MAX_LOG_KEYS)
  assertNotNewer(policy, MEMBERS, 'The policy')
  const keys = shown.map(pinnedKey)
  assertKeys(keys, policy['origin'])
  const witnesses = requiredWitnesses(policy)
  const { timestampQuorum = 1 } = policy
  return {
    keys,
    witnesses,
    authorities: listOf(policy['timestampAuthorities'], 'timestampAuthorities').map(pinnedAuthority),
    timestampQuorum: positive(timestampQuorum, 'timestampQuorum'),
    timestampQuorums: listOf(policy['timestampQuorums'], 'timestampQuorums').map(rangedQuorum),
    chains: listOf(policy['chains'], 'chains').map(pinnedChain),
  }
}

const listOf = (value: unknown, what: string): readonly UntrustedObject[] => asObjects(value ?? [], what, MAX_LIST)

function positive(value: unknown, what: string): number {
  const count = asCount(value, what)
  if (count === 0) throw verificationError('form.value', `${what} must be an integer >= 1`)
  return count
}

function pinnedKey(key: UntrustedObject): PinnedKey {
  assertOnlyMembers(key, ['vkey', 'from', 'until', 'root', 'retiredAt', 'compromised'], 'A key of the policy')
  const { from, until, root, retiredAt, compromised } = key
  if (compromised !== undefined && typeof compromised !== 'boolean')
    throw verificationError('form.value', 'compromised must be true or false')
  return {
    vkey: logKey(asString(key['vkey'], 'vkey')),
    ...(from !== undefined && { from: positive(from, 'from') }),
    ...(until !== undefined && { until: until === null ? null : positive(until, 'until') }),
    ...(root !== undefined && { root: asHash(root, 'root') }),
    ...(retiredAt !== undefined && { retiredAt: timeOf(asString(retiredAt, 'retiredAt')) }),
    ...(compromised !== undefined && { compromised }),
  }
}

const SECONDS_LENGTH = 'YYYY-MM-DDTHH:MM:SS'.length

/** ms since 1970. */
function timeOf(text: string): number {
  const time = Date.parse(text)
  const isReal = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(time)
  // `Date.parse` reads the 30th of February as a day in March, and 24:00 as the next day.
  if (isReal && new Date(time).toISOString().startsWith(text.slice(0, SECONDS_LENGTH))) return time
  throw verificationError('form.value', 'retiredAt must be a time in RFC 3339, in UTC')
}

function rangesOf({ ranges }: UntrustedObject): Pick<PinnedChain, 'ranges'> {
  if (ranges === undefined) return {}
  return {
    ranges: listOf(ranges, 'ranges').map((range) => {
      assertOnlyMembers(range, ['from', 'until'], 'A range')
      const { from, until } = range
      return { from: positive(from, 'from'), until: until === null ? null : positive(until, 'until') }
    }),
  }
}

function rangedQuorum(quorum: UntrustedObject): NonNullable<Policy['timestampQuorums']>[number] {
  assertOnlyMembers(quorum, ['quorum', 'ranges'], 'A timestamp quorum')
  return { ranges: [], ...rangesOf(quorum), quorum: positive(quorum['quorum'], 'quorum') }
}

/** A key of a type that cannot be used is kept. It counts as absent. */
function logKey(vkey: string): string {
  usableKey(vkey)
  return vkey
}

function assertKeys(keys: readonly PinnedKey[], origin: unknown): void {
  if (keys.length === 0) throw verificationError('policy.keys', 'The policy has no key')
  if (new Set(keys.map(({ vkey }) => vkey)).size < keys.length)
    throw verificationError('policy.keys', 'The policy has a key twice')
  for (const { vkey } of keys)
    if (origin !== undefined && splitVerifierKey(vkey).name !== origin)
      throw verificationError('policy.keys', 'The policy has a key of another origin')
}

function requiredWitnesses(policy: UntrustedObject): WitnessGroup {
  const quorum = new WitnessQuorum()
  for (const witness of listOf(policy['witnesses'], 'witnesses')) {
    assertOnlyMembers(witness, ['name', 'vkey', 'url', 'ranges'], 'A witness')
    const vkey = asString(witness['vkey'], 'The vkey of a witness')
    quorum.witness({ name: asString(witness['name'], 'The name of a witness'), vkey, ...rangesOf(witness) })
  }
  for (const group of listOf(policy['groups'], 'groups')) {
    assertOnlyMembers(group, ['name', 'threshold', 'members'], 'A group')
    const members = asArray(group['members'], 'members').map((name) => asString(name, 'A member of a group'))
    const { threshold } = group
    const count = typeof threshold === 'number' || typeof threshold === 'string' ? String(threshold) : ''
    quorum.group(asString(group['name'], 'The name of a group'), count, members)
  }
  quorum.require(asString(policy['quorum'] ?? 'none', 'quorum'))
  return quorum.required
}

function pinnedAuthority(authority: UntrustedObject): PinnedAuthority {
  assertOnlyMembers(authority, ['name', 'trustAnchors', 'ranges'], 'A timestamp authority')
  const pems = asArray(authority['trustAnchors'], 'trustAnchors').map((pem) => asString(pem, 'A trust anchor'))
  const name = asString(authority['name'], 'The name of a timestamp authority')
  try {
    return { name, trustAnchors: pems.flatMap(certificatesFromPem), ...rangesOf(authority) }
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw verificationError('form.value', `The trust anchors of ${name} must be certificates in PEM`, error)
  }
}

function pinnedChain(chain: UntrustedObject): PinnedChain {
  assertOnlyMembers(chain, ['type', 'network', 'chainId', 'account', 'ranges'], 'A chain')
  return {
    type: asString(chain['type'], 'The type of a chain'),
    network: asString(chain['network'], 'The network of a chain'),
    chainId: asCount(chain['chainId'], 'chainId'),
    account: asString(chain['account'], 'The account of a chain'),
    ...rangesOf(chain),
  }
}

// -- certificates

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----(?:([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----)?/g

/**
 * Decodes the certificates of a PEM text (RFC 7468), for example as trust anchors of `verifyTimestamp`. Other blocks
 * are ignored.
 *
 * @param pem Text with one or more `BEGIN CERTIFICATE` blocks.
 * @returns The DER bytes of each certificate, in the order of the text.
 * @throws `CONFIG_ERROR` that names the certificate that cannot be read, or says that the text has none.
 */
export function certificatesFromPem(pem: string): readonly Uint8Array[] {
  const certificates = Array.from(pem.matchAll(PEM_BLOCK), ([, base64], i) => decodeBlock(base64, i))
  if (certificates.length === 0)
    throw new RegistryError(
      'CONFIG_ERROR',
      'The text holds no PEM certificate: expected at least one BEGIN CERTIFICATE block',
    )
  return certificates
}

/** `base64`: `undefined` if there are other characters in the block, or its end is missing. */
function decodeBlock(base64: string | undefined, i: number): Uint8Array {
  const der = fromBase64((base64 ?? '').replace(/\s/g, ''))
  const whole = der && derAt(der)
  if (whole?.tag === 0x30 && whole.end === der?.length) return der
  throw new RegistryError('CONFIG_ERROR', `The certificate ${i + 1} of the PEM text cannot be read: copy it again`)
}

import { asArray, asObject, asObjects, assertOnlyMembers, isObject, type UntrustedObject } from './untrusted.ts'

/**
 * The members that a proof document may have. A verifier that ignored unknown members could be made to disagree with
 * another one about what a document says. `extensions` may hold anything and proves nothing.
 */

const COMMON = ['status', 'txId', 'opening', 'disclosure', 'assurance', 'error', 'code', 'extensions', 'renewals']
const MERKLE = ['batchId', 'merkleRoot', 'leafIndex', 'treeSize', 'sendStatus', 'proof', 'checkpoint']
const STAMPS = ['merkle', 'tsa', 'tsas', 'blockNumber']
const FILES = ['filesText', 'filesSalt']

const EVENT_MEMBERS = [
  ...COMMON,
  ...STAMPS,
  ...FILES,
  'evidenceId',
  'createdAt',
  'fileCount',
  'candidates',
  'fileId',
  'eventTimestamp',
  'deletion',
]
const FLAT_MEMBERS = [...COMMON, ...MERKLE]
const DELETION_MEMBERS = ['txId', 'eventTimestamp', 'opening', 'file', 'renewals', 'extensions', ...STAMPS, ...FILES]
const MERKLE_MEMBERS = [...MERKLE, 'anchor', 'extensions']
const ANCHOR_MEMBERS = [
  'type',
  'network',
  'chainId',
  'txHash',
  'blockNumber',
  'blockHash',
  'blockTime',
  'confirmations',
  'treeSize',
  'merkleRoot',
  'checkpoint',
  'consistency',
  'extensions',
]
const TSA_MEMBERS = [
  'authority',
  'genTime',
  'serialNumber',
  'policy',
  'hashAlgorithm',
  'imprint',
  'token',
  'treeSize',
  'checkpoint',
  'consistency',
  'evidence',
  'extensions',
]
const RENEWAL_MEMBERS = ['tokenSha256', 'leafIndex', 'treeSize', 'proof', 'checkpoint', 'tokens', 'extensions']

/** One event of a document, with its members in one form. */
export interface ShownEvent {
  readonly members: UntrustedObject
  readonly merkle: UntrustedObject | undefined
  readonly tsa: UntrustedObject | undefined
  /** All tokens, `tsa` included. */
  readonly tsas: readonly UntrustedObject[]
  readonly renewals: readonly UntrustedObject[]
  readonly anchor: UntrustedObject | undefined
}

export interface ShownProof {
  readonly event: ShownEvent
  readonly deletion: ShownEvent | undefined
}

/** Splits a document into its events. Throws `VERIFICATION_FAILED` if it has unknown members. */
export function shownProof(value: unknown): ShownProof {
  const document = asObject(value, 'The proof document')
  // `/merkle/proof` returns the members of `merkle` at the top.
  const isFlat = document['merkleRoot'] !== undefined && document['merkle'] === undefined
  assertOnlyMembers(document, isFlat ? FLAT_MEMBERS : EVENT_MEMBERS, 'The proof document')
  if (isFlat) {
    const merkle = Object.fromEntries(Object.entries(document).filter(([name]) => MERKLE.includes(name)))
    return { event: shownEvent(document, merkle), deletion: undefined }
  }
  const deletion = optional(document, 'deletion')
  if (deletion !== undefined) assertOnlyMembers(deletion, DELETION_MEMBERS, 'deletion')
  return {
    event: shownEvent(document, optional(document, 'merkle')),
    deletion: deletion && shownEvent(deletion, optional(deletion, 'merkle')),
  }
}

function shownEvent(members: UntrustedObject, merkle: UntrustedObject | undefined): ShownEvent {
  if (merkle !== undefined) assertOnlyMembers(merkle, MERKLE_MEMBERS, 'merkle')
  for (const item of asArray(merkle?.['proof'] ?? [], 'proof'))
    if (isObject(item)) assertOnlyMembers(item, ['hash', 'position'], 'A proof item')
  const anchor = merkle && optional(merkle, 'anchor')
  if (anchor !== undefined) assertOnlyMembers(anchor, ANCHOR_MEMBERS, 'anchor')
  const tsa = optional(members, 'tsa')
  const tsas = asObjects(members['tsas'] ?? (tsa === undefined ? [] : [tsa]), 'tsas')
  for (const token of tsa === undefined ? tsas : [tsa, ...tsas]) assertOnlyMembers(token, TSA_MEMBERS, 'A timestamp')
  const renewals = asObjects(members['renewals'] ?? [], 'renewals')
  for (const renewal of renewals) assertOnlyMembers(renewal, RENEWAL_MEMBERS, 'A renewal')
  return { members, merkle, tsa, tsas, renewals, anchor }
}

function optional(object: UntrustedObject, name: string): UntrustedObject | undefined {
  const value = object[name]
  return value === undefined ? undefined : asObject(value, name)
}

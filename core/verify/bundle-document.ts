import { fromBase64 } from '../bytes.ts'
import { MAX_LOG_KEYS } from '../commitment/log-entry.ts'
import { parseStrictJson } from '../commitment/strict-json.ts'
import type { ValidationData } from '../ports/index.ts'
import { verificationError } from '../errors.ts'
import {
  BUNDLE_FORMAT,
  MAX_ANCHORS,
  MAX_BUNDLE_EVENTS,
  MAX_CHECKPOINT_TOKENS,
  MAX_COSIGNATURES,
} from '../commitment/bundle-format.ts'
import { parseDisclosure, type ShownDisclosure } from './event.ts'
import {
  asArray,
  asBytes,
  asCount,
  asHash,
  asHashes,
  asObject,
  asObjects,
  asString,
  assertOnlyMembers,
  type UntrustedObject,
} from './untrusted.ts'

/**
 * Parses a bundle's text (`core/registry/proof/README.md`) from an untrusted source into types. Only the form is
 * checked here. Unknown members are rejected, so that two verifiers cannot read the same bundle differently.
 */

/** The event that a bundle is about, or the file that it attached. */
export type ShownSubject =
  | { readonly type: 'evidence'; readonly txId: string }
  | { readonly type: 'file'; readonly txId: string; readonly fileId: string }

export interface ShownInclusion {
  readonly treeSize: number
  readonly path: readonly Uint8Array[]
}

export interface ShownEntry {
  readonly opening: Uint8Array
  /** `undefined` if it is not sealed. Then it has no inclusion. */
  readonly position: number | undefined
  readonly inclusion: readonly ShownInclusion[]
}

export interface ShownBundleEvent extends ShownEntry, ShownDisclosure {}

export interface ShownAnchor {
  readonly type: string
  readonly network: string
  readonly chainId: number
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
  /** Text or base64, depending on `type`. */
  readonly proof: string
}

export interface ShownCheckpoint {
  readonly note: string
  readonly cosignatures: readonly string[]
  readonly tokens: readonly Uint8Array[]
  readonly anchors: readonly ShownAnchor[]
}

export interface ShownBundle {
  readonly origin: string
  readonly subject: ShownSubject
  readonly events: readonly ShownBundleEvent[]
  readonly keys: readonly ShownEntry[]
  readonly checkpoints: readonly ShownCheckpoint[]
  readonly validationData: readonly ValidationData[]
  /** Entries of tokens, under later checkpoints. */
  readonly renewals: readonly ShownEntry[]
  /** The registry's own policy, as JSON text. */
  readonly claimedPolicy: string | undefined
}

/** The longest bundle, in UTF-16 code units. */
export const MAX_BUNDLE_LENGTH = 256 * 1024 * 1024
const MAX_CHECKPOINTS = 20_000
const MAX_RENEWALS = 160_000
const MAX_VALIDATION_DATA = 20_000
const MAX_OPENING_BYTES = 16 * 1024

const MEMBERS = ['format', 'version', 'origin', 'subject', 'events', 'keys', 'checkpoints', 'validationData']
const EVENT_MEMBERS = ['opening', 'position', 'inclusion', 'header', 'filesText', 'filesSalt', 'fields', 'files']
const ANCHOR_MEMBERS = ['type', 'network', 'chainId', 'txHash', 'blockNumber', 'blockHash', 'proof']

/** Throws `VERIFICATION_FAILED` if the text is not a bundle of version 1. */
export function parseBundle(text: string): ShownBundle {
  if (text.length > MAX_BUNDLE_LENGTH)
    throw verificationError(`A bundle must have at most ${MAX_BUNDLE_LENGTH} characters`)
  const bundle = asObject(parseText(text), 'The bundle')
  assertOnlyMembers(bundle, [...MEMBERS, 'renewals', 'claimedPolicy', 'extensions'], 'The bundle')
  if (bundle['format'] !== BUNDLE_FORMAT || bundle['version'] !== 1)
    throw verificationError(`The bundle must have the format ${BUNDLE_FORMAT} and the version 1`)
  if (bundle['extensions'] !== undefined) asObject(bundle['extensions'], 'extensions')
  const policy = bundle['claimedPolicy']
  return {
    origin: asString(bundle['origin'], 'origin'),
    subject: subjectOf(bundle['subject']),
    events: asObjects(bundle['events'], 'events', MAX_BUNDLE_EVENTS).map(eventOf),
    keys: asObjects(bundle['keys'], 'keys', MAX_LOG_KEYS).map((key) => logEntryOf(key, 'A key', MAX_CHECKPOINTS)),
    checkpoints: asObjects(bundle['checkpoints'], 'checkpoints', MAX_CHECKPOINTS).map(checkpointOf),
    validationData: asObjects(bundle['validationData'], 'validationData', MAX_VALIDATION_DATA).map(validationDataOf),
    renewals: asObjects(bundle['renewals'] ?? [], 'renewals', MAX_RENEWALS).map((one) =>
      logEntryOf(one, 'A renewal', 2),
    ),
    claimedPolicy: policy === undefined ? undefined : JSON.stringify(asObject(policy, 'claimedPolicy')),
  }
}

function parseText(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch (cause) {
    throw verificationError('The bundle is not strict JSON', cause)
  }
}

function subjectOf(value: unknown): ShownSubject {
  const subject = asObject(value, 'subject')
  const { type } = subject
  const txId = asString(subject['txId'], 'The txId of the subject')
  asHash(txId, 'The txId of the subject')
  if (type === 'evidence') {
    assertOnlyMembers(subject, ['type', 'txId'], 'subject')
    return { type, txId }
  }
  if (type !== 'file') throw verificationError('The type of the subject must be evidence or file')
  assertOnlyMembers(subject, ['type', 'txId', 'fileId'], 'subject')
  return { type, txId, fileId: asString(subject['fileId'], 'The fileId of the subject') }
}

function placeOf(entry: UntrustedObject, maxInclusions: number): Omit<ShownEntry, 'opening'> {
  const { position } = entry
  const inclusion = asObjects(entry['inclusion'], 'inclusion', maxInclusions).map((item) => {
    assertOnlyMembers(item, ['treeSize', 'path'], 'An inclusion')
    return { treeSize: asCount(item['treeSize'], 'treeSize'), path: asHashes(item['path'], 'path') }
  })
  const sizes = new Set(inclusion.map(({ treeSize }) => treeSize))
  if (sizes.size < inclusion.length) throw verificationError('An entry is proven under the same checkpoint twice')
  return { position: position === undefined ? undefined : asCount(position, 'position'), inclusion }
}

function eventOf(members: UntrustedObject): ShownBundleEvent {
  assertOnlyMembers(members, EVENT_MEMBERS, 'An event')
  const place = placeOf(members, 2)
  if ((place.position === undefined) !== (place.inclusion.length === 0))
    throw verificationError('An event must have both a position and an inclusion proof, or neither')
  return { ...place, ...parseDisclosure(members) }
}

/** An entry of a key or of a token. */
function logEntryOf(key: UntrustedObject, what: string, maxInclusions: number): ShownEntry {
  assertOnlyMembers(key, ['opening', 'position', 'inclusion'], what)
  const place = placeOf(key, maxInclusions)
  if (place.position === undefined) throw verificationError(`${what} must have a position`)
  const opening = asBytes(key['opening'], 'An opening')
  if (opening.length > MAX_OPENING_BYTES)
    throw verificationError(`The opening of an entry must have at most ${MAX_OPENING_BYTES} bytes`)
  return { opening, ...place }
}

function checkpointOf(checkpoint: UntrustedObject): ShownCheckpoint {
  assertOnlyMembers(checkpoint, ['note', 'cosignatures', 'tokens', 'anchors'], 'A checkpoint')
  return {
    note: asString(checkpoint['note'], 'note'),
    cosignatures: asArray(checkpoint['cosignatures'], 'cosignatures', MAX_COSIGNATURES).map(cosignatureOf),
    tokens: asArray(checkpoint['tokens'], 'tokens', MAX_CHECKPOINT_TOKENS).map((token) => base64Of(token, 'A token')),
    anchors: asObjects(checkpoint['anchors'], 'anchors', MAX_ANCHORS).map(anchorOf),
  }
}

function cosignatureOf(value: unknown): string {
  const line = asString(value, 'A cosignature')
  if (!line.startsWith('— ') || line.includes('\n'))
    throw verificationError('A cosignature must be a signature line of a note, without the line feed')
  return line
}

function anchorOf(anchor: UntrustedObject): ShownAnchor {
  assertOnlyMembers(anchor, ANCHOR_MEMBERS, 'An anchor')
  return {
    type: asString(anchor['type'], 'The type of an anchor'),
    network: asString(anchor['network'], 'The network of an anchor'),
    chainId: asCount(anchor['chainId'], 'chainId'),
    txHash: asString(anchor['txHash'], 'txHash'),
    blockNumber: asCount(anchor['blockNumber'], 'blockNumber'),
    blockHash: asString(anchor['blockHash'], 'blockHash'),
    proof: asString(anchor['proof'], 'The proof of an anchor'),
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['certificate', 'crl', 'ocsp'])
const isValidationType = (type: unknown): type is ValidationData['type'] => TYPES.has(type)

function validationDataOf(piece: UntrustedObject): ValidationData {
  assertOnlyMembers(piece, ['type', 'data'], 'A piece of validationData')
  const { type } = piece
  if (!isValidationType(type)) throw verificationError('validationData must be a certificate, crl or ocsp')
  return { type, der: base64Of(piece['data'], 'The data of validationData') }
}

function base64Of(value: unknown, what: string): Uint8Array {
  const bytes = fromBase64(asString(value, what))
  if (bytes === undefined) throw verificationError(`${what} must be base64`)
  return bytes
}

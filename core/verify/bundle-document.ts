import { toHex } from '../bytes.ts'
import { TAG_BYTES } from '../commitment/event-format.ts'
import { entryOf, kindOf, MAX_LOG_KEYS, MAX_OPENING_BYTES, parseKeyOpening } from '../commitment/log-entry.ts'
import type { ValidationData } from '../ports/index.ts'
import { verificationError } from '../errors.ts'
import {
  BUNDLE_FORMAT,
  extentOf,
  isReadable,
  MAX_ANCHORS,
  MAX_BUNDLE_EVENTS,
  MAX_BUNDLE_LENGTH,
  MAX_CHECKPOINTS,
  MAX_CHECKPOINT_TOKENS,
  MAX_COSIGNATURES,
  MAX_RECEIPTS,
  MAX_SEPARATORS,
} from '../commitment/bundle-format.ts'
import { parseDisclosure } from './event.ts'
import type {
  ShownAnchor,
  ShownBundle,
  ShownBundleEvent,
  ShownCheckpoint,
  ShownInclusion,
  ShownKey,
  ShownPlace,
  ShownReceipt,
  ShownRenewal,
  ShownSubject,
} from './shown.ts'
import {
  asArray,
  asBase64,
  asBytes,
  asCount,
  asDocument,
  asHash,
  asHashes,
  asObject,
  asObjects,
  asString,
  assertOnlyMembers,
  parseUntrustedJson,
  withoutBom,
  type UntrustedObject,
} from './untrusted.ts'

/**
 * Parses a bundle's text (`core/SPECIFICATION.md`) from an untrusted source into types. Only the form is
 * checked here. Unknown members are rejected, so that two verifiers cannot read the same bundle differently; those of
 * the bundle itself are of a newer version.
 */

const MAX_RENEWALS = 8_000
const MAX_VALIDATION_DATA = 2_000

const REQUIRED = ['format', 'origin', 'subject', 'events', 'keys', 'checkpoints', 'validationData']
const MEMBERS = [...REQUIRED, 'renewals', 'receipts', 'claimedPolicy', 'extensions']
const EVENT_MEMBERS = ['opening', 'position', 'inclusion', 'header', 'filesText', 'filesSalt', 'fields', 'files']
const CHECKPOINT_MEMBERS = ['note', 'consistency', 'keyConsistency', 'cosignatures', 'tokens', 'anchors']
const ANCHOR_MEMBERS = ['type', 'network', 'chainId', 'txHash', 'blockNumber', 'blockHash', 'proof']

/** Throws `VERIFICATION_FAILED` if the text is not a bundle of version 1. */
export function parseBundle(text: string): ShownBundle {
  if (!isReadable(extentOf(text)))
    throw verificationError(
      'form.length',
      `A bundle must have at most ${MAX_BUNDLE_LENGTH} characters and ${MAX_SEPARATORS} values`,
    )
  const bundle = asDocument(parseUntrustedJson(withoutBom(text), 'The bundle'), BUNDLE_FORMAT, MEMBERS, 'The bundle')
  if (bundle['extensions'] !== undefined) asObject(bundle['extensions'], 'extensions')
  const { claimedPolicy: policy, renewals, receipts } = bundle
  const [first, ...others] = asObjects(bundle['events'], 'events', MAX_BUNDLE_EVENTS).map(eventOf)
  if (first === undefined) throw verificationError('form.length', 'The bundle has no event')
  const [key, ...laterKeys] = asObjects(bundle['keys'], 'keys', MAX_LOG_KEYS).map(keyOf)
  if (key === undefined) throw verificationError('form.length', 'The bundle has no key')
  return {
    origin: asString(bundle['origin'], 'origin'),
    subject: subjectOf(bundle['subject']),
    events: [first, ...others],
    keys: [key, ...laterKeys],
    checkpoints: asObjects(bundle['checkpoints'], 'checkpoints', MAX_CHECKPOINTS).map(checkpointOf),
    validationData: asObjects(bundle['validationData'], 'validationData', MAX_VALIDATION_DATA).map(validationDataOf),
    renewals: renewals === undefined ? [] : asObjects(renewals, 'renewals', MAX_RENEWALS).map(renewalOf),
    receipts: receipts === undefined ? [] : asObjects(receipts, 'receipts', MAX_RECEIPTS).map(receiptOf),
    claimedPolicy: policy === undefined ? undefined : JSON.stringify(asObject(policy, 'claimedPolicy')),
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
  if (type !== 'file') throw verificationError('form.value', 'The type of the subject must be evidence or file')
  assertOnlyMembers(subject, ['type', 'txId', 'fileId'], 'subject')
  return { type, txId, fileId: asString(subject['fileId'], 'The fileId of the subject') }
}

function inclusionOf(entry: UntrustedObject, max: number): readonly ShownInclusion[] {
  const inclusion = asObjects(entry['inclusion'], 'inclusion', max).map((item) => {
    assertOnlyMembers(item, ['treeSize', 'path'], 'An inclusion')
    return { treeSize: asCount(item['treeSize'], 'treeSize'), path: asHashes(item['path'], 'path') }
  })
  const sizes = new Set(inclusion.map(({ treeSize }) => treeSize))
  if (sizes.size < inclusion.length)
    throw verificationError('document.entry', 'An entry is proven under the same checkpoint twice')
  return inclusion
}

function eventOf(event: UntrustedObject): ShownBundleEvent {
  assertOnlyMembers(event, EVENT_MEMBERS, 'An event')
  const { position } = event
  const inclusion = inclusionOf(event, 3)
  if ((position === undefined) !== (inclusion.length === 0))
    throw verificationError('document.entry', 'An event must have both a position and an inclusion proof, or neither')
  const place = position === undefined ? undefined : { position: asCount(position, 'position'), inclusion }
  return { ...parseDisclosure(event), place }
}

function keyOf(key: UntrustedObject): ShownKey {
  const { opening, ...place } = openingOf(key, 'A key', MAX_CHECKPOINTS)
  return { ...place, ...parseKeyOpening(opening) }
}

function renewalOf(renewal: UntrustedObject): ShownRenewal {
  const { opening, ...place } = openingOf(renewal, 'A renewal', 2)
  if (kindOf(opening) !== 'token') throw verificationError('value.malformed', 'A renewal must be the entry of a token')
  return { ...place, entry: entryOf(opening), token: toHex(opening.subarray(TAG_BYTES)) }
}

function receiptOf({ text, salt, ...receipt }: UntrustedObject): ShownReceipt {
  const { opening, ...place } = openingOf(receipt, 'A receipt', 3)
  if (kindOf(opening) !== 'erasure')
    throw verificationError('value.malformed', 'A receipt must be the entry of an erasure')
  const statement =
    text === undefined && salt === undefined
      ? undefined
      : { text: asString(text, 'The text of a receipt'), salt: asHash(salt, 'The salt of a receipt') }
  return { ...place, entry: entryOf(opening), opening, statement }
}

interface ShownOpening extends ShownPlace {
  readonly opening: Uint8Array
}

/** The entry of a key, a token or an erasure. */
function openingOf(members: UntrustedObject, what: string, maxInclusions: number): ShownOpening {
  assertOnlyMembers(members, ['opening', 'position', 'inclusion'], what)
  const inclusion = inclusionOf(members, maxInclusions)
  const position = asCount(members['position'], 'position')
  const opening = asBytes(members['opening'], 'An opening')
  if (opening.length > MAX_OPENING_BYTES)
    throw verificationError('form.length', `An opening must have at most ${MAX_OPENING_BYTES} bytes`)
  return { opening, position, inclusion }
}

function checkpointOf(checkpoint: UntrustedObject): ShownCheckpoint {
  assertOnlyMembers(checkpoint, CHECKPOINT_MEMBERS, 'A checkpoint')
  const { consistency, keyConsistency } = checkpoint
  return {
    note: asString(checkpoint['note'], 'note'),
    consistency: consistency === undefined ? undefined : asHashes(consistency, 'consistency'),
    keyConsistency: keyConsistency === undefined ? undefined : asHashes(keyConsistency, 'keyConsistency'),
    cosignatures: asArray(checkpoint['cosignatures'], 'cosignatures', MAX_COSIGNATURES).map(cosignatureOf),
    tokens: asArray(checkpoint['tokens'], 'tokens', MAX_CHECKPOINT_TOKENS).map((token) => asBase64(token, 'A token')),
    anchors: asObjects(checkpoint['anchors'], 'anchors', MAX_ANCHORS).map(anchorOf),
  }
}

function cosignatureOf(value: unknown): string {
  const line = asString(value, 'A cosignature')
  if (!line.startsWith('— ') || line.includes('\n'))
    throw verificationError('value.malformed', 'A cosignature must be a signature line, without the line feed')
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
  if (!isValidationType(type))
    throw verificationError('form.value', 'validationData must be a certificate, crl or ocsp')
  return { type, der: asBase64(piece['data'], 'The data of validationData') }
}

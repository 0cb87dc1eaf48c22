import { decodeUtf8, encodeUtf8, toHex } from '../../core/bytes.ts'
import { deletedFileText, type Disclosure } from '../../core/commitment/event-format.ts'
import { tokenOpening } from '../../core/commitment/log-entry.ts'
import { createNoteSigner } from '../../core/log/note.ts'
import { erasureOpening, receiptHash, receiptText } from '../../core/commitment/receipt.ts'
import { blockHash, formatBlock, signedBytes, transactionOf } from '../../core/verify/chain/ledger-block.ts'
import type { BundleResult, VerificationRule } from '../../core/verify/index.ts'
import {
  entryAt,
  forgeBundle,
  type BundleParts,
  type ForgedBundle,
  type Members,
} from '../core/verify/bundle-forger.ts'
import {
  FILE,
  fileText,
  forgeEvent,
  ForgedLog,
  SLOT_KEY,
  type EventParts,
  type ForgedEvent,
} from '../core/verify/forger.ts'
import { present } from '../support/present.ts'

/** A proof bundle with the policy that a verifier pins, or an event's disclosure with its txId, and what is found. */
export interface BundleVector {
  readonly description: string
  readonly bundle: Members
  /** Absent: nothing is pinned. */
  readonly policy?: Members
  /** `uncounted`: a rule that a stamp or an anchor breaks, so that it does not count. */
  readonly expected: {
    readonly state: BundleResult['state']
    readonly rule?: VerificationRule
    readonly uncounted?: VerificationRule
  }
}
export interface EventVector {
  readonly description: string
  readonly disclosure: Disclosure
  readonly txId: string
  readonly origin: string
  readonly expected: { readonly state: 'valid' | 'refuted'; readonly rule?: VerificationRule }
}

// The salts are counted, so everything that is made is made here, in this order.
const { origin } = new ForgedLog()
const FIELDS = { action: { type: 'create' }, company: 'acme', evidence: 'e-1', externalId: 'drill-1', owner: 'Ada' }

const versionAfter = (history: readonly ForgedEvent[], parts: Partial<EventParts> = {}): ForgedEvent =>
  forgeEvent({
    origin,
    slotKey: SLOT_KEY,
    version: history.length + 1,
    time: 1_767_225_600_000 + history.length * 1_000,
    first: history[0]?.txId ?? null,
    prev: history.at(-1)?.txId ?? null,
    fields: history.length === 0 ? { ...FIELDS, slotKey: toHex(SLOT_KEY) } : { owner: 'Grace' },
    files: history.length === 0 ? { [FILE]: fileText } : {},
    ...parts,
  })

const first = versionAfter([])
const second = versionAfter([first])
const third = versionAfter([first, second])
const deletion = versionAfter([first], { files: { [FILE]: deletedFileText(FILE, first.txId) } })
const earlier = versionAfter([first], { time: 1_767_225_599_999 })
const otherSlot = versionAfter([first], { slot: new Uint8Array(32).fill(7) })
const otherPrev = versionAfter([first], { prev: 'a'.repeat(64) })
const otherOwner = versionAfter([first], { fields: { company: 'other' } })
const otherName = versionAfter([], { fieldTexts: { owner: '["name","Ada"]' } })
const otherFormat = versionAfter([], { header: (header) => ({ ...header, v: 2 }) })

/** A log of these events, with a second key after them. */
function logOf(...events: readonly ForgedEvent[]): ForgedLog {
  const log = new ForgedLog()
  for (const { opening } of events) log.add(opening)
  log.addKey()
  return log
}

const log = logOf(first, second, third)
const ledger = createNoteSigner('ledger', new Uint8Array(32).fill(6))
const chain = { type: 'local', network: 'ledger', chainId: 0, account: toHex(ledger.publicKey) }
const policyOf = ({ origin: name, pinned }: ForgedLog, count = pinned.length): Members => ({
  origin: name,
  keys: pinned.slice(0, count).map(({ root, ...key }) => ({ ...key, ...(root && { root: toHex(root) }) })),
  chains: [chain],
})

/** An anchor in a local ledger that holds these bytes. */
function anchorOf(note: string): Members {
  const transaction = transactionOf(new Uint8Array(16), encodeUtf8(note))
  const content = { height: 7, time: 1_767_225_660_000, previous: 'a'.repeat(64), transactions: [transaction] }
  const hash = blockHash(content)
  const proof = decodeUtf8(formatBlock({ ...content, hash, signature: ledger.sign(signedBytes(hash)) }))
  const { type, network, chainId } = chain
  return { type, network, chainId, txHash: transaction.hash, blockNumber: 7, blockHash: hash, proof }
}

const whole = forgeBundle(log, [first, second, third])
const edited = (edit: (copy: ForgedBundle) => void): Members => {
  const copy = structuredClone(whole)
  edit(copy)
  return copy
}
const evidenceOf = ({ txId: id }: ForgedEvent): Members => ({ type: 'evidence', txId: id })
const without = (member: string, bundle: ForgedBundle): Members => {
  for (const checkpoint of bundle.checkpoints) delete checkpoint[member]
  return bundle
}
const ofEvents = (events: readonly ForgedEvent[], parts: BundleParts = {}): Members =>
  forgeBundle(logOf(...events), events, parts)
const refuted = (
  rule: VerificationRule,
  description: string,
  bundle: Members,
  policy = policyOf(log),
): BundleVector => ({
  description,
  bundle,
  policy,
  expected: { state: 'refuted', rule },
})
const unreadable = (rule: VerificationRule, description: string, bundle: Members): BundleVector => ({
  ...refuted(rule, description, bundle),
  expected: { state: 'unreadable', rule },
})
/** Version 1 and another version 2, in a log of their own. */
const forged = (rule: VerificationRule, description: string, other: ForgedEvent): BundleVector =>
  refuted(rule, description, ofEvents([first, other]), policyOf(logOf(first, other)))
const holds = (state: BundleResult['state'], description: string, bundle: Members, policy?: Members): BundleVector => ({
  description,
  bundle,
  ...(policy && { policy }),
  expected: { state },
})

const HASH = 'a'.repeat(64)
const TOKEN = toHex(tokenOpening(new Uint8Array()))
/** A history of which version 2 lost its owner, with the receipt of that. The bundle still discloses it if told so. */
function erased(change: Members = {}, members: Members = {}, isDisclosed = false): Members {
  const salt = new Uint8Array(32).fill(3)
  const of = { fields: ['owner'], files: [], txId: second.txId }
  const receipt = { by: 'operator', erased: [of], log: origin, reason: 'request', time: 1_767_225_700_000 } as const
  const text = receiptText({ ...receipt, ...change })
  const ofReceipt = logOf(first, second, third)
  const position = ofReceipt.add(erasureOpening(receiptHash(salt, text)))
  const bundle = forgeBundle(ofReceipt, [first, second, third])
  if (!isDisclosed) present(bundle.events[1])['fields'] = {}
  const entry = entryAt(ofReceipt, position, [ofReceipt.tree.size])
  return { ...bundle, receipts: [{ ...entry, text, salt: toHex(salt), ...members }] }
}

/** In text, so that the last digit of the signature can be another one. */
const wrongNote = (note: string): string => note.replace(/.{8}\n$/, 'AAAAAAA=\n')
export const bundleVectors = (): Readonly<Record<string, BundleVector>> => ({
  proven: holds('proven', 'A history of three versions, under the pinned keys', whole, policyOf(log)),
  consistent: holds('consistent', 'The same, if nothing is pinned', whole),
  anchored: holds(
    'proven',
    'The same with an anchor in a local ledger whose account is pinned',
    ofEvents([first, second, third], { attestations: (note) => ({ anchors: [anchorOf(note)] }) }),
    policyOf(log),
  ),
  'deleted-file': holds(
    'proven',
    'A file and its deletion, without headers',
    ofEvents([first, deletion], { withHeaders: false, subject: { type: 'file', txId: first.txId, fileId: FILE } }),
    policyOf(logOf(first, deletion)),
  ),
  pending: holds(
    'pending',
    'The last version is not sealed yet',
    forgeBundle(logOf(first), [first, second]),
    policyOf(logOf(first)),
  ),
  'other-log': {
    description: 'The policy pins a key of another log only',
    bundle: whole,
    policy: { keys: [{ vkey: ledger.verifierKey }] },
    expected: { state: 'other-log', rule: 'keys.not-pinned' },
  },
  'document.newer': unreadable(
    'document.newer',
    'The version of the format is 2',
    edited((copy) => (copy['version'] = 2)),
  ),
  'newer-member': unreadable(
    'document.newer',
    'The bundle has a member that is not specified',
    edited((copy) => (copy['more'] = 1)),
  ),
  'document.format': unreadable(
    'document.format',
    'It is another document',
    edited((copy) => (copy['format'] = 'evidence-registry.export')),
  ),
  'form.value': unreadable(
    'form.value',
    'A program wrote null for a member that is absent',
    edited(({ checkpoints }) => (present(checkpoints.at(-1))['consistency'] = null)),
  ),
  'value.malformed': refuted(
    'value.malformed',
    'One hash in the path of an event is not hex',
    JSON.parse(JSON.stringify(whole).replace(/(?<="path":\[")./, 'x')) as Members,
  ),
  'form.members': unreadable(
    'form.members',
    'An event has a member that is not specified',
    edited(({ events }) => (present(events[0])['more'] = 1)),
  ),
  'document.entry': unreadable(
    'document.entry',
    'An event has an inclusion proof and no position',
    edited(({ events }) => delete events[0]?.['position']),
  ),
  'keys.order': refuted(
    'keys.order',
    'The second key has the position of the first one',
    edited(({ keys }) => (present(keys[1])['position'] = 0)),
  ),
  'event.text-differs': refuted(
    'event.text-differs',
    'The disclosed owner is another one than the event commits to',
    JSON.parse(JSON.stringify(whole).replace('Grace', 'Grete')) as Members,
  ),
  'event.slot-differs': forged('event.slot-differs', 'Version 2 has the slot of another history', otherSlot),
  'history.version-gap': refuted(
    'history.version-gap',
    'Version 2 is left out',
    edited(({ events }) => events.splice(1, 1)),
  ),
  'history.prev-differs': forged('history.prev-differs', 'Version 2 links to another event', otherPrev),
  'history.time-decreases': forged('history.time-decreases', 'Version 2 is older than version 1', earlier),
  'history.field-changes': forged('history.field-changes', 'Version 2 is of another company', otherOwner),
  'checkpoint.signature': refuted(
    'checkpoint.signature',
    'The signature of the checkpoint is another one',
    edited(({ checkpoints: [one] }) => (present(one)['note'] = wrongNote(String(one?.['note'])))),
  ),
  'keys.newer': {
    description: 'The policy does not pin the key that signed, and the key that it pins is retired',
    bundle: whole,
    policy: policyOf(log, 1),
    expected: { state: 'newer-key', rule: 'keys.newer' },
  },
  'newer-key-introduced': holds(
    'proven',
    'The policy pins the first key as the newest one, and that key handed over to the one that signed',
    whole,
    { origin, keys: [{ vkey: present(log.pinned[0]).vkey, from: 1, until: null }] },
  ),
  'checkpoint.key-retired': refuted(
    'checkpoint.key-retired',
    'The first key signed a tree that holds the entry of the second one',
    forgeBundle(log, [first, second, third], { signer: () => 0 }),
  ),
  'inclusion.root-differs': refuted(
    'inclusion.root-differs',
    'One hash in the path of an event is another one',
    JSON.parse(JSON.stringify(whole).replace(/(?<="path":\[")[0-9a-f]{64}/, '0'.repeat(64))) as Members,
  ),
  'inclusion.order': refuted(
    'inclusion.order',
    'Version 2 is before version 1 in the log',
    forgeBundle(logOf(second, first), [first, second]),
    policyOf(logOf(second, first)),
  ),
  'anchor.checkpoint-differs': {
    description: 'The transaction carries another checkpoint, so the anchor does not count',
    bundle: ofEvents([first, second, third], { attestations: () => ({ anchors: [anchorOf(log.checkpoint(1))] }) }),
    policy: policyOf(log),
    expected: { state: 'proven', uncounted: 'anchor.checkpoint-differs' },
  },
  'keys.retired': {
    description: 'The retired key signed a tree of an event that the log does not hold',
    bundle: ofEvents([otherOwner], { withHeaders: false, sizes: [2], subject: evidenceOf(otherOwner) }),
    policy: policyOf(log),
    expected: { state: 'retired-key', rule: 'keys.retired' },
  },
  'retired-key-led': holds(
    'proven',
    'The retired key signed a tree that is the beginning of its last one',
    forgeBundle(log, [first], { sizes: [3] }),
    policyOf(log),
  ),
  'two-trees': holds(
    'proven',
    'Two trees, the second of which begins with the first',
    forgeBundle(log, [first, second], { sizes: [3, log.tree.size] }),
    policyOf(log),
  ),
  'consistency.root-differs': refuted(
    'consistency.root-differs',
    'Two trees without the proof that the second one begins with the first',
    without('consistency', forgeBundle(log, [first, second], { sizes: [3, log.tree.size] })),
  ),
  receipt: holds('proven', 'The owner of version 2 was erased, and a receipt says so', erased(), policyOf(log)),
  'receipt-without-text': holds(
    'proven',
    'The same, without the text of the receipt',
    erased({}, { text: undefined, salt: undefined }),
    policyOf(log),
  ),
  'receipt-disclosed': holds('proven', 'The bundle discloses what was erased', erased({}, {}, true), policyOf(log)),
  'receipt-of-token': refuted('value.malformed', 'A receipt is a token', erased({}, { opening: TOKEN })),
  'receipt.text-differs': refuted('receipt.text-differs', 'A receipt has another salt', erased({}, { salt: HASH })),
  'receipt.malformed': refuted('receipt.malformed', 'A receipt has an unknown reason', erased({ reason: 'whim' })),
  'receipt.other-subject': refuted(
    'receipt.other-subject',
    'A receipt names no event of the bundle',
    erased({ erased: [{ fields: ['owner'], files: [], txId: HASH }] }),
  ),
  'receipt-elsewhere': refuted('inclusion.root-differs', 'A receipt has another position', erased({}, { position: 2 })),
})

const { disclosure, txId } = first
const shown = (change: Partial<Disclosure>): Disclosure => ({ ...disclosure, ...change })
const event = (description: string, members: Partial<EventVector> = {}): EventVector => ({
  description,
  disclosure,
  txId,
  origin,
  expected: { state: 'valid' },
  ...members,
})
const broken = (rule: VerificationRule, description: string, members: Partial<EventVector>): EventVector =>
  event(description, { expected: { state: 'refuted', rule }, ...members })
const { owner } = disclosure.fields
const file = present(disclosure.files[FILE])

export const eventVectors = (): Readonly<Record<string, EventVector>> => ({
  whole: event('The creation of an evidence with a file. Everything is disclosed'),
  hidden: event('The same. No field and no file is disclosed', { disclosure: shown({ fields: {}, files: {} }) }),
  update: event('Version 2 of the same evidence', { disclosure: second.disclosure, txId: second.txId }),
  'event.opening': broken('event.opening', 'The opening is that of a key', {
    disclosure: shown({ opening: toHex(present(log.openings[0])) }),
  }),
  'event.txid-differs': broken('event.txid-differs', 'The txId is that of version 2', { txId: second.txId }),
  'event.header-differs': broken('event.header-differs', 'The header is that of version 2', {
    disclosure: shown({ header: second.disclosure.header }),
  }),
  'event.header-malformed': broken('event.header-malformed', 'The header has another format', {
    disclosure: otherFormat.disclosure,
    txId: otherFormat.txId,
  }),
  'event.other-log': broken('event.other-log', 'The event belongs to another log', { origin: 'other.example/log' }),
  'event.files-differ': broken('event.files-differ', 'The salt of the map of files is another one', {
    disclosure: shown({ filesSalt: file.salt }),
  }),
  'event.not-committed': broken('event.not-committed', 'A field is disclosed that the event does not have', {
    disclosure: shown({ fields: { nickname: present(owner) } }),
  }),
  'event.text-differs': broken('event.text-differs', 'The text of a field has a space that was not hashed', {
    disclosure: shown({ fields: { owner: { text: '["owner", "Ada"]', salt: present(owner).salt } } }),
  }),
  'event.text-malformed': broken('event.text-malformed', 'The text of a field names another field', {
    disclosure: otherName.disclosure,
    txId: otherName.txId,
  }),
})

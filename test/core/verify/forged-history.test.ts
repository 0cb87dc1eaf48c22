import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, sha256, toHex } from '../../../core/bytes.ts'
import type { Json } from '../../../core/commitment/canonical-json.ts'
import { deletedFileText } from '../../../core/commitment/event-format.ts'
import { logKeysOf, verifyEvent, verifyFile, verifyHistory, verifyLog } from '../../../core/verify/index.ts'
import {
  content,
  FILE,
  fileText,
  SLOT_KEY,
  ForgedLog,
  forgeEvent,
  unknownOpening,
  wireOf,
  type EventParts,
  type ForgedEvent,
} from './forger.ts'

/** Every hash and signature here is correct, so that exactly one rule is left that can reject the forgery. */

const log = new ForgedLog()

const FIRST_FIELDS = {
  action: { type: 'create' },
  company: 'acme',
  evidence: 'evidence-1',
  externalId: 'one',
  owner: 'Ada',
  slotKey: toHex(SLOT_KEY),
} satisfies Record<string, Json>
const SHOWN_FIRST = { type: 'create', ownerName: 'Ada' }
const SHOWN_SECOND = { type: 'update', updateType: 'change', ownerName: 'Ada' }

const firstEvent = (parts: Partial<EventParts> = {}): ForgedEvent =>
  forgeEvent({
    origin: log.origin,
    slotKey: SLOT_KEY,
    version: 1,
    time: 1_000,
    fields: FIRST_FIELDS,
    files: { [FILE]: fileText },
    ...parts,
  })

const nextEvent = (history: readonly ForgedEvent[], parts: Partial<EventParts> = {}): ForgedEvent =>
  forgeEvent({
    origin: log.origin,
    slotKey: SLOT_KEY,
    version: history.length + 1,
    time: 2_000,
    first: history[0]?.txId ?? null,
    prev: history.at(-1)?.txId ?? null,
    fields: { action: { type: 'update', updateType: 'change' } },
    ...parts,
  })

/** A history of two events, of which the second is forged. */
function historyWith(parts: Partial<EventParts>, shown: Record<string, unknown> = {}): Record<string, unknown>[] {
  const first = firstEvent()
  return [wireOf(first, SHOWN_FIRST), wireOf(nextEvent([first], parts), { ...SHOWN_SECOND, ...shown })]
}

const rejects = (check: () => unknown, message: RegExp): void =>
  assert.throws(check, { code: 'VERIFICATION_FAILED', message })

describe('forged events', () => {
  const verify = (event: ForgedEvent): unknown => verifyEvent(event.disclosure, { txId: event.txId })

  it('are accepted if no rule is broken', () => {
    assert.ok(verify(firstEvent()))
    assert.ok(verify(nextEvent([firstEvent()])))
  })

  const forgeries: [rule: string, event: () => ForgedEvent, message: RegExp][] = [
    ['another header version', () => firstEvent({ header: (header) => ({ ...header, v: 2 }) }), /expected v 1/],
    ['version 0', () => nextEvent([firstEvent()], { version: 0 }), /expected v 1/],
    ['version 1 with first', () => firstEvent({ first: 'a'.repeat(64) }), /Version 1 must have no first and prev/],
    ['version 1 with prev', () => firstEvent({ prev: 'a'.repeat(64) }), /Version 1 must have no first and prev/],
    ['version 2 without first', () => nextEvent([firstEvent()], { first: null }), /every later version must have both/],
    ['version 2 without prev', () => nextEvent([firstEvent()], { prev: null }), /every later version must have both/],
    [
      'an unknown header member',
      () => firstEvent({ header: (header) => ({ ...header, x: 1 }) }),
      /exactly the members/,
    ],
    ['a version that is not a number', () => firstEvent({ header: (h) => ({ ...h, version: '1' }) }), /integer/],
    ['a link that is not a hash', () => nextEvent([firstEvent()], { prev: 'ab' }), /prev must have 32 bytes/],
    ['a log that is not a text', () => firstEvent({ header: (header) => ({ ...header, log: 7 }) }), /origin must be/],
    [
      'a field hash that is not a hash',
      () => firstEvent({ header: (h) => ({ ...h, fields: { a: 'ab' } }) }),
      /field hash/,
    ],
    [
      'a field text of another field',
      () => firstEvent({ fieldTexts: { owner: '["name","Eve"]' } }),
      /array \[name, value\]/,
    ],
    ['a field text without a value', () => firstEvent({ fieldTexts: { owner: '["owner"]' } }), /array \[name, value\]/],
    [
      'a field text with two values',
      () => firstEvent({ fieldTexts: { owner: '["owner","a","b"]' } }),
      /array \[name, value\]/,
    ],
    [
      'a field text that is not strict JSON',
      () => firstEvent({ fieldTexts: { owner: '["owner",{"a":1,"a":2}]' } }),
      /strict JSON/,
    ],
    ['a file text of another file', () => firstEvent({ files: { another: fileText } }), /belongs to another file/],
    [
      'a file with another member',
      () => firstEvent({ files: { [FILE]: `${fileText.slice(0, -1)},"x":1}` } }),
      /exactly the members/,
    ],
    [
      'a deletion with another member',
      () => firstEvent({ files: { [FILE]: `{"deleted":"${'a'.repeat(64)}","id":"${FILE}","x":1}` } }),
      /exactly the members/,
    ],
    [
      'a deletion of a text',
      () => firstEvent({ files: { [FILE]: deletedFileText(FILE, 'no hash') } }),
      /lowercase hex/,
    ],
    ['a slot of another key', () => firstEvent({ slot: new Uint8Array(32) }), /slot/],
  ]
  for (const [rule, event, message] of forgeries)
    it(`are rejected: ${rule}`, () => rejects(() => verify(event()), message))

  it('are rejected if a disclosed value is not the committed one', () => {
    const event = firstEvent()
    for (const kind of ['fields', 'files'] as const) {
      const [name = '', { salt = '' } = {}] = Object.entries(event.disclosure[kind])[0] ?? []
      const text = kind === 'fields' ? '["action",{"type":"transfer"}]' : fileText.replace('a.txt', 'b.txt')
      const forged = { ...event.disclosure, [kind]: { ...event.disclosure[kind], [name]: { text, salt } } }
      rejects(() => verifyEvent(forged, { txId: event.txId }), /does not hash to the value/)
      const extra = { ...event.disclosure, [kind]: { ...event.disclosure[kind], extra: { text, salt } } }
      rejects(() => verifyEvent(extra, { txId: event.txId }), /does not commit to/)
    }
    const other = firstEvent()
    // Everything of another event that fits together, except the one link.
    const { header, fields, filesText, filesSalt, files } = other.disclosure
    const { txId } = event
    rejects(() => verifyEvent(other.disclosure, { txId }), /opening does not hash to the txId/)
    rejects(() => verifyEvent({ ...event.disclosure, header, fields }, { txId }), /header does not hash/)
    rejects(() => verifyEvent({ ...event.disclosure, filesText, filesSalt, files }, { txId }), /files text and salt/)
    rejects(() => verifyEvent(event.disclosure, { txId: event.txId, origin: 'another/log' }), /belongs to the log/)
    const key = log.openings[0] ?? new Uint8Array()
    const opening = { ...event.disclosure, opening: toHex(key) }
    rejects(() => verifyEvent(opening, { txId: toHex(sha256(key)) }), /not an event opening/)
  })
})

describe('forged files', () => {
  const commitment = (event: ForgedEvent) => {
    const { opening, filesText, filesSalt } = event.disclosure
    return { fileId: FILE, txId: event.txId, opening, filesText, filesSalt }
  }

  it('are rejected if the disclosed text is not the committed one', () => {
    const event = firstEvent()
    const { [FILE]: disclosed } = event.disclosure.files
    assert.ok(verifyFile(content, disclosed, commitment(event)))
    const forged = encodeUtf8('forged!')
    const text = fileText.replace(toHex(sha256(content)), toHex(sha256(forged)))
    rejects(() => verifyFile(forged, { text, salt: disclosed?.salt }, commitment(event)), /does not hash to the value/)
  })

  it('are rejected if the event deletes the file, does not hold it, or commits to another content', () => {
    const deletion = firstEvent({ files: { [FILE]: deletedFileText(FILE, 'a'.repeat(64)) } })
    rejects(() => verifyFile(content, deletion.disclosure.files[FILE], commitment(deletion)), /deletes the file/)
    const without = firstEvent({ files: {} })
    rejects(() => verifyFile(content, { text: fileText, salt: '' }, commitment(without)), /does not hold the file/)
    const event = firstEvent()
    rejects(() => verifyFile(encodeUtf8('CONTENT'), event.disclosure.files[FILE], commitment(event)), /SHA-256/)
    rejects(() => verifyFile(encodeUtf8('more content'), event.disclosure.files[FILE], commitment(event)), /bytes, got/)
  })
})

describe('forged histories', () => {
  it('are accepted if no rule is broken, and return the owner', () => {
    const history = verifyHistory(historyWith({}), { origin: log.origin })
    assert.equal(history.events.length, 2)
    assert.equal(history.owner, 'Ada')
    assert.equal(history.evidence, 'evidence-1')
  })

  const other = firstEvent({ fields: { ...FIRST_FIELDS, evidence: 'evidence-2' } })
  const forgeries: [rule: string, history: () => unknown[], message: RegExp][] = [
    ['first of another history', () => historyWith({ first: other.txId }), /belongs to another history/],
    ['prev of another history', () => historyWith({ prev: other.txId }), /does not link to the previous version/],
    ['another log', () => historyWith({ origin: 'another/log' }), /belongs to another log/],
    ['a time before the previous version', () => historyWith({ time: 999 }), /older than the previous version/],
    ['a slot of another version', () => historyWith({ slot: firstEvent().opening.slice(16, 48) }), /not derived from/],
    ['a version that is left out', () => historyWith({ version: 3 }), /Expected version 2, got version 3/],
    [
      'another company',
      () => historyWith({ fields: { action: { type: 'update', updateType: 'change' }, company: 'x' } }),
      /another company/,
    ],
    [
      'another evidence',
      () => historyWith({ fields: { action: { type: 'update', updateType: 'change' }, evidence: 'x' } }),
      /another evidence/,
    ],
    [
      'another external id',
      () => historyWith({ fields: { action: { type: 'update', updateType: 'change' }, externalId: 'x' } }),
      /another externalId/,
    ],
    [
      'an owner that is not a text',
      () => historyWith({ fields: { action: { type: 'update', updateType: 'change' }, owner: ['Eve'] } }),
      /owner of version 2 must be a string/,
    ],
    [
      'a deletion of a file of no event',
      () => historyWith({ files: { [FILE]: deletedFileText(FILE, other.txId) } }),
      /but the event that it names did not attach it/,
    ],
    [
      'a deletion of a file that was never attached',
      () => historyWith({ files: { x: deletedFileText('x', firstEvent().txId) } }),
      /but the event that it names did not attach it/,
    ],
    ['an unknown member', () => historyWith({}, { color: 'red' }), /unknown member color/],
    ['another type', () => historyWith({}, { type: 'transfer' }), /another type/],
    ['another update type', () => historyWith({}, { updateType: 'repair' }), /another type/],
    ['another owner', () => historyWith({}, { ownerName: 'Eve' }), /another owner/],
    ['another time', () => historyWith({}, { timestamp: new Date(7).toISOString() }), /another time/],
    ['another version', () => historyWith({}, { version: 3 }), /another version/],
    ['a persona that is not committed', () => historyWith({}, { personaName: 'Eve' }), /another personaName/],
    [
      'a description that is not committed',
      () => historyWith({}, { eventDescription: 'x' }),
      /another eventDescription/,
    ],
    [
      'an update description that is not committed',
      () => historyWith({}, { updateDescription: 'x' }),
      /another updateDescription/,
    ],
    ['a meta that is not committed', () => historyWith({}, { meta: {} }), /another meta/],
    ['no event', () => [], /at least one event/],
  ]
  for (const [rule, history, message] of forgeries)
    it(`are rejected: ${rule}`, () => rejects(() => verifyHistory(history()), message))

  it('are rejected: a file deleted twice, or deleted by naming its deletion', () => {
    const first = firstEvent()
    const files = { [FILE]: deletedFileText(FILE, first.txId) }
    const fields = { action: { type: 'update', updateType: 'deletefile' } }
    const shown = { ...SHOWN_SECOND, updateType: 'deletefile' }
    const second = nextEvent([first], { fields, files })
    const honest = [wireOf(first, SHOWN_FIRST), wireOf(second, shown)]
    assert.ok(verifyHistory(honest))
    const third = nextEvent([first, second], { fields, files })
    rejects(() => verifyHistory([...honest, wireOf(third, shown)]), /a second time/)
    // The deletion holds the file's id too, but did not attach it.
    const ofDeletion = nextEvent([first, second], { fields, files: { [FILE]: deletedFileText(FILE, second.txId) } })
    const hidden = structuredClone(second)
    delete hidden.disclosure.files[FILE]
    const history = [wireOf(first, SHOWN_FIRST), wireOf(hidden, shown), wireOf(ofDeletion, shown)]
    rejects(() => verifyHistory(history), /but the event that it names did not attach it/)
  })

  it('are rejected: a transfer that is committed but not disclosed', () => {
    const first = firstEvent()
    const transfer = nextEvent([first], { fields: { action: { type: 'transfer' }, owner: 'Eve' } })
    delete transfer.disclosure.fields['owner']
    const withType = (shown: object) => [wireOf(first, SHOWN_FIRST), wireOf(transfer, { type: 'transfer', ...shown })]
    rejects(() => verifyHistory(withType({ ownerName: 'Ada' })), /another owner/)
    assert.equal(verifyHistory(withType({})).owner, undefined)
    delete transfer.disclosure.fields['action']
    rejects(() => verifyHistory([wireOf(first, SHOWN_FIRST), wireOf(transfer, SHOWN_SECOND)]), /another type/)
    const history = verifyHistory([wireOf(first, SHOWN_FIRST), wireOf(transfer, {})])
    assert.deepEqual(history.events[1]?.hiddenFields, ['action', 'owner'])
    // A later change of owner is known again.
    const back = nextEvent([first, transfer], { fields: { action: { type: 'transfer' }, owner: 'Ada' } })
    const shown = { type: 'transfer', ownerName: 'Ada' }
    assert.equal(verifyHistory([wireOf(first, SHOWN_FIRST), wireOf(transfer, {}), wireOf(back, shown)]).owner, 'Ada')
  })

  it('are rejected: a first version without what identifies the history', () => {
    for (const name of ['slotKey', 'evidence'] as const) {
      const { [name]: _, ...fields } = FIRST_FIELDS
      rejects(() => verifyHistory([wireOf(firstEvent({ fields }), SHOWN_FIRST)]), /must be/)
    }
  })
})

describe('forged logs', () => {
  const event = (version: number): Uint8Array =>
    forgeEvent({ origin: log.origin, slotKey: SLOT_KEY, version, time: version }).opening
  const honest = (): ForgedLog => {
    const made = new ForgedLog()
    made.add(event(1))
    made.add(event(2))
    return made
  }

  it('are accepted if no rule is broken', () => {
    const made = honest()
    made.addKey()
    made.add(event(3))
    const verified = verifyLog(made.openings, { checkpoint: made.checkpoint(), origin: made.origin })
    assert.deepEqual(verified.keys, made.pinned)
    assert.equal(verified.slots.size, 3)
  })

  it('are rejected: two events in one slot', () => {
    const made = honest()
    made.add(forgeEvent({ origin: log.origin, slotKey: SLOT_KEY, version: 2, time: 7 }).opening)
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint() }), /slot of an earlier entry/)
  })

  it('are rejected: an entry before the first key, and an unknown kind', () => {
    const late = new ForgedLog([event(1)])
    rejects(() => verifyLog(late.openings, { checkpoint: late.checkpoint() }), /first key must be entry 0/)
    const made = honest()
    made.add(unknownOpening())
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint() }), /unknown kind/)
  })

  it('are rejected: a checkpoint that a retired key or a key not yet in the log signed', () => {
    const made = honest()
    made.addKey()
    made.add(event(3))
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint(made.tree.size, { key: 0 }) }), /was retired/)
    const early = made.checkpoint(2, { key: 1 })
    rejects(() => verifyLog(made.openings.slice(0, 2), { checkpoint: early }), /No pinned key/)
  })

  it('are rejected: key entries in another order, and an event without a possible time', () => {
    const made = honest()
    made.addKey()
    const entries = made.keys.map(({ position }) => ({ opening: made.openings[position] ?? event(1), position }))
    assert.deepEqual(logKeysOf(made.origin, entries), made.pinned)
    const moved = entries.map((entry) => ({ ...entry, position: 0 }))
    rejects(() => logKeysOf(made.origin, moved), /in the order of the log/)
    const late = event(3).fill(0xff, 48, 56)
    made.add(late)
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint() }), /malformed/)
  })

  it('are rejected: another origin, size or root', () => {
    const made = honest()
    const checkpoint = made.checkpoint()
    rejects(() => verifyLog(made.openings, { checkpoint, origin: 'another/log' }), /do not belong to the log/)
    rejects(() => verifyLog(made.openings.slice(0, -1), { checkpoint }), /entries of the checkpoint/)
    const swapped = [...made.openings.slice(0, -1), event(7)]
    rejects(() => verifyLog(swapped, { checkpoint }), /do not hash to the checkpoint's root/)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sha256, toHex } from '../../../core/bytes.ts'
import type { Json } from '../../../core/commitment/canonical-json.ts'
import { deletedFileText } from '../../../core/commitment/event-format.ts'
import { HistoryCheck, verifyEvent } from '../../../core/verify/index.ts'
import type { VerificationRule } from '../../../core/rules.ts'
import { wireEvents, type WireEvent } from '../../support/wire-event.ts'
import { openFilledRegistry, type FilledRegistry } from '../../support/sealed-registry.ts'
import { present } from '../../support/present.ts'
import { FILE, fileText, SLOT_KEY, ForgedLog, forgeEvent, type EventParts, type ForgedEvent } from './forger.ts'

const REJECTED = { code: 'VERIFICATION_FAILED' }

type Disclosure = WireEvent['disclosure']

describe('verifyEvent', () => {
  let sealed: FilledRegistry
  let events: WireEvent[]

  before(async () => {
    sealed = await openFilledRegistry()
    const page = await sealed.registry.evidences.get(sealed.scope, sealed.filled.drill, { disclose: true })
    events = wireEvents(page.events)
  })
  after(() => sealed.close())

  const flip = (text: string, at = Math.floor(text.length / 2)): string =>
    text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)

  it('returns what was disclosed, and names what was erased', () => {
    const [first] = events as [WireEvent]
    const event = verifyEvent(first.disclosure, { txId: first.txId, origin: sealed.registry.log.origin })
    assert.equal(event.version, 1)
    assert.equal(event.time, Date.parse(first.timestamp))
    assert.equal(event.fields.get('externalId'), sealed.filled.drill)
    assert.deepEqual(event.fields.get('meta'), { a: [1] })
    assert.deepEqual(event.fields.get('action'), { type: 'create' })
    assert.deepEqual(event.hiddenFields, [])
    assert.deepEqual(event.hiddenFiles, [sealed.filled.deletedFile])
    assert.deepEqual([...event.files.keys()].toSorted(), [sealed.filled.imageFile, sealed.filled.keptFile].toSorted())
  })

  it('accepts a disclosure without any field or file, and names what is missing', () => {
    const [first] = events as [WireEvent]
    for (const name of Object.keys(first.disclosure.fields)) {
      const { [name]: _, ...fields } = first.disclosure.fields
      const event = verifyEvent({ ...first.disclosure, fields }, { txId: first.txId })
      assert.deepEqual(event.hiddenFields, [name])
      assert.equal(event.fields.has(name), false)
    }
    const bare = verifyEvent({ ...first.disclosure, fields: {}, files: {} }, { txId: first.txId })
    assert.equal(bare.hiddenFields.length, Object.keys(first.disclosure.fields).length)
    assert.equal(bare.hiddenFiles.length, 3)
  })

  it('rejects every changed text, salt, opening and txId', () => {
    for (const { txId, disclosure } of events) {
      const assertRejected = (change: (copy: Disclosure) => void): void => {
        const copy = structuredClone(disclosure)
        change(copy)
        assert.throws(() => verifyEvent(copy, { txId }), REJECTED)
      }
      for (const name of ['opening', 'header', 'filesText', 'filesSalt'] as const) {
        assertRejected((copy) => (copy[name] = flip(copy[name])))
        assertRejected((copy) => (copy[name] = 7 as never))
        assertRejected((copy) => delete (copy as Partial<Disclosure>)[name])
        // The same value in another spelling: the text is hashed as received.
        assertRejected((copy) => (copy[name] += ' '))
      }
      for (const kind of ['fields', 'files'] as const) {
        for (const name of Object.keys(disclosure[kind])) {
          const at = (copy: Disclosure) => present(copy[kind][name])
          assertRejected((copy) => (at(copy).text = flip(at(copy).text)))
          assertRejected((copy) => (at(copy).text += ' '))
          assertRejected((copy) => (at(copy).salt = flip(at(copy).salt)))
          assertRejected((copy) => (copy[kind]['another'] = at(copy)))
          assertRejected((copy) => (copy[kind] = { ...copy[kind], [name]: null as never }))
        }
        assertRejected((copy) => (copy[kind] = [] as never))
      }
      assert.throws(() => verifyEvent(disclosure, { txId: flip(txId) }), REJECTED)
      assert.throws(() => verifyEvent(disclosure, { txId, origin: 'another/log' }), REJECTED)
    }
    const [first, second] = events as [WireEvent, WireEvent]
    assert.throws(() => verifyEvent(second.disclosure, { txId: first.txId }), REJECTED)
    assert.throws(() => verifyEvent(null, { txId: first.txId }), REJECTED)
  })

  it('rejects a value under the name of another field', () => {
    const [first] = events as [WireEvent]
    const copy = structuredClone(first.disclosure)
    copy.fields['name'] = present(copy.fields['owner'])
    assert.throws(() => verifyEvent(copy, { txId: first.txId }), REJECTED)
  })
})

/** Every hash below is correct, so that exactly one rule is left that can reject the forgery. */

const log = new ForgedLog()

const FIRST_FIELDS = {
  action: { type: 'create' },
  company: 'acme',
  evidence: 'evidence-1',
  externalId: 'one',
  owner: 'Ada',
  slotKey: toHex(SLOT_KEY),
} satisfies Record<string, Json>
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

const rejects = (check: () => unknown, rule: VerificationRule): void =>
  assert.throws(check, { code: 'VERIFICATION_FAILED', rule })

describe('forged events', () => {
  const verify = (event: ForgedEvent): unknown => verifyEvent(event.disclosure, { txId: event.txId })

  it('are accepted if no rule is broken', () => {
    assert.ok(verify(firstEvent()))
    assert.ok(verify(nextEvent([firstEvent()])))
  })

  const forgeries: [what: string, event: () => ForgedEvent, rule: VerificationRule][] = [
    [
      'another header version',
      () => firstEvent({ header: (header) => ({ ...header, v: 2 }) }),
      'event.header-malformed',
    ],
    ['version 0', () => nextEvent([firstEvent()], { version: 0 }), 'event.header-malformed'],
    ['version 1 with first', () => firstEvent({ first: 'a'.repeat(64) }), 'event.header-malformed'],
    ['version 1 with prev', () => firstEvent({ prev: 'a'.repeat(64) }), 'event.header-malformed'],
    ['version 2 without first', () => nextEvent([firstEvent()], { first: null }), 'event.header-malformed'],
    ['version 2 without prev', () => nextEvent([firstEvent()], { prev: null }), 'event.header-malformed'],
    ['an unknown header member', () => firstEvent({ header: (header) => ({ ...header, x: 1 }) }), 'form.members'],
    ['a version that is not a number', () => firstEvent({ header: (h) => ({ ...h, version: '1' }) }), 'form.value'],
    ['a link that is not a hash', () => nextEvent([firstEvent()], { prev: 'ab' }), 'value.malformed'],
    ['a log that is not a text', () => firstEvent({ header: (header) => ({ ...header, log: 7 }) }), 'form.value'],
    [
      'a field hash that is not a hash',
      () => firstEvent({ header: (h) => ({ ...h, fields: { a: 'ab' } }) }),
      'value.malformed',
    ],
    [
      'a field text of another field',
      () => firstEvent({ fieldTexts: { owner: '["name","Eve"]' } }),
      'event.text-malformed',
    ],
    ['a field text without a value', () => firstEvent({ fieldTexts: { owner: '["owner"]' } }), 'event.text-malformed'],
    [
      'a field text with two values',
      () => firstEvent({ fieldTexts: { owner: '["owner","a","b"]' } }),
      'event.text-malformed',
    ],
    [
      'a field text that is not strict JSON',
      () => firstEvent({ fieldTexts: { owner: '["owner",{"a":1,"a":2}]' } }),
      'form.json',
    ],
    ['a file text of another file', () => firstEvent({ files: { another: fileText } }), 'event.text-malformed'],
    [
      'a file with another member',
      () => firstEvent({ files: { [FILE]: `${fileText.slice(0, -1)},"x":1}` } }),
      'form.members',
    ],
    [
      'a deletion with another member',
      () => firstEvent({ files: { [FILE]: `{"deleted":"${'a'.repeat(64)}","id":"${FILE}","x":1}` } }),
      'form.members',
    ],
    [
      'a deletion of a text',
      () => firstEvent({ files: { [FILE]: deletedFileText(FILE, 'no hash') } }),
      'value.malformed',
    ],
    ['a slot of another key', () => firstEvent({ slot: new Uint8Array(32) }), 'event.slot-differs'],
  ]
  for (const [what, event, rule] of forgeries) it(`are rejected: ${what}`, () => rejects(() => verify(event()), rule))

  it('are rejected if a disclosed value is not the committed one', () => {
    const event = firstEvent()
    for (const kind of ['fields', 'files'] as const) {
      const [name = '', { salt = '' } = {}] = Object.entries(event.disclosure[kind])[0] ?? []
      const text = kind === 'fields' ? '["action",{"type":"transfer"}]' : fileText.replace('a.txt', 'b.txt')
      const forged = { ...event.disclosure, [kind]: { ...event.disclosure[kind], [name]: { text, salt } } }
      rejects(() => verifyEvent(forged, { txId: event.txId }), 'event.text-differs')
      const extra = { ...event.disclosure, [kind]: { ...event.disclosure[kind], extra: { text, salt } } }
      rejects(() => verifyEvent(extra, { txId: event.txId }), 'event.not-committed')
    }
    const other = firstEvent()
    // Everything of another event that fits together, except the one link.
    const { header, fields, filesText, filesSalt, files } = other.disclosure
    const { txId } = event
    rejects(() => verifyEvent(other.disclosure, { txId }), 'event.txid-differs')
    rejects(() => verifyEvent({ ...event.disclosure, header, fields }, { txId }), 'event.header-differs')
    rejects(() => verifyEvent({ ...event.disclosure, filesText, filesSalt, files }, { txId }), 'event.files-differ')
    rejects(() => verifyEvent(event.disclosure, { txId: event.txId, origin: 'another/log' }), 'event.other-log')
    const key = log.openings[0] ?? new Uint8Array()
    const opening = { ...event.disclosure, opening: toHex(key) }
    rejects(() => verifyEvent(opening, { txId: toHex(sha256(key)) }), 'event.opening')
  })
})

describe('HistoryCheck', () => {
  it('rejects an event of another log', () => {
    const history = new HistoryCheck()
    const add = (event: ForgedEvent): void => history.add(verifyEvent(event.disclosure, { txId: event.txId }))
    const first = firstEvent()
    add(first)
    rejects(() => add(nextEvent([first], { origin: 'another/log' })), 'event.other-log')
  })

  it('compares the next event with one that it rejected, so that a gap is found once', () => {
    const history = new HistoryCheck()
    const add = (event: ForgedEvent): void => history.add(verifyEvent(event.disclosure, { txId: event.txId }))
    const events = [firstEvent()]
    for (let i = 0; i < 3; i++) events.push(nextEvent(events))
    const [first, , third, fourth] = events.map((event) => () => add(event))
    first?.()
    rejects(present(third), 'history.version-gap')
    fourth?.()
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, sha256, toHex } from '../../../core/bytes.ts'
import type { Json } from '../../../core/commitment/canonical-json.ts'
import { attachedFileText, deletedFileText } from '../../../core/commitment/event-format.ts'
import {
  verifyBundle,
  type BundleResult,
  type Policy,
  type VerificationRule,
  type VerifyBundleOptions,
} from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'
import { forgeBundle, type BundleParts, type ForgedBundle, type Members } from './bundle-forger.ts'
import { ForgedLog, forgeEvent, ruleOf, type EventParts, type ForgedEvent } from './forger.ts'

/** Every hash and signature here is correct, so that exactly one rule is left that can refute the bundle. */

const FILE = '00000000-0000-7000-8000-000000000001'
const OTHER_FILE = '00000000-0000-7000-8000-000000000002'
const slotKey = new Uint8Array(32).fill(9)
const textOf = (id: string): string => {
  const content = encodeUtf8(id)
  return attachedFileText({
    id,
    mimeType: 'text/plain',
    name: id,
    sha256: toHex(sha256(content)),
    size: content.length,
  })
}
const CONSTANTS = { company: 'acme', evidence: 'evidence-1', externalId: 'one' } satisfies Record<string, Json>
const FIRST_FIELDS = { ...CONSTANTS, owner: 'Ada', slotKey: toHex(slotKey) } satisfies Record<string, Json>
const { origin } = new ForgedLog()

const firstEvent = (parts: Partial<EventParts> = {}): ForgedEvent =>
  forgeEvent({
    origin,
    slotKey,
    version: 1,
    time: 1_000,
    fields: FIRST_FIELDS,
    files: { [FILE]: textOf(FILE), [OTHER_FILE]: textOf(OTHER_FILE) },
    ...parts,
  })
const nextEvent = (history: readonly ForgedEvent[], parts: Partial<EventParts> = {}): ForgedEvent =>
  forgeEvent({
    origin,
    slotKey,
    version: history.length + 1,
    time: 2_000,
    first: present(history[0]).txId,
    prev: present(history.at(-1)).txId,
    fields: { owner: 'Grace' },
    ...parts,
  })

/** A log with these events after its first key. */
function logOf(...events: readonly ForgedEvent[]): ForgedLog {
  const log = new ForgedLog()
  for (const { opening } of events) log.add(opening)
  return log
}

/** A bundle of these events, of a log that holds them in this order. */
const bundleOf = (events: readonly ForgedEvent[], parts: BundleParts = {}): ForgedBundle =>
  forgeBundle(logOf(...events), events, parts)

const POLICY: Policy = { keys: new ForgedLog().pinned }
const verify = (bundle: Members, options: VerifyBundleOptions = {}): BundleResult =>
  verifyBundle(JSON.stringify(bundle), { policy: POLICY, ...options })

const assertRefuted = (result: BundleResult, rule: VerificationRule): void =>
  assert.equal(ruleOf(result).at(-1), rule, 'reason' in result ? result.reason : '')

function claimsOf(result: BundleResult) {
  assert.ok('claims' in result && !('reason' in result), 'reason' in result ? result.reason : '')
  return result.claims
}

/** Two events, of which the second is forged. */
function pairWith(parts: Partial<EventParts>, firstParts: Partial<EventParts> = {}): readonly ForgedEvent[] {
  const first = firstEvent(firstParts)
  return [first, nextEvent([first], parts)]
}

describe('forged histories in bundles', () => {
  const first = firstEvent()
  const attachedTwice = nextEvent([first], { files: { [FILE]: textOf(FILE) } })
  const deletes = (history: readonly ForgedEvent[], attachedBy: string, id = FILE): ForgedEvent =>
    nextEvent(history, { files: { [id]: deletedFileText(id, attachedBy) } })
  const deletion = deletes([first], first.txId)

  it('prove what they hold if no rule is broken', () => {
    const second = deletes([first, deletion], first.txId, OTHER_FILE)
    const result = verify(bundleOf([first, deletion, second]))
    assert.equal(result.state, 'proven')
    assert.deepEqual(
      claimsOf(result).events.map(({ version, log }) => [version, log]),
      [1, 2, 3].map((version) => [version, { position: version, treeSize: 4 }]),
    )
    assert.equal(claimsOf(result).isHistory, true)
    const notChecked = result.unchecked.map(({ what }) => what)
    assert.deepEqual(notChecked, ['later versions'])
  })

  // Other forgeries are vectors: test/vectors/bundle.
  const forgeries: Readonly<Record<string, readonly [readonly ForgedEvent[], VerificationRule]>> = {
    'a version occurs twice': [[first, deletion, deletion], 'history.version-gap'],
    'first is another event': [pairWith({ first: 'a'.repeat(64) }), 'history.first-differs'],
    'evidence changes': [pairWith({ fields: { evidence: 'other' } }), 'history.field-changes'],
    'externalId changes': [pairWith({ fields: { externalId: 'other' } }), 'history.field-changes'],
    'a deletion names another event': [[first, deletes([first], 'a'.repeat(64))], 'history.never-attached'],
    'a deletion names the event that attached the file again': [
      [first, attachedTwice, deletes([first, attachedTwice], attachedTwice.txId)],
      'history.never-attached',
    ],
    'a deletion is of a file that was never attached': [
      [first, deletes([first], first.txId, 'x')],
      'history.never-attached',
    ],
    'a file is deleted twice': [[first, deletion, deletes([first, deletion], first.txId)], 'history.deleted-twice'],
    'an event is of another log': [pairWith({ origin: 'other/log' }), 'event.other-log'],
  }
  for (const [what, [events, rule]] of Object.entries(forgeries))
    it(`are refuted: ${what}`, () => assertRefuted(verify(bundleOf(events)), rule))

  it('are refuted: what was hashed has another form', () => {
    for (const changed of [{ x: 1 }, { version: '1' }]) {
      const result = verify(bundleOf([firstEvent({ header: (header) => ({ ...header, ...changed }) })]))
      assert.deepEqual([result.state, 'check' in result && result.check], ['refuted', 'events'])
    }
  })

  it('may have equal times', () => {
    assert.equal(verify(bundleOf(pairWith({ time: 1_000 }))).state, 'proven')
  })

  it('are refuted: a deletion names an event whose disclosure hides the file', () => {
    const bundle = bundleOf([first, deletion])
    Object.assign(present(bundle.events[0]), { files: {} })
    assert.equal(verify(bundle).state, 'proven')
    const wrong = bundleOf([first, deletes([first], 'a'.repeat(64))])
    Object.assign(present(wrong.events[0]), { files: {} })
    assertRefuted(verify(wrong), 'history.never-attached')
  })

  it('are refuted: the order in the log is not that of the versions', () => {
    const events = [first, deletion]
    assertRefuted(verify(forgeBundle(logOf(deletion, first), events)), 'inclusion.order')
    // Version 1 is not sealed, and version 2 is.
    assertRefuted(verify(forgeBundle(logOf(deletion), events)), 'inclusion.order')
    assert.equal(verify(forgeBundle(logOf(first), events)).state, 'pending')
    assert.equal(verify(forgeBundle(new ForgedLog(), events)).state, 'pending')
  })

  it('are refuted: they begin with another event than the subject', () => {
    const subject = { type: 'evidence', txId: deletion.txId }
    assertRefuted(verify(bundleOf([first, deletion], { subject })), 'subject.missing')
    assertRefuted(verify({ ...bundleOf([first]), events: [] }), 'form.length')
  })

  it('are refuted: an event without its header', () => {
    const bundle = bundleOf([first, deletion])
    for (const name of ['header', 'fields']) delete present(bundle.events[1])[name]
    assertRefuted(verify(bundle), 'history.headers-mixed')
  })
})

describe('forged bundles without headers', () => {
  const first = firstEvent()
  const deletion = nextEvent([first], { files: { [FILE]: deletedFileText(FILE, first.txId) } })
  const file = { type: 'file', txId: first.txId, fileId: FILE }
  const without = (events: readonly ForgedEvent[], subject: Members, log = logOf(...events)): ForgedBundle =>
    forgeBundle(log, events, { withHeaders: false, subject })

  it('prove an attachment and its deletion if no rule is broken', () => {
    const result = verify(without([first, deletion], file))
    const { file: claim, isHistory } = claimsOf(result)
    assert.deepEqual(result.unchecked, [
      { what: 'the history', why: 'This is a part of it: later events, such as a theft, are not in it' },
    ])
    assert.deepEqual(claim, { fileId: FILE, state: 'deleted', event: first.txId, deletedBy: deletion.txId })
    assert.equal(isHistory, false)
    assert.equal(claimsOf(verify(without([first], file))).file?.state, 'attached')
    const listed = without([first], file)
    present(listed.events[0])['files'] = {}
    assert.equal(claimsOf(verify(listed)).file?.state, 'listed')
  })

  const other = nextEvent([first])
  const otherDeletion = nextEvent([first], { files: { [FILE]: deletedFileText(FILE, other.txId) } })
  const evidence = { type: 'evidence', txId: first.txId }
  const forgeries: Readonly<Record<string, readonly [ForgedBundle, VerificationRule]>> = {
    'another event than a deletion': [without([first, other], file), 'subject.other-event'],
    'a deletion of another file': [without([first, deletion], { ...file, fileId: OTHER_FILE }), 'subject.other-event'],
    'a deletion of what another event attached': [without([first, otherDeletion], file), 'subject.other-event'],
    'a deletion beside an evidence': [without([first, deletion], evidence), 'subject.other-event'],
    'two deletions': [without([first, deletion, deletion], file), 'subject.other-event'],
    'the subject after another event': [
      without([first, deletion], { ...file, txId: deletion.txId }),
      'subject.other-event',
    ],
    'a subject that is not in it': [without([first], { ...file, txId: other.txId }), 'subject.missing'],
    'a deletion as the event of the file': [
      without([deletion], { ...file, txId: deletion.txId }),
      'subject.file-missing',
    ],
    'an event without the file': [without([other], { ...file, txId: other.txId }), 'subject.file-missing'],
  }
  for (const [what, [bundle, rule]] of Object.entries(forgeries))
    it(`are refuted: ${what}`, () => assertRefuted(verify(bundle), rule))

  it('are refuted: texts that the event does not commit to', () => {
    const edited = (edit: (event: Members, disclosure: ForgedEvent['disclosure']) => void): ForgedBundle => {
      const bundle = without([first], file)
      edit(present(bundle.events[0]), first.disclosure)
      return bundle
    }
    assertRefuted(verify(edited((event, { fields }) => Object.assign(event, { fields }))), 'event.header-missing')
    const noMap = edited((event) => Object.assign(event, { filesText: undefined, filesSalt: undefined }))
    assertRefuted(verify(noMap), 'event.files-missing')
    for (const name of ['filesText', 'filesSalt'])
      assertRefuted(verify(edited((event) => Object.assign(event, { [name]: undefined }))), 'form.value')
    const shown = present(first.disclosure.files[FILE])
    const uncommitted = { [FILE]: shown, another: shown }
    assertRefuted(verify(edited((event) => Object.assign(event, { files: uncommitted }))), 'event.not-committed')
    const changed = { [FILE]: { ...shown, text: shown.text.replace('text/plain', 'text/html') } }
    assertRefuted(verify(edited((event) => Object.assign(event, { files: changed }))), 'event.text-differs')
    const text = { [FILE]: textOf(OTHER_FILE) }
    const swapped = firstEvent({ files: text })
    assertRefuted(verify(without([swapped], { ...file, txId: swapped.txId })), 'event.text-malformed')
  })

  it('compare contents by hash and size', () => {
    const content = { name: 'a', sha256: toHex(sha256(encodeUtf8(FILE))), size: FILE.length }
    const bundle = without([first], file)
    const statesOf = (...contents: (typeof content)[]): readonly unknown[] => {
      const result = verify(bundle, { contents })
      assert.equal(result.state, 'proven')
      return ['file' in result && result.file, ...claimsOf(result).contents.map(({ state }) => state)]
    }
    assert.deepEqual(claimsOf(verify(bundle, { contents: [content] })).contents, [
      { name: 'a', state: 'matches', fileId: FILE, txId: first.txId },
    ])
    const others = [
      { ...content, size: 1 },
      { ...content, sha256: 'a'.repeat(64) },
    ]
    // Of the same name, and only one is in the proof.
    const missing = 'not-in-this-proof'
    assert.deepEqual(statesOf(content, ...others), [missing, 'matches', missing, missing])
    present(bundle.events[0])['files'] = {}
    assert.deepEqual(statesOf(content), ['not-comparable', 'not-comparable'])
  })
})

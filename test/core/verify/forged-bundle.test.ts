import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, sha256, toHex } from '../../../core/bytes.ts'
import type { Json } from '../../../core/commitment/canonical-json.ts'
import { attachedFileText, deletedFileText } from '../../../core/commitment/event-format.ts'
import { verifyBundle, type BundleResult, type Policy, type VerifyBundleOptions } from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'
import { forgeBundle, type BundleParts, type ForgedBundle, type Members } from './bundle-forger.ts'
import { ForgedLog, forgeEvent, type EventParts, type ForgedEvent } from './forger.ts'

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

function assertRefuted(result: BundleResult, reason: RegExp): void {
  assert.equal(result.state, 'refuted')
  assert.match('reason' in result ? result.reason : '', reason)
}

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
    assert.deepEqual(
      result.unchecked.map(({ what }) => what),
      ['later versions'],
    )
  })

  const forgeries: Readonly<Record<string, readonly [readonly ForgedEvent[], RegExp]>> = {
    'a version is missing': [[first, nextEvent([first, deletion])], /Expected version 2/],
    'a version occurs twice': [[first, deletion, deletion], /Expected version 3/],
    'first is another event': [pairWith({ first: 'a'.repeat(64) }), /belongs to another history/],
    'prev is another event': [pairWith({ prev: 'a'.repeat(64) }), /does not link/],
    'time goes back': [pairWith({ time: 999 }), /older than the previous version/],
    'the slot is that of another version': [pairWith({ slot: first.opening.slice(16, 48) }), /The slot of version 2/],
    'company changes': [pairWith({ fields: { company: 'other' } }), /another company/],
    'evidence changes': [pairWith({ fields: { evidence: 'other' } }), /another evidence/],
    'externalId changes': [pairWith({ fields: { externalId: 'other' } }), /another externalId/],
    'a deletion names another event': [[first, deletes([first], 'a'.repeat(64))], /did not attach/],
    'a deletion names the event that attached the file again': [
      [first, attachedTwice, deletes([first, attachedTwice], attachedTwice.txId)],
      /did not attach/,
    ],
    'a deletion is of a file that was never attached': [[first, deletes([first], first.txId, 'x')], /did not attach/],
    'a file is deleted twice': [
      [first, deletion, deletes([first, deletion], first.txId)],
      /deletes the file .* a second time/,
    ],
    'an event is of another log': [pairWith({ origin: 'other/log' }), /belongs to the log other\/log/],
  }
  for (const [rule, [events, reason]] of Object.entries(forgeries))
    it(`are refuted: ${rule}`, () => assertRefuted(verify(bundleOf(events)), reason))

  it('may have equal times', () => {
    assert.equal(verify(bundleOf(pairWith({ time: 1_000 }))).state, 'proven')
  })

  it('are refuted: a deletion names an event whose disclosure hides the file', () => {
    const bundle = bundleOf([first, deletion])
    Object.assign(present(bundle.events[0]), { files: {} })
    assert.equal(verify(bundle).state, 'proven')
    const wrong = bundleOf([first, deletes([first], 'a'.repeat(64))])
    Object.assign(present(wrong.events[0]), { files: {} })
    assertRefuted(verify(wrong), /did not attach/)
  })

  it('are refuted: the order in the log is not that of the versions', () => {
    const events = [first, deletion]
    assertRefuted(verify(forgeBundle(logOf(deletion, first), events)), /positions of the events must ascend/)
    // Version 1 is not sealed, and version 2 is.
    assertRefuted(verify(forgeBundle(logOf(deletion), events)), /positions of the events must ascend/)
    assert.equal(verify(forgeBundle(logOf(first), events)).state, 'pending')
    assert.equal(verify(forgeBundle(new ForgedLog(), events)).state, 'pending')
  })

  it('are refuted: they begin with another event than the subject', () => {
    const subject = { type: 'evidence', txId: deletion.txId }
    assertRefuted(verify(bundleOf([first, deletion], { subject })), /subject of the bundle is not one of its events/)
    assertRefuted(verify({ ...bundleOf([first]), events: [] }), /has no event/)
  })

  it('are refuted: an event without its header', () => {
    const bundle = bundleOf([first, deletion])
    for (const name of ['header', 'fields']) delete present(bundle.events[1])[name]
    assertRefuted(verify(bundle), /Either every event/)
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
    assert.deepEqual(result.unchecked, [])
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
  const forgeries: Readonly<Record<string, readonly [ForgedBundle, RegExp]>> = {
    'another event than a deletion': [without([first, other], file), /does not delete the file/],
    'a deletion of another file': [without([first, deletion], { ...file, fileId: OTHER_FILE }), /does not delete/],
    'a deletion of what another event attached': [without([first, otherDeletion], file), /does not delete/],
    'a deletion beside an evidence': [without([first, deletion], evidence), /does not delete/],
    'two deletions': [without([first, deletion, deletion], file), /at most the deletion/],
    'the subject after another event': [
      without([first, deletion], { ...file, txId: deletion.txId }),
      /at most the del/,
    ],
    'a subject that is not in it': [without([first], { ...file, txId: other.txId }), /not one of its events/],
    'a deletion as the event of the file': [without([deletion], { ...file, txId: deletion.txId }), /deletes the file/],
    'an event without the file': [without([other], { ...file, txId: other.txId }), /does not hold the file/],
  }
  for (const [rule, [bundle, reason]] of Object.entries(forgeries))
    it(`are refuted: ${rule}`, () => assertRefuted(verify(bundle), reason))

  it('are refuted: texts that the event does not commit to', () => {
    const edited = (edit: (event: Members, disclosure: ForgedEvent['disclosure']) => void): ForgedBundle => {
      const bundle = without([first], file)
      edit(present(bundle.events[0]), first.disclosure)
      return bundle
    }
    assertRefuted(verify(edited((event, { fields }) => Object.assign(event, { fields }))), /fields without its header/)
    const noMap = edited((event) => Object.assign(event, { filesText: undefined, filesSalt: undefined }))
    assertRefuted(verify(noMap), /files without its map/)
    for (const name of ['filesText', 'filesSalt'])
      assertRefuted(verify(edited((event) => Object.assign(event, { [name]: undefined }))), /files (?:text|salt)/)
    const shown = present(first.disclosure.files[FILE])
    const uncommitted = { [FILE]: shown, another: shown }
    assertRefuted(verify(edited((event) => Object.assign(event, { files: uncommitted }))), /does not commit to/)
    const changed = { [FILE]: { ...shown, text: shown.text.replace('text/plain', 'text/html') } }
    assertRefuted(verify(edited((event) => Object.assign(event, { files: changed }))), /does not hash to the value/)
    const text = { [FILE]: textOf(OTHER_FILE) }
    const swapped = firstEvent({ files: text })
    assertRefuted(verify(without([swapped], { ...file, txId: swapped.txId })), /belongs to another file/)
  })

  it('compare contents by hash and size', () => {
    const content = { name: 'a', sha256: toHex(sha256(encodeUtf8(FILE))), size: FILE.length }
    const bundle = without([first], file)
    assert.deepEqual(claimsOf(verify(bundle, { contents: [content] })).contents, [
      { name: 'a', fileId: FILE, txId: first.txId },
    ])
    assertRefuted(verify(bundle, { contents: [{ ...content, size: 1 }] }), /No file has the content/)
    assertRefuted(verify(bundle, { contents: [{ ...content, sha256: 'a'.repeat(64) }] }), /No file has the content/)
    assertRefuted(verify(bundle, { contents: [{ ...content, sha256: 'x' }] }), /SHA-256 of a must be/)
    present(bundle.events[0])['files'] = {}
    assert.equal(verify(bundle, { contents: [content] }).state, 'not-comparable')
  })
})

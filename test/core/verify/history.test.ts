import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { encodeUtf8, fromHex, sha256, toHex } from '../../../core/bytes.ts'
import { slotHash } from '../../../core/commitment/event-format.ts'
import { parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { verifyEvent, verifyFile, verifyHistory, verifyLog } from '../../../core/verify/index.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { wireEvents, type WireEvent } from '../../support/wire-event.ts'
import { fillRegistry, openSealedRegistry, type Filled, type SealedRegistry } from '../../support/sealed-registry.ts'
import { present } from '../../support/present.ts'

const REJECTED = { code: 'VERIFICATION_FAILED' }

type Disclosure = WireEvent['disclosure']

describe('disclosed events and files', () => {
  let directory: string
  let sealed: SealedRegistry
  let filled: Filled
  let events: WireEvent[]

  before(async () => {
    directory = await makeTemporary()
    sealed = await openSealedRegistry(directory)
    filled = await fillRegistry(sealed)
    const page = await sealed.registry.evidences.get(sealed.scope, filled.drill, { disclose: true })
    events = wireEvents(page.events)
  })
  after(async () => {
    await sealed.registry.close()
    await removeTemporary(directory)
  })

  /** A copy of the history with event `index` changed. */
  function edited(index: number, edit: (event: WireEvent) => void): WireEvent[] {
    const copy = structuredClone(events)
    edit(present(copy[index]))
    return copy
  }

  const flip = (text: string, at = Math.floor(text.length / 2)): string =>
    text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)

  describe('verifyEvent', () => {
    it('returns what was disclosed, and names what was erased', () => {
      const [first] = events as [WireEvent]
      const event = verifyEvent(first.disclosure, { txId: first.txId, origin: sealed.registry.log.origin })
      assert.equal(event.version, 1)
      assert.equal(event.time, Date.parse(first.timestamp))
      assert.equal(event.fields.get('externalId'), filled.drill)
      assert.deepEqual(event.fields.get('meta'), { a: [1] })
      assert.deepEqual(event.fields.get('action'), { type: 'create' })
      assert.deepEqual(event.hiddenFields, [])
      assert.deepEqual(event.hiddenFiles, [filled.deletedFile])
      assert.deepEqual([...event.files.keys()].toSorted(), [filled.imageFile, filled.keptFile].toSorted())
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

  describe('verifyHistory', () => {
    it('accepts a whole history', () => {
      const history = verifyHistory(events, { origin: sealed.registry.log.origin })
      assert.equal(history.txId, events[0]?.txId)
      assert.deepEqual(
        history.events.map(({ version }) => version),
        [1, 2, 3, 4, 5],
      )
      assert.deepEqual(
        events.map(({ type, updateType }) => updateType ?? type),
        ['create', 'change', 'transfer', 'addfile', 'deletefile'],
      )
      assert.deepEqual(history.events[4]?.files.get(filled.deletedFile), {
        id: filled.deletedFile,
        deleted: events[0]?.txId,
      })
    })

    it('rejects versions that are missing, swapped, duplicated or of another history', async () => {
      const page = await sealed.registry.evidences.get(sealed.scope, filled.plain, { disclose: true })
      const other = wireEvents(page.events)
      const [a, b, c, d, e] = events as [WireEvent, WireEvent, WireEvent, WireEvent, WireEvent]
      const broken = [[], [b], [a, c], [b, a], [a, a], [a, b, d, c, e], [a, ...other.slice(1)], other.slice(1)]
      for (const history of broken) assert.throws(() => verifyHistory(history), REJECTED)
      assert.equal(verifyHistory(other).events.length, 2)
    })

    it('rejects every shown member that the event does not commit to', () => {
      const changes: ((event: WireEvent) => void)[] = [
        (event) => (event.timestamp = new Date(Date.parse(event.timestamp) + 1).toISOString()),
        (event) => (event.version += 1),
        (event) => (event.type = event.type === 'create' ? 'update' : 'create'),
        (event) => (event.updateType = 'repair'),
        (event) => (event.ownerName += 'x'),
        (event) => (event.personaName = 'Somebody'),
        (event) => (event.eventDescription = 'Something'),
        (event) => (event.updateDescription = 'Something'),
        (event) => (event.meta = { a: [2] }),
        (event) => (event.txId = flip(event.txId)),
        (event) => delete (event as Partial<WireEvent>).disclosure,
      ]
      for (let index = 0; index < events.length; index++)
        for (const change of changes)
          assert.throws(() => verifyHistory(edited(index, change)), REJECTED, String(change))
      const shown = ['personaName', 'eventDescription', 'updateDescription', 'meta'] as const
      for (const name of shown) assert.throws(() => verifyHistory(edited(1, (event) => delete event[name])), REJECTED)
    })

    it('requires the slot key of version 1', () => {
      const hidden = edited(0, ({ disclosure }) => delete disclosure.fields['slotKey'])
      assert.throws(() => verifyHistory(hidden), REJECTED)
    })
  })

  describe('verifyFile', () => {
    const content = encodeUtf8('Read this first.')
    const commitment = () => {
      const [{ txId, disclosure }] = events as [WireEvent]
      const { opening, filesText, filesSalt } = disclosure
      return { fileId: filled.keptFile, txId, opening, filesText, filesSalt }
    }
    const disclosed = () => present(events[0]).disclosure.files[filled.keptFile]

    it('accepts the bytes or their digest', () => {
      const file = verifyFile(content, disclosed(), commitment())
      assert.deepEqual(file, {
        id: filled.keptFile,
        name: 'manual.txt',
        mimeType: 'text/plain',
        size: content.length,
        sha256: toHex(sha256(content)),
      })
      assert.deepEqual(verifyFile({ size: content.length, sha256: sha256(content) }, disclosed(), commitment()), file)
    })

    it('rejects other bytes, another file, another event and another disclosure', () => {
      const [first, , , fourth, fifth] = events as [WireEvent, WireEvent, WireEvent, WireEvent, WireEvent]
      for (const bytes of [encodeUtf8('Read this first!'), encodeUtf8('Read this first. '), new Uint8Array()])
        assert.throws(() => verifyFile(bytes, disclosed(), commitment()), REJECTED)
      assert.throws(
        () => verifyFile({ size: content.length + 1, sha256: sha256(content) }, disclosed(), commitment()),
        REJECTED,
      )
      assert.throws(() => verifyFile(content, disclosed(), { ...commitment(), fileId: filled.imageFile }), REJECTED)
      assert.throws(() => verifyFile(content, first.disclosure.files[filled.imageFile], commitment()), REJECTED)
      assert.throws(() => verifyFile(content, disclosed(), { ...commitment(), txId: fourth.txId }), REJECTED)
      assert.throws(() => verifyFile(content, undefined, commitment()), REJECTED)
      const { opening, filesText, filesSalt } = fifth.disclosure
      const deletion = { fileId: filled.deletedFile, txId: fifth.txId, opening, filesText, filesSalt }
      assert.throws(() => verifyFile(content, fifth.disclosure.files[filled.deletedFile], deletion), REJECTED)
    })
  })

  describe('verifyLog', () => {
    const openingsOf = async (size: number): Promise<Uint8Array[]> =>
      ((await sealed.registry.log.openings({ index: 0, width: size })) ?? []).map((opening) =>
        present(fromHex(opening)),
      )

    it('computes the signed root from the openings of all entries, and collects every slot', async () => {
      const note = present(await sealed.registry.log.latestCheckpoint())
      const { size, root } = parseCheckpoint(note)
      const log = verifyLog(await openingsOf(size), { checkpoint: note, origin: sealed.registry.log.origin })
      assert.deepEqual([log.size, log.root], [size, toHex(root)])
      assert.deepEqual(log.verifierKeys, [sealed.registry.log.verifierKey])
      assert.ok(log.tokens.size >= 1)
      const { slotKey } = verifyHistory(events)
      const isIn = (version: number): boolean => log.slots.has(toHex(slotHash(slotKey, version)))
      assert.deepEqual([1, 2, 3, 4, 5, 6].map(isIn), [true, true, true, true, true, false])
      // A truncated history is accepted by itself, but its next slot is in the log.
      assert.equal(verifyHistory(events.slice(0, 4)).events.length, 4)
      assert.equal(isIn(5), true)
    })

    it('rejects entries that are missing, swapped, changed or forked, and another origin', async () => {
      const checkpoint = present(await sealed.registry.log.latestCheckpoint())
      const { size } = parseCheckpoint(checkpoint)
      const openings = await openingsOf(size)
      const [key, first, second, ...rest] = openings as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]]
      const changed = first.slice()
      changed[60] = (changed[60] ?? 0) ^ 1
      const broken = [
        openings.slice(0, -1),
        [...openings, first],
        [key, second, first, ...rest],
        [key, changed, second, ...rest],
        [key, first, first, ...rest],
        [first, second, ...rest],
        [key, first, new Uint8Array(120), ...rest],
        [],
      ]
      for (const log of broken) assert.throws(() => verifyLog(log, { checkpoint }), REJECTED)
      assert.throws(() => verifyLog(openings, { checkpoint, origin: 'another/log' }), REJECTED)
      assert.throws(() => verifyLog(openings, { checkpoint: flip(checkpoint) }), REJECTED)
    })
  })
})

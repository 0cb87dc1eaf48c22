import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { root } from '../../support/repository.ts'
import fc from 'fast-check'
import { fromHex, toHex } from '../../../core/bytes.ts'
import type { Json } from '../../../core/commitment/canonical-json.ts'
import {
  attachedFileText,
  deletedFileText,
  fieldHash,
  fieldText,
  fileHash,
  filesHash,
  hashesText,
  headerHash,
  headerText,
  openingBytes,
  parseOpening,
  slotHash,
  tag,
  txIdOf,
  type AttachedFile,
} from '../../../core/commitment/event-format.ts'
import {
  H,
  headerHash as referenceHeaderHash,
  J,
  recompute,
  saltedHash,
  slotOf,
  T,
  u64,
} from '../../support/commitment-reference.ts'

interface ExampleEvent {
  readonly version: number
  readonly time: number
  readonly log: string
  readonly first: string | null
  readonly prev: string | null
  readonly fields: Readonly<Record<string, { salt: string; text: string; hash: string }>>
  readonly files: Readonly<Record<string, { salt: string; text: string; hash: string }>>
  readonly filesSalt: string
  readonly filesText: string
  readonly filesHash: string
  readonly headerText: string
  readonly headerHash: string
  readonly slot: string
  readonly opening: string
  readonly txId: string
}

const example = JSON.parse(readFileSync(`${root}test/core/commitment/worked-example.json`, 'utf8')) as {
  slotKey: string
  events: readonly ExampleEvent[]
}

const bytes = (hex: string): Uint8Array => fromHex(hex) as Uint8Array
const textOf = (of: Readonly<Record<string, string>>): string => {
  const names = Object.keys(of).sort()
  return hashesText(
    names,
    names.map((name) => of[name] ?? ''),
  )
}
const hashes = (of: ExampleEvent['fields']): string =>
  textOf(Object.fromEntries(Object.entries(of).map(([name, { hash }]) => [name, hash])))

describe('the commitment of an event equals the worked example', () => {
  for (const event of example.events)
    describe(`version ${event.version}`, () => {
      it('binds each field', () => {
        for (const [name, { salt, text, hash }] of Object.entries(event.fields)) {
          const [, value] = JSON.parse(text) as [string, Json]
          assert.equal(fieldText(name, value), text)
          assert.equal(toHex(fieldHash(bytes(salt), text)), hash)
        }
      })

      it('binds each file', () => {
        for (const [id, { salt, text, hash }] of Object.entries(event.files)) {
          const file = JSON.parse(text) as AttachedFile | { id: string; deleted: string }
          assert.equal('deleted' in file ? deletedFileText(id, file.deleted) : attachedFileText(file), text)
          assert.equal(toHex(fileHash(bytes(salt), text)), hash)
        }
        assert.equal(hashes(event.files), event.filesText)
        assert.equal(toHex(filesHash(bytes(event.filesSalt), event.filesText)), event.filesHash)
      })

      it('binds the header and the slot, and all of them to the txId', () => {
        const { version, first, prev, log, time } = event
        assert.equal(headerText({ fields: hashes(event.fields), first, prev, log, version }), event.headerText)
        assert.equal(toHex(headerHash(event.headerText)), event.headerHash)
        assert.equal(toHex(slotHash(bytes(example.slotKey), version)), event.slot)
        const [slot, header, files] = [event.slot, event.headerHash, event.filesHash].map(bytes) as [
          Uint8Array,
          Uint8Array,
          Uint8Array,
        ]
        const opening = openingBytes({ slot, time, header, files })
        assert.equal(toHex(opening), event.opening)
        assert.equal(toHex(txIdOf(opening)), event.txId)
        assert.deepEqual(parseOpening(opening), { slot, time, header, files })
      })

      it('equals the slow reference, which the tests of the registry use', () => {
        const { txId, slot, header } = recompute({ ...event, header: event.headerText })
        assert.equal(txId, event.txId)
        assert.equal(slot, slotOf(example.slotKey, event.version))
        assert.deepEqual(
          [header.v, header.version, header.first, header.prev],
          [1, event.version, event.first, event.prev],
        )
      })
    })

  it('chains each version to the first and to the previous one', () => {
    const [one, two, three] = example.events as [ExampleEvent, ExampleEvent, ExampleEvent]
    assert.deepEqual([one.first, one.prev], [null, null])
    assert.deepEqual([two.first, two.prev], [one.txId, one.txId])
    assert.deepEqual([three.first, three.prev], [one.txId, two.txId])
  })
})

describe('the commitment of an event equals the slow reference', () => {
  const salt = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const text = fc.string({ unit: 'grapheme' }).filter((value) => value.isWellFormed())
  const value = fc.oneof(text, fc.maxSafeInteger(), fc.dictionary(fc.stringMatching(/^[a-z0-9]{1,8}$/), text))
  const hash = salt.map((drawn) => toHex(drawn))

  it('for fields and files', () => {
    fc.assert(
      fc.property(salt, text, value, (drawn, name, set) => {
        const written = fieldText(name, set)
        assert.equal(written, J([name, set]))
        assert.equal(toHex(fieldHash(drawn, written)), saltedHash('er1.field', { salt: toHex(drawn), text: written }))
        const file = { id: name, mimeType: name, name, sha256: 'ab', size: 7 }
        const titled = { ...file, title: 'not committed to' }
        assert.equal(attachedFileText(titled), J(file))
        assert.equal(toHex(fileHash(drawn, J(file))), saltedHash('er1.file', { salt: toHex(drawn), text: J(file) }))
        assert.equal(toHex(filesHash(drawn, '{}')), saltedHash('er1.files', { salt: toHex(drawn), text: '{}' }))
      }),
    )
  })

  it('for headers and openings', () => {
    const names = fc.dictionary(fc.stringMatching(/^[a-zA-Z]{1,12}$/), hash)
    fc.assert(
      fc.property(names, fc.option(hash), fc.option(hash), fc.maxSafeNat(), salt, (fields, first, prev, n, slotKey) => {
        const written = headerText({ fields: textOf(fields), first, log: 'l/1', prev, version: n })
        assert.equal(written, J({ fields, first, log: 'l/1', prev, v: 1, version: n }))
        assert.equal(toHex(headerHash(written)), referenceHeaderHash(written))
        assert.equal(toHex(slotHash(slotKey, n)), slotOf(toHex(slotKey), n))
        const parts = [slotHash(slotKey, n), headerHash(written), filesHash(slotKey, '{}')] as const
        const opening = openingBytes({ slot: parts[0], time: n, header: parts[1], files: parts[2] })
        const reference = Buffer.concat([T('er1.event'), parts[0], u64(n), parts[1], parts[2]])
        assert.equal(toHex(opening), reference.toString('hex'))
        assert.equal(toHex(txIdOf(opening)), H(reference).toString('hex'))
        assert.equal(parseOpening(opening)?.time, n)
      }),
    )
  })
})

describe('parts of the commitment', () => {
  it('have tags of 16 bytes, and throw for longer ones', () => {
    assert.deepEqual(Buffer.from(tag('er1.field')), T('er1.field'))
    assert.throws(() => tag('x'.repeat(17)), RangeError)
  })

  it('throw for times and versions that are not safe integers >= 0', () => {
    const part = new Uint8Array(32)
    for (const time of [-1, 0.5, 2 ** 53, Number.NaN])
      assert.throws(() => openingBytes({ slot: part, header: part, files: part, time }), RangeError)
    assert.throws(() => slotHash(part, -1), RangeError)
  })

  it('parse only openings of events', () => {
    const part = new Uint8Array(32)
    const opening = openingBytes({ slot: part, header: part, files: part, time: 1 })
    assert.ok(parseOpening(opening))
    assert.equal(parseOpening(opening.subarray(1)), undefined)
    assert.equal(parseOpening(new Uint8Array(121)), undefined)
    const [other, late] = [opening.slice(), opening.slice()]
    other.set(tag('er1.key'))
    assert.equal(parseOpening(other), undefined)
    late[48] = 0xff
    assert.equal(parseOpening(late), undefined, 'a time beyond the safe integers')
    // A view into a larger buffer, as stores return it.
    const shifted = new Uint8Array(200)
    shifted.set(opening, 33)
    assert.deepEqual(parseOpening(shifted.subarray(33, 153)), parseOpening(opening))
  })
})

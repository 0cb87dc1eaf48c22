import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StagedFile } from '../../../../core/schemas/file-inputs.ts'
import type { CategoryId, CompanyId, EvidenceId, FileId } from '../../../../core/api/scope.ts'
import { sha256, toHex } from '../../../../core/bytes.ts'
import { appendEvents, type EventStep } from '../../../../core/registry/event/append.ts'
import { eraseParts } from '../../../../core/registry/event/erase.ts'
import { discloseEvent } from '../../../../core/registry/event/opening.ts'
import { makeEvidence } from '../../../../core/registry/evidence/make.ts'
import type { LogAppend } from '../../../../core/ports/index.ts'
import { firstEventOf } from '../../../../core/store/evidence.ts'
import { keys } from '../../../../core/store/keys.ts'
import { decodeRecord } from '../../../../core/store/codec.ts'
import { withPosition } from '../../../../core/store/commit-plan.ts'
import type { EvidenceRecord } from '../../../../core/store/records.ts'

/** Each kind of event with its log entry, the hash of its opening, and what its payload has behind the opening. */

const ORIGIN = `log.example/demo/${'0f'.repeat(16)}`
const ID = '0192f1a0-7c3e-7abc-8def-0123456789ab' as EvidenceId
const COMPANY = 'acme' as CompanyId

const file = (id: string, mimeType: string): StagedFile => ({
  id: id as FileId,
  name: `Bild "${id}" ü.png`,
  mimeType,
  title: 'Bild',
  size: 12,
  sha256: 'ab'.repeat(32),
})

const FILES = [file('f-1', 'image/png'), file('f-2', 'text/plain')] as const
const bytes = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const SECRETS = { slotKey: bytes(0x11), seed: bytes(0x22) }

function create(input: { readonly externalId: string; readonly name: string }, files: readonly StagedFile[]) {
  const [categoryId, subcategoryId] = ['c-1' as CategoryId, 's-1' as CategoryId]
  const target = { origin: ORIGIN, hash: String, actor: 'a-1', companyId: COMPANY, categoryId, subcategoryId }
  return makeEvidence({ ...target, files: { image: files[0], files } }, { id: ID, input }, SECRETS)
}

const PLAIN = { externalId: 'e-1', name: 'Drill' }
const FULL = {
  externalId: 'e "1"/ü\u2028',
  name: 'Bohrer \\ \u{1F600}\n',
  owner: 'Ada Lovelace',
  description: 'x'.repeat(5_000),
  summary: 'größer',
  meta: { b: [1, 2.5, { z: null, a: true }], a: { 10: 'ten', 9: 'nine' }, 'ü"': '\t', n: 1e21 },
}

/** The evidence with all fields and files. */
function created(): EvidenceRecord {
  const { writes } = create(FULL, FILES)
  const key = keys.evidence(COMPANY, ID)
  const value = writes.find((write) => write.key === key)?.value
  return decodeRecord<EvidenceRecord>({ key, value: withPosition(value ?? assert.fail('there is no record'), 1) })
}

type Given = Omit<EventStep, 'state' | 'files'> & Partial<Pick<EventStep, 'files'>>

const { image: _, ...withoutImage } = created()

/** Appends an event to the evidence with all fields. */
function append(given: Given, before = created()): LogAppend {
  const step: EventStep = { files: {}, state: before, seed: bytes(0x33), ...given }
  const appended = appendEvents(
    { origin: ORIGIN, hash: String, actor: 'a-1', attempt: { now: before.createdAt + 1, conflicts: [] } },
    before,
    [step],
  )
  return appended.append[0] ?? assert.fail('there is no event')
}

const texts = { updateDescription: 'neu', personaName: 'Ada', eventDescription: '"' }
const update = (updateType: EventStep['updateType'], fields: Given['fields']): Given => ({
  type: 'update',
  ...(updateType && { updateType }),
  fields,
})

const KINDS: Readonly<Record<string, () => LogAppend>> = {
  'create with few fields': () => create(PLAIN, []).append,
  'create with all fields': () => create(FULL, FILES).append,
  change: () => append(update('change', { name: 'Säge', description: '', meta: {}, ...texts })),
  custom: () => append(update('custom', texts)),
  repair: () => append(update('repair', {})),
  stolen: () => append(update('stolen', { status: 'stolen' })),
  transfer: () => append({ type: 'transfer', fields: { owner: 'Grace' } }, { ...created(), owner: 'Grace' }),
  addfile: () => append({ ...update('addfile', {}), files: { 'f-3': file('f-3', 'a/b') } }),
  deletefile: () =>
    append(
      { ...update('deletefile', {}), files: { 'f-1': { id: 'f-1', deleted: created().txId } } },
      { ...withoutImage, fileCount: 1 },
    ),
}

/** As store format 6 had them. What is hashed never changes. */
const RECORDED: Readonly<Record<string, readonly [entry: string, rest: string]>> = {
  'create with few fields': [
    '25d846d4b35d08d5c6e0297af56c567d6cec682b9b53af9046473e4f9c85fd4e',
    '0192f1a07c3e7abc8def0123456789ab00000000000000010061636d65',
  ],
  'create with all fields': [
    '29bd7a00ede280ac19355219c32d3c322bcf6c1989c177d1f97c9036f5a54292',
    '0192f1a07c3e7abc8def0123456789ab00000000000000010061636d65',
  ],
  change: [
    'c7be9db3291ab11604d9fd505958645f2514b2ee8253368f3bcad50609c0ce33',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020561636d65',
  ],
  custom: [
    '64a47fde26c22501233d306064aad73188c9e3d37c0caaea23f5556e136d5227',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020461636d65',
  ],
  repair: [
    '9e959c1c40183965bc8b27df8c80f73f57b3ee28519693f5579d9de3cbe6772c',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020361636d65',
  ],
  stolen: [
    'ac67f380df6351d4978a151fdc5ded26434286fa634425ec424437e7a4cea67c',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020261636d65',
  ],
  transfer: [
    'f43a358ade17d2e841ab607491e964c143c462ea2f66a6c9c76ef59958fb4bc9',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020161636d65',
  ],
  addfile: [
    'c9dbc4b4819d321dc3bf5b46a300a4b8584f1f6b12cb1b397dbcea257ac2582c',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020661636d65',
  ],
  deletefile: [
    '1fdc0ee9f71b81c226ff1bae0c0192c6352ac42b1c34446bb308f33bd37c7e91',
    '0192f1a07c3e7abc8def0123456789ab00000000000000020761636d65',
  ],
}

describe('the bytes of an event', () => {
  for (const [kind, make] of Object.entries(KINDS))
    it(`are those of store format 6: ${kind}`, () => {
      const { entry, payload } = make()
      assert.deepEqual(entry, sha256(payload.subarray(0, 120)))
      assert.deepEqual([toHex(entry), toHex(payload.subarray(120))], RECORDED[kind])
    })

  it('stay the same when fields and files are erased', () => {
    const event = firstEventOf(created())
    const source = { origin: ORIGIN, slotKey: created().slotKey }
    const disclosure = discloseEvent(event, source)
    const erased = eraseParts(eraseParts(event, { fields: ['owner'], files: ['f-1'] }), { fields: ['meta'], files: [] })
    const { files, fields, ...opened } = discloseEvent(erased, source)
    const { owner, meta } = disclosure.fields
    assert.deepEqual([fields['owner'], fields['meta'], files['f-1']], [undefined, undefined, undefined])
    const all = { fields: { ...fields, owner, meta }, files: { ...files, 'f-1': disclosure.files['f-1'] } }
    assert.deepEqual({ ...opened, ...all }, disclosure)
    assert.throws(() => eraseParts(erased, { fields: ['owner'], files: [] }), { code: 'CORRUPT' })
  })
})

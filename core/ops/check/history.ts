import { toHex } from '../../bytes.ts'
import { canonicalJson, type Json } from '../../commitment/canonical-json.ts'
import { slotHash, type EventFile } from '../../commitment/event-format.ts'
import type { Key } from '../../ports/index.ts'
import { HistoryCheck } from '../../verify/history.ts'
import type { Check } from './check.ts'
import { storedBase64 } from '../../store/codec.ts'
import { CURRENT_FIELDS, firstEventOf, slotKeyField } from '../../store/evidence.ts'
import { keys } from '../../store/keys.ts'
import { readAll } from '../../store/read.ts'
import type { DeletedFileRecord, ErasedHashes, EventRecord, EvidenceRecord, FileRecord } from '../../store/records.ts'

/** An event with the evidence that it belongs to, and the keys of their records. */
export interface EventOfEvidence {
  /** Version 1 is in the record of its evidence. */
  readonly key: Key
  readonly event: EventRecord
  readonly evidenceKey: Key
  readonly evidence: EvidenceRecord
}

/** Compares each evidence's record with its history. Takes the events in the order of the keys of their records. */
export class HistoriesCheck {
  readonly #check: Check
  /** Of the evidence whose later events come at present. */
  #history: History | undefined

  constructor(check: Check) {
    this.#check = check
  }

  async add(one: EventOfEvidence): Promise<void> {
    const { key, evidenceKey, evidence } = one
    if (key === evidenceKey) {
      // With later events, the history is compared when they come. That the last one is there was checked.
      if (evidence.lastVersion === 1) (await this.#begin(evidenceKey, evidence)).finish()
      return
    }
    if (this.#history?.evidenceKey !== evidenceKey) {
      this.finish()
      this.#history = await this.#begin(evidenceKey, evidence)
    }
    await this.#history.add(key, one.event)
  }

  finish(): void {
    this.#history?.finish()
    this.#history = undefined
  }

  async #begin(key: Key, evidence: EvidenceRecord): Promise<History> {
    const history = new History(this.#check, key, evidence)
    const first = this.#check.guard('event', key, () => firstEventOf(evidence))
    if (first !== undefined) await history.add(key, first)
    return history
  }
}

/** The `ownerName` of an event of an evidence without an owner. */
const NO_OWNER = ''
/** All txIds are computed with the log's origin, so no event is compared with that of another one. */
const SAME_LOG = ''
const NOTHING: ErasedHashes = { fields: {}, files: {} }

/** The events of an evidence that were added so far, and what they result in. */
class History {
  readonly evidenceKey: Key
  readonly #check: Check
  readonly #evidence: EvidenceRecord
  readonly #rules = new HistoryCheck()
  readonly #changes = { create: 0, update: 0, transfer: 0 }
  /** The last value of each field. */
  readonly #values = new Map<string, Json>()
  /** The fields whose last value was erased, and when. */
  readonly #erased = new Map<string, number>()
  /** How many files were erased without an event that deletes them. */
  #erasedFiles = 0
  #stolenAt: number | undefined
  #first: EventRecord | undefined
  #last: EventRecord | undefined

  constructor(check: Check, evidenceKey: Key, evidence: EvidenceRecord) {
    this.#check = check
    this.evidenceKey = evidenceKey
    this.#evidence = evidence
  }

  /** Adds an event, and reports it if it does not follow. */
  async add(key: Key, event: EventRecord): Promise<void> {
    await this.#checkFiles(event)
    this.#check.guard('event', key, () => this.#addEvent(key, event))
  }

  #addEvent(key: Key, event: EventRecord): void {
    const { id, company, slotKey } = this.#evidence
    const { txId, time, version, first, prev, fields, files, erased } = event
    const expect = (holds: boolean, message: string): void => this.#check.expect(holds, 'event', key, message)
    expect(key === keys.event(company, id, version), 'It is stored under another version')
    this.#setValues(event)
    this.#stolenAt = this.#values.get('status') === 'stolen' ? (this.#stolenAt ?? time) : undefined
    expect(canonicalJson(fields['action']) === actionOf(event), 'Its type is not the type that it commits to')
    expect(event.ownerName === (this.#values.get('owner') ?? NO_OWNER), 'Its owner is not the owner in its history')
    this.#first ??= event
    this.#last = event
    this.#changes[event.type] += 1
    this.#rules.add({
      txId,
      time,
      version,
      first,
      prev,
      log: SAME_LOG,
      slot: toHex(slotHash(storedBase64(slotKey, 'A slot key'), version)),
      fields: { get: (name) => fields[name] },
      files: new Map(Object.entries(files)),
      hiddenFiles: Object.keys(erased?.files ?? {}),
    })
  }

  /** An erased text is empty, an erased external id the internal one. An erased image is none. */
  #setValues({ fields, erased = NOTHING }: EventRecord): void {
    const { id } = this.#evidence
    for (const name in fields) {
      this.#values.set(name, fields[name] ?? null)
      if (name !== 'externalId') this.#erased.delete(name)
    }
    for (const name in erased.fields) {
      this.#values.set(name, name === 'externalId' ? id : '')
      if (CURRENT_FIELDS.includes(name)) this.#erased.set(name, erased.at?.[name] ?? 0)
    }
    for (const file in erased.files) {
      if (erased.at?.[file] !== undefined) this.#erasedFiles += 1
      if (this.#values.get('imageId') === file) this.#values.delete('imageId')
    }
  }

  /** Compares the files of an event with their records. */
  async #checkFiles(event: EventRecord): Promise<void> {
    const ids = [...new Set([...Object.keys(event.files), ...Object.keys(event.erased?.files ?? {})])]
    if (ids.length === 0) return
    const files = await readAll(this.#check.records, ids.map(keys.file))
    for (const [i, id] of ids.entries()) {
      const file = this.#check.decode('file', files[i])
      if (files[i] === undefined) this.#check.report('file', keys.file(id), 'The record of this file is missing')
      if (file === undefined) continue
      const inEvent = Object.hasOwn(event.erased?.files ?? {}, id) ? undefined : event.files[id]
      const isSame = this.#check.guard('file', keys.file(id), () => isFileOf(this.#evidence, event, file, inEvent))
      if (isSame === false)
        this.#check.report(
          'file',
          keys.file(id),
          `It does not agree with version ${event.version} of ${this.#evidence.id}`,
        )
      if (inEvent !== undefined && 'deleted' in inEvent && this.#values.get('imageId') === id)
        this.#values.delete('imageId')
    }
  }

  /** Reports every member of the evidence's record that is not the result of its history. */
  finish(): void {
    this.#check.guard('evidence', this.evidenceKey, () => {
      const evidence = this.#evidence
      // An event that cleared meta has the empty object, as one that set it to the empty object.
      const meta = this.#values.get('meta')
      const expected = this.#expectedRecord(hasMembers(meta) ? meta : evidence.meta && {})
      for (const name in expected) {
        if (isSameValue(memberOf(evidence, name), expected[name])) continue
        this.#check.report('evidence', this.evidenceKey, `Its ${name} is not the result of its history`)
      }
    })
  }

  #expectedRecord(meta: Json | undefined): Readonly<Record<string, unknown>> {
    const valueOf = (name: string): Json | undefined => this.#values.get(name)
    const unlessEmpty = (name: string): Json | undefined => (valueOf(name) === '' ? undefined : valueOf(name))
    return {
      id: valueOf('evidence'),
      company: valueOf('company'),
      externalId: valueOf('externalId'),
      categoryId: valueOf('categoryId'),
      subcategoryId: valueOf('subcategoryId'),
      name: valueOf('name'),
      stolen: valueOf('status') === 'stolen',
      stolenAt: this.#stolenAt,
      description: unlessEmpty('description'),
      summary: unlessEmpty('summary'),
      owner: unlessEmpty('owner'),
      imageId: valueOf('imageId'),
      createdAt: this.#first?.time,
      txId: this.#first?.txId,
      lastVersion: this.#last?.version,
      lastTxId: this.#last?.txId,
      lastAt: this.#last?.time,
      changes: this.#changes,
      slotKey: valueOf('slotKey'),
      fileCount: this.#rules.attachedFiles - this.#erasedFiles,
      erased: this.#erased.size === 0 ? undefined : Object.fromEntries(this.#erased),
      meta,
    }
  }
}

const actionOf = ({ type, updateType }: EventRecord): string =>
  canonicalJson({ type, ...(updateType !== undefined && { updateType }) })

/** Whether a file's record agrees with its entry in an event; `undefined` if that was erased. */
function isFileOf(
  evidence: EvidenceRecord,
  event: EventRecord,
  file: FileRecord | DeletedFileRecord,
  inEvent: EventFile | undefined,
): boolean {
  if (inEvent !== undefined && 'deleted' in inEvent)
    return 'deletion' in file && file.deletion.version === event.version
  const isAttached =
    file.company === evidence.company &&
    file.ownerKind === 'evidence' &&
    file.ownerId === evidence.id &&
    file.version === event.version
  if (inEvent === undefined || 'deletion' in file) return isAttached && inEvent === undefined && 'deletion' in file
  const { id, mimeType, name, sha256, size } = file
  return isAttached && canonicalJson({ id, mimeType, name, sha256, size }) === canonicalJson(inEvent)
}

/** A member of an evidence's record, in the form in which events have it. */
function memberOf(evidence: EvidenceRecord, name: string): unknown {
  if (name === 'slotKey') return slotKeyField(evidence.slotKey)
  // An image without an id is not the result of any history.
  if (name === 'imageId') return evidence.image && (evidence.image.id ?? null)
  return Reflect.get(evidence, name)
}

const hasMembers = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b))

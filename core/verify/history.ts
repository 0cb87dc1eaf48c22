import type { Json } from '../commitment/canonical-json.ts'
import type { DeletedFile, EventFile } from '../commitment/event-format.ts'
import { verificationError } from '../errors.ts'
import { assertSlot, verifyFiles, verifyVersion, type VerifiedEvent } from './event.ts'
import type { ShownBundle, ShownBundleEvent, ShownSubject } from './shown.ts'
import { asHash, asString } from './untrusted.ts'

/** What one event of a bundle commits to, as far as the bundle discloses it. */
export interface VerifiedBundleEvent {
  readonly shown: ShownBundleEvent
  /** Hex. */
  readonly txId: string
  /** ms since 1970, from the registry's clock. */
  readonly time: number
  /** With what the header commits to. `undefined` in a bundle that was made without a key. */
  readonly header: VerifiedEvent | undefined
  /** The disclosed files by id; `undefined` if not even the map of files is disclosed. */
  readonly files: ReadonlyMap<string, EventFile> | undefined
  /** Ids of files that the event holds but that are not disclosed. */
  readonly hiddenFiles: readonly string[]
}

/** Verifies each event by itself, and that they belong together. Throws `VERIFICATION_FAILED`. */
export function verifyEvents({ events, subject, origin }: ShownBundle): readonly VerifiedBundleEvent[] {
  const verified = events.map((shown) => verifyBundleEvent(shown, origin))
  verifySameSubject(verified, subject)
  return verified
}

function verifyBundleEvent(shown: ShownBundleEvent, origin: string): VerifiedBundleEvent {
  const event = { shown, txId: shown.txId, time: shown.opening.time }
  if (shown.header !== undefined || shown.fields !== undefined) {
    const header = verifyVersion(shown, origin)
    return { ...event, header, files: header.files, hiddenFiles: header.hiddenFiles }
  }
  if (shown.filesMap !== undefined || shown.files !== undefined)
    return { ...event, header: undefined, ...verifyFiles(shown) }
  return { ...event, header: undefined, files: undefined, hiddenFiles: [] }
}

/**
 * The events are one history from version 1 on without a gap or, without headers, the subject and the deletion of its
 * file.
 */
function verifySameSubject(events: readonly VerifiedBundleEvent[], subject: ShownSubject): void {
  const at = events.findIndex(({ txId }) => txId === subject.txId)
  if (at < 0 || (at > 0 && subject.type === 'evidence'))
    throw verificationError('subject.missing', 'The bundle does not have the event of its subject')
  const versions = events.flatMap(({ header }) => header ?? [])
  if (versions.length > 0 && versions.length < events.length)
    throw verificationError('history.headers-mixed', 'Either every event of a bundle has its header, or none')
  if (versions.length === 0) assertDeletion(events, subject)
  const history = new HistoryCheck()
  for (const version of versions) history.add(version)
}

/** Without headers: the subject first, then at most the deletion of its file. */
function assertDeletion([main, ...others]: readonly VerifiedBundleEvent[], subject: ShownSubject): void {
  const isDeletion = (event: VerifiedBundleEvent): boolean =>
    subject.type === 'file' && deletionIn(event, subject.fileId)?.deleted === subject.txId
  if (main?.txId !== subject.txId || others.length > 1 || !others.every(isDeletion))
    throw verificationError('subject.other-event', 'Without headers, only the deletion of the file may follow')
}

/** The disclosed deletion of a file in an event. */
export function deletionIn({ files }: Pick<VerifiedBundleEvent, 'files'>, fileId: string): DeletedFile | undefined {
  const file = files?.get(fileId)
  return file !== undefined && 'deleted' in file ? file : undefined
}

export const holdsFile = ({ files, hiddenFiles }: VerifiedBundleEvent, fileId: string): boolean =>
  files?.has(fileId) === true || hiddenFiles.includes(fileId)

/** Fields that must have the same value in all versions. */
const CONSTANT_FIELDS = ['company', 'evidence', 'externalId'] as const

/** What the rules of a history are about. */
export interface CheckedEvent extends Omit<VerifiedEvent, 'fields' | 'hiddenFields'> {
  /** The disclosed fields, by name. */
  readonly fields: { get(name: string): Json | undefined }
}

/**
 * Verifies that events are one history, one after the other, from version 1 on without a gap. What an event does not
 * disclose cannot be compared.
 */
export class HistoryCheck {
  #first: CheckedEvent | undefined
  #previous: CheckedEvent | undefined
  readonly #constants = new Map<string, string>()
  /** By file id, the txId of the event that attached the file. */
  readonly #attached = new Map<string, string>()
  readonly #deleted = new Set<string>()

  /** How many of the files were not deleted. */
  get attachedFiles(): number {
    return this.#attached.size - this.#deleted.size
  }

  /** Throws `VERIFICATION_FAILED`. The next event is compared with this one also then. */
  add(event: CheckedEvent): void {
    const previous = this.#previous
    const first = (this.#first ??= event)
    this.#previous = event
    const { version } = event
    const expected = (previous?.version ?? 0) + 1
    if (version !== expected)
      throw verificationError('history.version-gap', `Expected version ${expected}, not ${version}`)
    if (version > 1 && event.first !== first.txId)
      throw verificationError('history.first-differs', `Version ${version} belongs to another history`)
    if (version > 1 && event.prev !== previous?.txId)
      throw verificationError('history.prev-differs', `Version ${version} does not link to the previous version`)
    if (event.log !== first.log) throw verificationError('event.other-log', `Version ${version} belongs to another log`)
    if (event.time < (previous?.time ?? 0))
      throw verificationError('history.time-decreases', `Version ${version} is older than the previous version`)
    const slotKey = first.fields.get('slotKey')
    if (slotKey !== undefined) assertSlot(event, asHash(slotKey, 'The slot key of version 1'))
    for (const name of CONSTANT_FIELDS) this.#assertConstant(name, event.fields.get(name), version)
    this.#addFiles(event)
  }

  /** A field that several versions disclose must have one value. */
  #assertConstant(name: string, value: Json | undefined, version: number): void {
    if (value === undefined) return
    const text = asString(value, `The ${name} of version ${version}`)
    const earlier = this.#constants.get(name) ?? text
    if (earlier !== text) throw verificationError('history.field-changes', `Version ${version} has another ${name}`)
    this.#constants.set(name, text)
  }

  /**
   * An event that deletes a file must name the event that attached it, and no file is deleted twice. A deletion holds
   * the file's id too, so only the first event with the id attached it.
   */
  #addFiles({ txId, version, files, hiddenFiles }: CheckedEvent): void {
    for (const [id, file] of files) {
      if (!('deleted' in file)) continue
      if (this.#attached.get(id) !== file.deleted)
        throw verificationError('history.never-attached', `Version ${version} deletes ${id}, which was not attached so`)
      if (this.#deleted.has(id))
        throw verificationError('history.deleted-twice', `Version ${version} deletes ${id} again`)
      this.#deleted.add(id)
    }
    for (const id of [...files.keys(), ...hiddenFiles]) if (!this.#attached.has(id)) this.#attached.set(id, txId)
  }
}

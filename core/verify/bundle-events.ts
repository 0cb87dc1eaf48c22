import type { DeletedFile, EventFile } from '../commitment/event-format.ts'
import { verificationError } from '../errors.ts'
import type { ShownBundle, ShownBundleEvent, ShownSubject } from './bundle-document.ts'
import { openingOf, verifyFiles, verifyVersion, type VerifiedEvent, assertSlot } from './event.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { asHash, asString } from './untrusted.ts'

/** What one event of a bundle commits to, as far as the bundle discloses it. */
export interface CommittedEvent {
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
export function verifyEvents({ events, subject, origin }: ShownBundle): readonly CommittedEvent[] {
  const committed = events.map((shown) => verifyBundleEvent(shown, origin))
  verifySameSubject(committed, subject)
  return committed
}

function verifyBundleEvent(shown: ShownBundleEvent, origin: string): CommittedEvent {
  const opening = openingOf(shown)
  const event = { shown, txId: shown.txId, time: opening.time }
  if (shown.header !== undefined) {
    const header = verifyVersion(shown, origin)
    return { ...event, header, files: header.files, hiddenFiles: header.hiddenFiles }
  }
  if (shown.fields !== undefined) throw verificationError('An event discloses fields without its header')
  if (shown.filesMap !== undefined) return { ...event, header: undefined, ...verifyFiles(shown, opening) }
  if (shown.files !== undefined) throw verificationError('An event discloses files without its map of files')
  return { ...event, header: undefined, files: undefined, hiddenFiles: [] }
}

/**
 * The events are one history from version 1 on without a gap or, without headers, the subject and the deletion of its
 * file.
 */
function verifySameSubject(events: readonly CommittedEvent[], subject: ShownSubject): void {
  const [first] = events
  if (first === undefined) throw verificationError('The bundle has no event')
  const main = subject.type === 'evidence' ? first : events.find(({ txId }) => txId === subject.txId)
  if (main?.txId !== subject.txId) throw verificationError('The subject of the bundle is not one of its events')
  const versions = events.flatMap(({ header }) => header ?? [])
  if (versions.length > 0 && versions.length < events.length)
    throw verificationError('Either every event of a bundle has its header, or none')
  if (versions.length === 0) assertDeletion(events, subject)
  const history = new HistoryCheck()
  for (const version of versions) history.add(version)
}

/** Without headers: the subject first, then at most the deletion of its file. */
function assertDeletion([main, ...others]: readonly CommittedEvent[], subject: ShownSubject): void {
  if (main?.txId !== subject.txId || others.length > 1)
    throw verificationError('Without headers, a bundle has its subject and at most the deletion of its file')
  for (const event of others)
    if (subject.type !== 'file' || deletionIn(event, subject.fileId)?.deleted !== subject.txId)
      throw verificationError('The second event of the bundle does not delete the file of its subject')
}

/** The disclosed deletion of a file in an event. */
export function deletionIn({ files }: Pick<CommittedEvent, 'files'>, fileId: string): DeletedFile | undefined {
  const file = files?.get(fileId)
  return file !== undefined && 'deleted' in file ? file : undefined
}

export const holdsFile = ({ files, hiddenFiles }: CommittedEvent, fileId: string): boolean =>
  files?.has(fileId) === true || hiddenFiles.includes(fileId)

/** Fields that must have the same value in all versions. */
const CONSTANT_FIELDS = ['company', 'evidence', 'externalId'] as const

/**
 * Verifies that events are one history, one after the other, from version 1 on without a gap. What an event does not
 * disclose cannot be compared.
 */
export class HistoryCheck {
  #first: VerifiedEvent | undefined
  #previous: VerifiedEvent | undefined
  readonly #constants = new Map<string, string>()
  /** By file id, the txId of the event that attached the file. */
  readonly #attached = new Map<string, string>()
  readonly #deleted = new Set<string>()

  /** Throws `VERIFICATION_FAILED`. */
  add(event: VerifiedEvent): void {
    const previous = this.#previous
    const first = (this.#first ??= event)
    const { version } = event
    const expected = (previous?.version ?? 0) + 1
    if (version !== expected) throw verificationError(`Expected version ${expected}, got version ${version}`)
    if (version > 1 && event.first !== first.txId)
      throw verificationError(`Version ${version} belongs to another history`)
    if (version > 1 && event.prev !== previous?.txId)
      throw verificationError(`Version ${version} does not link to the previous version`)
    if (event.log !== first.log) throw verificationError(`Version ${version} belongs to another log`)
    if (event.time < (previous?.time ?? 0))
      throw verificationError(`Version ${version} is older than the previous version`)
    const slotKey = first.fields.get('slotKey')
    if (slotKey !== undefined) assertSlot(event, asHash(slotKey, 'The slot key of version 1'))
    for (const name of CONSTANT_FIELDS) this.#assertConstant(name, event.fields.get(name), version)
    this.#addFiles(event)
    this.#previous = event
  }

  /** A field that several versions disclose must have one value. */
  #assertConstant(name: string, value: Json | undefined, version: number): void {
    if (value === undefined) return
    const text = asString(value, `The ${name} of version ${version}`)
    const earlier = this.#constants.get(name) ?? text
    if (earlier !== text) throw verificationError(`Version ${version} has another ${name}`)
    this.#constants.set(name, text)
  }

  /**
   * An event that deletes a file must name the event that attached it, and no file is deleted twice. A deletion holds
   * the file's id too, so only the first event with the id attached it.
   */
  #addFiles({ txId, version, files, hiddenFiles }: VerifiedEvent): void {
    for (const [id, file] of files) {
      if (!('deleted' in file)) continue
      if (this.#attached.get(id) !== file.deleted)
        throw verificationError(
          `Version ${version} deletes the file ${id}, but the event that it names did not attach it`,
        )
      if (this.#deleted.has(id)) throw verificationError(`Version ${version} deletes the file ${id} a second time`)
      this.#deleted.add(id)
    }
    for (const id of [...files.keys(), ...hiddenFiles]) if (!this.#attached.has(id)) this.#attached.set(id, txId)
  }
}

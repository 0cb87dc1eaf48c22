import type { BundleSubject } from '../api/bundle.ts'
import { equalBytes, toHex } from '../bytes.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { fileHash, slotHash, txIdOf, type AttachedFile } from '../commitment/event-format.ts'
import type { DeletedFile } from '../store/records.ts'
import type { ShownBundleEvent } from './bundle-document.ts'
import { parseFileText, verifyEvent, verifyFilesMap, verifyOpening, type VerifiedEvent } from './event.ts'
import { verificationError } from '../errors.ts'
import { asHash, asObject, asString } from './untrusted.ts'

/** What one event of a bundle commits to, as far as the bundle discloses it. */
export interface CommittedEvent {
  /** Hex. */
  readonly txId: string
  /** ms since 1970, from the registry's clock. */
  readonly time: number
  /** Hex. */
  readonly slot: string
  /** From the header. `undefined` in a bundle that was made without a key. */
  readonly header: Pick<VerifiedEvent, 'log' | 'version' | 'first' | 'prev' | 'fields' | 'erasedFields'> | undefined
  /** The disclosed files by id; `undefined` if not even the map of files is disclosed. */
  readonly files: ReadonlyMap<string, AttachedFile | DeletedFile> | undefined
  /** Ids of files that the event holds but that are not disclosed. */
  readonly hiddenFiles: readonly string[]
}

/** Verifies each event by itself. Throws `VERIFICATION_FAILED`. */
export function verifyBundleEvent({ opening, members }: ShownBundleEvent, origin: string): CommittedEvent {
  const txId = toHex(txIdOf(opening))
  const { time, slot } = verifyOpening(members['opening'], txId)
  const event = { txId, time, slot: toHex(slot) }
  if (members['header'] !== undefined) return { ...event, ...withHeader(members, txId, origin) }
  if (members['fields'] !== undefined) throw verificationError('An event discloses fields without its header')
  return { ...event, header: undefined, ...filesOf(members, txId) }
}

function withHeader(
  members: ShownBundleEvent['members'],
  txId: string,
  origin: string,
): Pick<CommittedEvent, 'header' | 'files' | 'hiddenFiles'> {
  const { opening, header, filesText, filesSalt, fields = {}, files = {} } = members
  const event = verifyEvent({ opening, header, filesText, filesSalt, fields, files }, { txId, origin })
  return { header: event, files: event.files, hiddenFiles: event.erasedFiles }
}

function filesOf(members: ShownBundleEvent['members'], txId: string): Pick<CommittedEvent, 'files' | 'hiddenFiles'> {
  const { opening, filesText, filesSalt, files = {} } = members
  if (filesText === undefined && filesSalt === undefined) {
    if (members['files'] !== undefined) throw verificationError('An event discloses files without its map of files')
    return { files: undefined, hiddenFiles: [] }
  }
  const hashes = verifyFilesMap(filesText, filesSalt, verifyOpening(opening, txId))
  const disclosed = Object.entries(asObject(files, 'files')).map(([id, value]) => {
    const { text, salt } = asObject(value, `The file ${id}`)
    const exactText = asString(text, `The text of the file ${id}`)
    const committed = hashes.get(id)
    const hash = fileHash(asHash(salt, `The salt of the file ${id}`), exactText)
    if (committed === undefined || !equalBytes(hash, committed))
      throw verificationError(`The event does not commit to the disclosed file ${id}`)
    return [id, parseFileText(exactText, id)] as const
  })
  const verified = new Map(disclosed)
  return { files: verified, hiddenFiles: [...hashes.keys()].filter((id) => !verified.has(id)) }
}

/**
 * Verifies that the events belong together: they are one history from version 1 on without a gap or, without headers,
 * the subject and the deletion of its file. Throws `VERIFICATION_FAILED`.
 */
export function verifySameSubject(events: readonly CommittedEvent[], subject: BundleSubject): void {
  const [first] = events
  if (first === undefined) throw verificationError('The bundle has no event')
  const main = subject.type === 'evidence' ? first : events.find(({ txId }) => txId === subject.txId)
  if (main?.txId !== subject.txId) throw verificationError('The subject of the bundle is not one of its events')
  const headers = events.filter(({ header }) => header !== undefined).length
  if (headers > 0 && headers < events.length)
    throw verificationError('Either every event of a bundle has its header, or none')
  if (headers === 0) assertDeletion(events, subject)
  else {
    const history = new HistoryCheck()
    for (const event of events) history.add(event)
  }
}

/** Without headers: the subject first, then at most the deletion of its file. */
function assertDeletion([main, ...others]: readonly CommittedEvent[], subject: BundleSubject): void {
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

/** Verifies the events of a history one after the other. */
class HistoryCheck {
  #first: CommittedEvent | undefined
  #previous: CommittedEvent | undefined
  #version = 0
  readonly #constants = new Map<string, Json>()
  /** By file id, the txId of the event that attached the file. */
  readonly #attached = new Map<string, string>()
  readonly #deleted = new Set<string>()

  /** Throws `VERIFICATION_FAILED`. */
  add(event: CommittedEvent): void {
    const { header, time, files, hiddenFiles } = event
    this.#first ??= event
    this.#version += 1
    const version = this.#version
    if (header?.version !== version)
      throw verificationError(`Expected version ${version} of the history, got version ${header?.version}`)
    if (version > 1 && (header.first !== this.#first.txId || header.prev !== this.#previous?.txId))
      throw verificationError(`Version ${version} does not link to the versions before it`)
    if (time < (this.#previous?.time ?? 0))
      throw verificationError(`Version ${version} is older than the version before it`)
    this.#assertSlot(event, version)
    for (const name of CONSTANT_FIELDS) this.#assertConstant(name, header.fields.get(name))
    for (const [id, file] of files ?? []) if ('deleted' in file) this.#assertDeletes(id, file.deleted)
    for (const id of [...(files?.keys() ?? []), ...hiddenFiles])
      if (!this.#attached.has(id)) this.#attached.set(id, event.txId)
    this.#previous = event
  }

  #assertSlot({ slot }: CommittedEvent, version: number): void {
    const slotKey = this.#first?.header?.fields.get('slotKey')
    if (slotKey === undefined) return
    if (toHex(slotHash(asHash(slotKey, 'The slot key'), version)) !== slot)
      throw verificationError(`The slot of version ${version} is not derived from the history's slot key`)
  }

  /** A field that several versions disclose must have one value. */
  #assertConstant(name: string, value: Json | undefined): void {
    if (value === undefined) return
    const earlier = this.#constants.get(name) ?? value
    if (earlier !== value)
      throw verificationError(`Version ${this.#version} has another ${name} than the versions before it`)
    this.#constants.set(name, value)
  }

  /** The first event with the file's id attached it, and no event deletes it twice. */
  #assertDeletes(id: string, attachedBy: string): void {
    if (this.#attached.get(id) !== attachedBy)
      throw verificationError(`Version ${this.#version} deletes the file ${id}, which that event did not attach`)
    if (this.#deleted.has(id)) throw verificationError(`Version ${this.#version} deletes the file ${id} a second time`)
    this.#deleted.add(id)
  }
}

import type { DeletedFile, EventFile } from '../commitment/event-format.ts'
import { verificationError } from '../errors.ts'
import type { ShownBundle, ShownBundleEvent, ShownSubject } from './bundle-document.ts'
import { openingOf, verifyFiles, verifyVersion, type VerifiedEvent } from './event.ts'
import { HistoryCheck } from './history-check.ts'

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

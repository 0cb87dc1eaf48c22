import { toHex } from '../bytes.ts'
import { txIdOf, type DeletedFile, type EventFile, type Opening } from '../commitment/event-format.ts'
import type { ShownBundleEvent, ShownSubject } from './bundle-document.ts'
import { verifyEvent, verifyFiles, verifyOpening, type VerifiedEvent } from './event.ts'
import { verificationError } from '../errors.ts'
import { HistoryCheck } from './history-check.ts'

/** What one event of a bundle commits to, as far as the bundle discloses it. */
export interface CommittedEvent {
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

/** Verifies each event by itself. Throws `VERIFICATION_FAILED`. */
export function verifyBundleEvent({ opening, members }: ShownBundleEvent, origin: string): CommittedEvent {
  const txId = toHex(txIdOf(opening))
  const parsed = verifyOpening(members['opening'], txId)
  const event = { txId, time: parsed.time }
  if (members['header'] !== undefined) return { ...event, ...withHeader(members, txId, origin) }
  if (members['fields'] !== undefined) throw verificationError('An event discloses fields without its header')
  return { ...event, header: undefined, ...filesOf(members, parsed) }
}

function withHeader(
  members: ShownBundleEvent['members'],
  txId: string,
  origin: string,
): Pick<CommittedEvent, 'header' | 'files' | 'hiddenFiles'> {
  const { opening, header, filesText, filesSalt, fields = {}, files = {} } = members
  const event = verifyEvent({ opening, header, filesText, filesSalt, fields, files }, { txId, origin })
  return { header: event, files: event.files, hiddenFiles: event.hiddenFiles }
}

function filesOf(
  members: ShownBundleEvent['members'],
  opening: Opening,
): Pick<CommittedEvent, 'files' | 'hiddenFiles'> {
  const { filesText, filesSalt, files: disclosed } = members
  if (filesText === undefined && filesSalt === undefined) {
    if (disclosed !== undefined) throw verificationError('An event discloses files without its map of files')
    return { files: undefined, hiddenFiles: [] }
  }
  return verifyFiles({ filesText, filesSalt, files: disclosed ?? {} }, opening)
}

/**
 * Verifies that the events belong together: they are one history from version 1 on without a gap or, without headers,
 * the subject and the deletion of its file. Throws `VERIFICATION_FAILED`.
 */
export function verifySameSubject(events: readonly CommittedEvent[], subject: ShownSubject): void {
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

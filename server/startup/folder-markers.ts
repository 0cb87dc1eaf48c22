import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from '#typebox'
import { ifExists, writePrivateFile } from '../../adapters/files/index.ts'
import { RegistryError } from '../../core/index.ts'
import { readShape } from '../../core/schemas/index.ts'
import { exists } from './existing.ts'

/**
 * Each folder of a data directory has a file that names its registry, and the data directory has one that lists these
 * folders. So a folder that is lost or replaced is noticed before anything is written. An example is a volume that is
 * not mounted.
 */
const MARKER = 'registry.json'

/** A folder that may be a volume of its own. */
export type MarkedFolder = 'blobs' | 'tsa' | 'ledger'

const Marker = Type.Object({
  /** The log's origin. */
  origin: Type.String(),
  /** In the marker of a blob store: its own name, by which shared records know it. */
  id: Type.Optional(Type.String()),
  /** In the data directory itself: the folders that have a marker, and `records` if the records are there. */
  folders: Type.Optional(Type.Array(Type.String())),
})
export type Marker = Static<typeof Marker>

/** The markers of a data directory before anything is opened. */
export interface FolderMarkers {
  readonly directory: string
  /** The folders that the settings use. */
  readonly used: readonly MarkedFolder[]
  /** The records are in the directory, too. They hold the origin themselves, so they need no marker. */
  readonly hasRecords: boolean
  /** `undefined`: the directory is new, or from a version without markers. */
  readonly root: Marker | undefined
  readonly byFolder: ReadonlyMap<MarkedFolder, Marker | undefined>
}

/**
 * Reads the markers and checks the folders that the data directory lists: each must exist and have a marker. Call it
 * before anything is opened, because opening creates folders. Writes nothing. Throws `CORRUPT` that names the folder.
 */
export async function readMarkers(
  directory: string,
  { used, hasRecords }: Pick<FolderMarkers, 'used' | 'hasRecords'>,
): Promise<FolderMarkers> {
  const root = await readMarker(directory)
  const isListed = (name: string): boolean => root?.folders?.includes(name) === true
  const byFolder = new Map<MarkedFolder, Marker | undefined>()
  for (const folder of used) {
    const marker = await readMarker(join(directory, folder))
    if (marker === undefined && isListed(folder)) throw lost(join(directory, folder))
    byFolder.set(folder, marker)
  }
  const records = join(directory, 'records')
  if (hasRecords && isListed('records') && !(await exists(records))) throw lost(records)
  return { directory, used, hasRecords, root, byFolder }
}

/** What each folder has before it gets its marker: an empty folder may be one whose volume is not mounted. */
const CONTENT: Readonly<Record<MarkedFolder, string>> = { blobs: 'content', tsa: 'ca.pem', ledger: 'blocks.jsonl' }

/**
 * Compares the markers with the log in the records. `origin`: of that log, `undefined` if the records are empty. Throws
 * `CORRUPT` that names the folder.
 */
export function assertOneRegistry(markers: FolderMarkers, origin: string | undefined): void {
  const { directory, hasRecords, root, byFolder } = markers
  const expected = root?.origin
  const records = hasRecords ? join(directory, 'records') : 'The database of the records'
  if (expected !== undefined && origin === undefined) throw lost(records)
  if (expected !== undefined && origin !== expected) throw foreign(records, origin, expected)
  for (const [folder, marker] of byFolder)
    if (marker !== undefined && marker.origin !== origin) throw foreign(join(directory, folder), marker.origin, origin)
}

/**
 * As `assertOneRegistry`, before a start. A folder with a marker must have its content, which opening would make again.
 * A log without any marker is from a version without them: it gets markers if every folder was used before, else a
 * folder is lost.
 */
export async function assertBelongsTo(markers: FolderMarkers, origin: string | undefined): Promise<void> {
  assertOneRegistry(markers, origin)
  const { directory, used, hasRecords, root, byFolder } = markers
  if (origin === undefined) return
  const isWithoutMarkers = root === undefined && hasRecords
  for (const folder of used) {
    const wasUsed = isWithoutMarkers || byFolder.get(folder) !== undefined
    if (wasUsed && !(await exists(join(directory, folder, CONTENT[folder]))))
      throw lost(join(directory, folder), CONTENT[folder])
  }
}

/** Writes the markers that are missing. Call it once all folders exist. */
export async function writeMarkers(markers: FolderMarkers, origin: string): Promise<void> {
  const { directory, used, hasRecords, root, byFolder } = markers
  for (const folder of used)
    if (byFolder.get(folder) === undefined) await writeMarker(join(directory, folder), { origin })
  const folders = [...new Set([...(root?.folders ?? []), ...used, ...(hasRecords ? ['records'] : [])])].toSorted()
  if (root?.folders?.length !== folders.length) await writeMarker(directory, { origin, folders })
}

/** Writes the marker of a folder that is complete. */
export const writeMarker = (folder: string, marker: Marker): Promise<void> =>
  writePrivateFile(join(folder, MARKER), `${JSON.stringify(marker)}\n`)

/** Throws `CORRUPT` for a file that is there, but names no registry. */
export async function readMarker(folder: string): Promise<Marker | undefined> {
  const path = join(folder, MARKER)
  const bytes = await ifExists(readFile(path))
  if (bytes === undefined) return undefined
  const marker = parseMarker(new TextDecoder().decode(bytes))
  if (marker !== undefined) return marker
  throw new RegistryError('CORRUPT', `${path} does not name a registry: restore it from a backup`)
}

/** Returns `undefined` for a text that does not name a registry. */
export const parseMarker = (text: string): Marker | undefined => readShape(Marker, text)

const lost = (path: string, missing = MARKER): RegistryError =>
  new RegistryError(
    'CORRUPT',
    `${path} is missing or is not the folder of this registry: it has no ${missing}. Mount its volume, or restore it ` +
      'from a backup. Nothing was written',
  )

const foreign = (path: string, origin: string | undefined, expected = 'a new registry'): RegistryError =>
  new RegistryError(
    'CORRUPT',
    `${path} belongs to the registry ${origin}, not to ${expected}: mount the right volume, or restore the right ` +
      'folder. Nothing was written',
  )

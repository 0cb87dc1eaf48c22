import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import Type, { type Static } from '#typebox'
import { ifExists, writePrivateFile } from '../../adapters/files/index.ts'
import type { BlobStoreMarker } from '../../adapters/kit/index.ts'
import { RegistryError, type BlobStore, type RecordStore } from '../../core/index.ts'
import { filesOf, nameBlobStore, storedBlobStore, storedOrigin } from '../../core/ops/index.ts'
import { readShape } from '../../core/schemas/index.ts'
import { configError } from '../settings/config-error.ts'
import type { Config } from '../settings/load.ts'
import { namesModule } from './own-module.ts'

/**
 * Each place that a registry stores something in has a marker: `registry.json` in the data directory, in its folders
 * and in a bucket. It names the registry, so that a place that is lost or replaced is noticed before anything is
 * written. Examples are a volume that is not mounted, and a wrong bucket. The records need none: they hold the origin
 * themselves.
 */
const Marker = Type.Object({
  /** The log's origin. */
  origin: Type.String(),
  /** Of this place. Shared records know the store of their files by it. */
  id: Type.String(),
  /** Of a data directory: the folders that must have a marker, and `records` if the records are there. Else empty. */
  folders: Type.Array(Type.String()),
})
type Marker = Static<typeof Marker>

const MARKER = 'registry.json'

/** Where a marker is. */
interface Place {
  /** In an error. */
  readonly name: string
  /** What to correct if it is the wrong one. */
  readonly remedy: string
  readonly marker: BlobStoreMarker
}

const FOLDER_REMEDY = 'mount the right volume, or restore the right folder'

/** The marker of a folder. */
export const folderMarker = (path: string): BlobStoreMarker => ({
  async read() {
    const bytes = await ifExists(readFile(join(path, MARKER)))
    return bytes && new TextDecoder().decode(bytes)
  },
  write: (text) => writePrivateFile(join(path, MARKER), text),
})

const folderAt = (path: string): Place => ({ name: path, remedy: FOLDER_REMEDY, marker: folderMarker(path) })

/** Throws `CORRUPT` for a marker that is there, but names no registry. */
async function readMarker({ name, marker }: Place): Promise<Marker | undefined> {
  const text = await marker.read()
  const found = text === undefined ? undefined : readShape(Marker, text)
  if (text === undefined || found !== undefined) return found
  throw corrupt(
    `The ${MARKER} of ${name} does not name a registry: restore it from a backup, or use the release that wrote it`,
  )
}

const writeMarker = ({ marker }: Place, content: Marker): Promise<void> => marker.write(`${JSON.stringify(content)}\n`)

/** Returns the marker of a place. Writes it if there is none. Throws `CORRUPT` if it is another registry's. */
async function claim(place: Place, origin: string): Promise<Marker> {
  let marker = await readMarker(place)
  if (marker === undefined) {
    const own = { origin, id: randomUUID(), folders: [] }
    await writeMarker(place, own)
    // Another server may have been first.
    marker = (await readMarker(place)) ?? own
  }
  assertOwn(place, marker, origin)
  return marker
}

function assertOwn(
  { name, remedy }: Omit<Place, 'marker'>,
  found: Pick<Marker, 'origin'>,
  expected = 'a new registry',
): void {
  if (found.origin === expected) return
  throw corrupt(`${name} belongs to the registry ${found.origin}, not to ${expected}: ${remedy}. Nothing was written`)
}

/** A folder that may be a volume of its own. */
export type MarkedFolder = 'blobs' | 'tsa' | 'ledger'

/** The folders of the data directory that these settings use. */
export const usedFolders = ({ blobs, tsa, anchor }: Pick<Config, 'blobs' | 'tsa' | 'anchor'>): MarkedFolder[] => [
  ...(blobs === 'files' ? (['blobs'] as const) : []),
  ...(tsa === 'local' ? (['tsa'] as const) : []),
  ...(anchor === 'local' ? (['ledger'] as const) : []),
]

/** The markers of a data directory before anything is opened. */
export interface DirectoryMarkers {
  readonly directory: string
  /** The records are in the directory, too. */
  readonly hasRecords: boolean
  /** `undefined`: the directory is new, or its first start was killed. */
  readonly root: Marker | undefined
  /** Of the folders that the settings use. */
  readonly byFolder: ReadonlyMap<MarkedFolder, Marker | undefined>
}

/** Throws `CONFIG_ERROR` if a data directory has no records: opening it would create an empty store. */
export function assertHasRecords(directory: string): void {
  if (!existsSync(join(directory, 'records')))
    throw configError(`There is no registry in ${directory}: name its data directory with --data-dir`)
}

/**
 * Reads the markers and checks the folders that the data directory lists: each must exist and have a marker. Call it
 * before anything is opened, because opening creates folders. Writes nothing. Throws `CORRUPT` that names the folder.
 */
export async function readMarkers(
  config: Pick<Config, 'dataDir' | 'records' | 'blobs' | 'tsa' | 'anchor'>,
): Promise<DirectoryMarkers> {
  const directory = resolve(config.dataDir)
  const hasRecords = config.records === 'level'
  const root = await readMarker(folderAt(directory))
  const isListed = (name: string): boolean => root?.folders.includes(name) === true
  const byFolder = new Map<MarkedFolder, Marker | undefined>()
  for (const folder of usedFolders(config)) {
    const path = join(directory, folder)
    const marker = await readMarker(folderAt(path))
    if (marker === undefined && isListed(folder)) throw lost(path)
    byFolder.set(folder, marker)
  }
  const records = join(directory, 'records')
  if (hasRecords && isListed('records') && !existsSync(records)) throw lost(records)
  return { directory, hasRecords, root, byFolder }
}

/**
 * Compares the markers with the log in the records. `origin`: of that log, `undefined` if the records are empty. Throws
 * `CORRUPT` that names the folder.
 */
export function assertOneRegistry({ directory, hasRecords, root, byFolder }: DirectoryMarkers, origin?: string): void {
  if (root !== undefined) {
    const records = hasRecords ? join(directory, 'records') : 'The database of the records'
    if (origin === undefined) throw lost(records)
    assertOwn({ name: records, remedy: FOLDER_REMEDY }, { origin }, root.origin)
  }
  for (const [folder, marker] of byFolder)
    if (marker !== undefined) assertOwn(folderAt(join(directory, folder)), marker, origin)
}

/** What each folder has before it gets its marker: an empty folder may be one whose volume is not mounted. */
const CONTENT: Readonly<Record<MarkedFolder, string>> = { blobs: 'content', tsa: 'ca.pem', ledger: 'blocks.jsonl' }

/**
 * As `assertOneRegistry`, before a start. A folder with a marker must have its content, which opening would make again.
 * So must every folder if there is a log, but no marker of the directory: its first start was killed before it wrote
 * the markers, or a volume is lost.
 */
export function assertBelongsTo(markers: DirectoryMarkers, origin: string | undefined): void {
  assertOneRegistry(markers, origin)
  const { directory, hasRecords, root, byFolder } = markers
  if (origin === undefined) return
  for (const [folder, marker] of byFolder) {
    const path = join(directory, folder)
    const wasOpened = marker !== undefined || (root === undefined && hasRecords)
    if (wasOpened && !existsSync(join(path, CONTENT[folder]))) throw lost(path, CONTENT[folder])
  }
}

/** Writes the markers that are missing. Call it once all folders exist. */
export async function writeMarkers(markers: DirectoryMarkers, origin: string): Promise<void> {
  const { directory, hasRecords, root, byFolder } = markers
  for (const folder of byFolder.keys()) await claim(folderAt(join(directory, folder)), origin)
  const folders = [...new Set([...(root?.folders ?? []), ...byFolder.keys(), ...(hasRecords ? ['records'] : [])])]
  if (root?.folders.length !== folders.length)
    await writeMarker(folderAt(directory), { origin, id: root?.id ?? randomUUID(), folders: folders.toSorted() })
}

/** The store of the files, and the records whose files it should hold. */
export interface BlobStoreOptions {
  readonly config: Pick<Config, 'dataDir' | 'blobs' | 's3Bucket' | 's3Prefix' | 'readOnly'>
  readonly records: RecordStore
  readonly blobs: BlobStore
}

/** Where the marker of the store of the files is; `undefined` if the store of a module has none. */
function blobPlace({ config, blobs }: Pick<BlobStoreOptions, 'config' | 'blobs'>): Place | undefined {
  const { s3Bucket, s3Prefix } = config
  if (config.blobs === 'files') return folderAt(join(resolve(config.dataDir), 'blobs'))
  if (blobs.marker === null) return undefined
  return namesModule(config.blobs)
    ? { name: `The store of ${config.blobs}`, remedy: 'correct EVIDENCE_BLOBS, or the records', marker: blobs.marker }
    : {
        name: `The bucket ${s3Bucket} with the prefix ${s3Prefix}`,
        remedy: 'correct EVIDENCE_S3_BUCKET and EVIDENCE_S3_PREFIX, or the records',
        marker: blobs.marker,
      }
}

/**
 * Checks that the store of the files is that of the registry in these records. So a wrong bucket, or an empty one in
 * the place of a lost one, is noticed before anything is written. Shared records also name the store of their files, so
 * that a second server with files of its own is noticed.
 *
 * @returns writes what is missing. Call it with the log's origin once the registry is open.
 * @throws RegistryError `CORRUPT` that names the store
 */
export async function checkBlobStore(options: BlobStoreOptions): Promise<(origin: string) => Promise<void>> {
  const { records } = options
  const place = blobPlace(options)
  if (place === undefined) return async () => undefined
  const marker = await readMarker(place)
  // Read after the marker: another server may have created the registry just now.
  const origin = await storedOrigin(records)
  if (marker !== undefined) assertOwn(place, marker, origin)
  const named = records.isShared ? await storedBlobStore(records) : undefined
  if (named !== undefined && named !== marker?.id) throw otherStore(place)
  if (marker === undefined) await assertNoFiles(records, place)
  return async (opened) => {
    const { id } = await claim(place, opened)
    if (records.isShared && id !== named && !(await nameBlobStore(records, id, named))) throw otherStore(place)
  }
}

/**
 * Gives a bucket without a marker to the registry, although it lacks the files on record.
 *
 * @throws RegistryError `CORRUPT` if it is another registry's, `CONFIG_ERROR` if there is nothing to adopt
 */
export async function adoptBucket(options: BlobStoreOptions, origin: string): Promise<void> {
  const { config, records } = options
  const place = config.blobs === 'files' ? undefined : blobPlace(options)
  if (place === undefined) throw configError(`EVIDENCE_BLOBS is ${config.blobs}: there is no bucket to adopt`)
  const marker = await readMarker(place)
  if (marker !== undefined) {
    assertOwn(place, marker, origin)
    throw configError(`${place.name} belongs to this registry: there is nothing to adopt`)
  }
  const { id } = await claim(place, origin)
  if (records.isShared && !(await nameBlobStore(records, id, await storedBlobStore(records)))) throw otherStore(place)
}

/**
 * Writes the marker of a store of files if it is missing, and returns the store's id; `undefined` if it has none.
 *
 * @throws RegistryError `CORRUPT` if it is another registry's
 */
export async function claimBlobStore(
  options: Pick<BlobStoreOptions, 'config' | 'blobs'>,
  origin: string,
): Promise<string | undefined> {
  const place = blobPlace(options)
  return place && (await claim(place, origin)).id
}

/** The marker is written before the first file. */
async function assertNoFiles(records: RecordStore, { name, remedy }: Place): Promise<void> {
  for await (const { id } of filesOf(records))
    throw corrupt(
      `${name} does not hold the files of this registry: it has no ${MARKER}, but the file ${id} is on record. ` +
        `To go on, ${remedy}, or restore the files from a backup. If those of a bucket are lost for good, accept it ` +
        'with evidence-registry adopt bucket. Nothing was written',
    )
}

const corrupt = (message: string): RegistryError => new RegistryError('CORRUPT', message)

const lost = (path: string, missing = MARKER): RegistryError =>
  corrupt(
    `${path} is missing or is not the folder of this registry: it has no ${missing}. Mount its volume, or restore it ` +
      'from a backup. Nothing was written',
  )

const otherStore = ({ name, remedy }: Place): RegistryError =>
  corrupt(
    `${name} is not where the records have their files: another server stores them elsewhere. To go on, ${remedy}, ` +
      'share the files in a bucket, or move them with migrate-blobs. Nothing was written',
  )

import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { BlobStoreMarker } from '../../adapters/kit/index.ts'
import { RegistryError, type BlobStore, type RecordStore } from '../../core/index.ts'
import { missingFirstFile, nameBlobStore, storedBlobStore, storedOrigin } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { namesModule } from './own-module.ts'
import { parseMarker, readMarker, writeMarker, type Marker } from './folder-markers.ts'

/** The store of the files, and the records whose files it should hold. */
export interface BlobMarkerOptions {
  readonly config: Pick<Config, 'dataDir' | 'blobs' | 's3Bucket' | 's3Prefix' | 'adoptBucket' | 'readOnly'>
  readonly records: RecordStore
  readonly blobs: BlobStore
}

/** The marker of a blob store. It names the registry, and the store itself by its id. */
interface BlobMarker {
  /** The store in an error. */
  readonly name: string
  /** What to correct if it is the wrong one. */
  readonly settings: string
  read(): Promise<Marker | undefined>
  /** Writes it if there is none; in a folder also if it has no id. */
  write(marker: Marker): Promise<void>
}

const markerOf = ({ config, blobs }: Pick<BlobMarkerOptions, 'config' | 'blobs'>): BlobMarker =>
  blobs.marker === null ? markerOfFolder(join(resolve(config.dataDir), 'blobs')) : markerOfBucket(config, blobs.marker)

const markerOfFolder = (folder: string): BlobMarker => ({
  name: folder,
  settings: 'the data directory, or share the files in a bucket',
  read: () => readMarker(folder),
  write: (marker) => writeMarker(folder, marker),
})

function markerOfBucket(config: BlobMarkerOptions['config'], stored: BlobStoreMarker): BlobMarker {
  const { s3Bucket, s3Prefix } = config
  const isOwn = namesModule(config.blobs)
  const name = isOwn ? `The store of ${config.blobs}` : `The bucket ${s3Bucket} with the prefix ${s3Prefix}`
  return {
    name,
    settings: isOwn ? 'EVIDENCE_BLOBS' : 'EVIDENCE_S3_BUCKET and EVIDENCE_S3_PREFIX',
    async read() {
      const text = await stored.read()
      const marker = text === undefined ? undefined : parseMarker(text)
      if (text === undefined || marker !== undefined) return marker
      throw new RegistryError(
        'CORRUPT',
        `${name} has a registry.json that does not name a registry: restore it from a backup`,
      )
    },
    write: (marker) => stored.write(`${JSON.stringify(marker)}\n`),
  }
}

/** A marker of a version without ids names the store by its registry. */
const idOf = (marker: Marker | undefined): string | undefined => marker?.id ?? marker?.origin

/**
 * Checks that the files are those of the registry in these records. A bucket has an object that names the registry, as
 * each folder of a data directory has a file. So a wrong bucket, or an empty one in the place of a lost one, is noticed
 * before anything is written. Shared records also name their blob store, so that a second server with files of its own
 * is noticed.
 *
 * A store without the marker is from a version without it, if it has the first file on record. `adoptBucket` accepts
 * every bucket without the object.
 *
 * @returns writes what is missing. Call it with the log's origin once the registry is open.
 * @throws RegistryError `CORRUPT` that names the store
 */
export async function checkBlobStore(options: BlobMarkerOptions): Promise<(origin: string) => Promise<void>> {
  const { config, records, blobs } = options
  const { isShared } = records
  // A folder beside records of its own is checked with the other folders.
  if (blobs.marker === null && (!isShared || namesModule(config.blobs))) return async () => undefined
  const place = markerOf(options)
  const marker = await place.read()
  // Read after the marker: another server may have created the registry just now.
  const origin = await storedOrigin(records)
  assertOwn(place, marker, origin)
  const named = isShared ? await storedBlobStore(records) : undefined
  const isAdopted = config.adoptBucket && blobs.marker !== null && marker === undefined
  if (!isAdopted && named !== undefined && named !== idOf(marker)) throw otherStore(place)
  if (!isAdopted && named === undefined && marker === undefined && origin !== undefined)
    await assertHasFirstFile(options, place)
  return async (opened) => {
    if (config.readOnly) return
    const id = await claimBlobStore(options, opened)
    if (isShared && id !== named && !(await nameBlobStore(records, id, named))) throw otherStore(place)
  }
}

/**
 * Writes the marker of a blob store if it is missing, and returns the store's id.
 *
 * @throws RegistryError `CORRUPT` if it is another registry's
 */
export async function claimBlobStore(
  options: Pick<BlobMarkerOptions, 'config' | 'blobs'>,
  origin: string,
): Promise<string> {
  // A store of a module that holds no marker is known by its registry.
  if (namesModule(options.config.blobs) && options.blobs.marker === null) return origin
  const place = markerOf(options)
  const marker = await place.read()
  assertOwn(place, marker, origin)
  if (marker?.id !== undefined) return marker.id
  await place.write({ origin, id: randomUUID() })
  const written = await place.read()
  assertOwn(place, written, origin)
  return idOf(written) ?? origin
}

function assertOwn({ name, settings }: BlobMarker, marker: Marker | undefined, origin = 'a new registry'): void {
  if (marker === undefined || marker.origin === origin) return
  throw new RegistryError(
    'CORRUPT',
    `${name} belongs to the registry ${marker.origin}, not to ${origin}: correct ${settings}, or the records. ` +
      'No file was written',
  )
}

/** A store without a marker must have a file of this registry, else it is another one. */
async function assertHasFirstFile({ records, blobs }: BlobMarkerOptions, place: BlobMarker): Promise<void> {
  const missing = await missingFirstFile(records, blobs)
  if (missing === undefined) return
  throw new RegistryError(
    'CORRUPT',
    `${place.name} does not hold the files of this registry: it has no registry.json and not the file ${missing}. ` +
      `Correct ${place.settings}, or restore the files from a backup. If those of a bucket are lost for good, accept ` +
      'it with EVIDENCE_ADOPT_BUCKET=true. Nothing was written',
  )
}

const otherStore = ({ name, settings }: BlobMarker): RegistryError =>
  new RegistryError(
    'CORRUPT',
    `${name} is not where the records have their files: another server stores them elsewhere. Correct ${settings}, ` +
      'or move the files with migrate-blobs. No file was written',
  )

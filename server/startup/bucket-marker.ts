import { isMarkedStore, type MarkedBlobStore } from '../../adapters/s3/index.ts'
import { RegistryError, type BlobStore, type RecordStore } from '../../core/index.ts'
import { firstFile, storedOrigin } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { parseMarker } from './folder-markers.ts'

/** The bucket, and the records whose files it should hold. */
export interface BucketMarkerOptions {
  readonly config: Pick<Config, 's3Bucket' | 's3Prefix' | 'adoptBucket' | 'readOnly'>
  readonly records: RecordStore
  readonly blobs: BlobStore
}

/**
 * Checks that the bucket of the files is the one of the registry in these records: its prefix has an object that names
 * the registry, as each folder of a data directory has a file. So a wrong bucket, or an empty one in the place of a
 * lost one, is noticed before anything is written. Other blob stores have no such object.
 *
 * A bucket without the object is from a version without it, if it has the first file on record. `adoptBucket` accepts
 * every bucket without the object.
 *
 * @returns writes the object if it is missing. Call it with the log's origin once the registry is open.
 * @throws RegistryError `CORRUPT` that names the bucket
 */
export async function checkBucketMarker(options: BucketMarkerOptions): Promise<(origin: string) => Promise<void>> {
  const { config, records, blobs } = options
  if (!isMarkedStore(blobs)) return async () => undefined
  const name = `The bucket ${config.s3Bucket} with the prefix ${config.s3Prefix}`
  const marker = await readMarker(blobs, name)
  // Read after the marker: another server may have created the registry just now.
  const origin = await storedOrigin(records)
  if (marker !== undefined && marker !== origin) throw foreign(name, marker, origin)
  if (marker === undefined && origin !== undefined && !config.adoptBucket) await assertHasFirstFile(options, name)
  return async (opened) => {
    if (marker !== undefined || config.readOnly) return
    await blobs.writeMarker(`${JSON.stringify({ origin: opened })}\n`)
    const written = await readMarker(blobs, name)
    if (written !== opened) throw foreign(name, written, opened)
  }
}

/** The origin that the bucket names. Throws `CORRUPT` for an object that names none. */
async function readMarker(blobs: MarkedBlobStore, name: string): Promise<string | undefined> {
  const text = await blobs.readMarker()
  if (text === undefined) return undefined
  const marker = parseMarker(text)
  if (marker !== undefined) return marker.origin
  throw new RegistryError(
    'CORRUPT',
    `${name} has a registry.json that does not name a registry: restore it from a backup`,
  )
}

/** A bucket without a marker must have a file of this registry, else it is another one. */
async function assertHasFirstFile({ records, blobs }: BucketMarkerOptions, name: string): Promise<void> {
  const file = await firstFile(records)
  if (file === undefined) return
  const blob = await blobs.get(file.id)
  await blob?.body[Symbol.asyncIterator]().return?.()
  if (blob?.size === file.size) return
  throw new RegistryError(
    'CORRUPT',
    `${name} is not the bucket of this registry: it has no registry.json and not the file ${file.id}. Correct ` +
      'EVIDENCE_S3_BUCKET and EVIDENCE_S3_PREFIX, or restore the bucket from a backup. If its files are lost ' +
      'for good, ' +
      'accept it with EVIDENCE_ADOPT_BUCKET=true. Nothing was written',
  )
}

const foreign = (name: string, marker = 'of another server', origin = 'a new registry'): RegistryError =>
  new RegistryError(
    'CORRUPT',
    `${name} belongs to the registry ${marker}, not to ${origin}: correct EVIDENCE_S3_BUCKET and EVIDENCE_S3_PREFIX, ` +
      'or the records. No file was written',
  )

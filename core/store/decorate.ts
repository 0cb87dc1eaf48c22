import type { BlobStore, RecordStore, TimestampAuthority } from '../ports/index.ts'

/**
 * Wrappers of the ports. Each carries every member of the port, also what the store can do besides, and has no others:
 * a new member of a port does not compile until it is carried here.
 */

/** The members of the stores. What a store cannot do is `null`, so that a missing member is a mistake. */
export const STORE_MEMBERS: {
  readonly records: readonly (keyof RecordStore)[]
  readonly blobs: readonly (keyof BlobStore)[]
} = {
  records: [
    'get',
    'list',
    'commit',
    'readLog',
    'readPayloads',
    'logSize',
    'positionsOf',
    'close',
    'eraser',
    'snapshots',
    'fileChecker',
    'isShared',
    'isPoisoned',
  ],
  blobs: ['put', 'get', 'delete', 'close', 'marker'],
}

/**
 * A record store that does the same as another one, except for the members that are given.
 *
 * @example
 * import { MemoryRecords } from 'evidence-registry/adapters/memory'
 * import { decorateRecords, RegistryError } from 'evidence-registry/adapter-kit'
 *
 * const readOnly = decorateRecords(new MemoryRecords(), {
 *   commit: async () => {
 *     throw new RegistryError('UNAVAILABLE', 'These records can only be read')
 *   },
 * })
 */
export const decorateRecords = (records: RecordStore, members: Partial<RecordStore>): RecordStore => ({
  get: (keys) => records.get(keys),
  list: (range) => records.list(range),
  commit: (commit) => records.commit(commit),
  readLog: (from, count) => records.readLog(from, count),
  readPayloads: (from, count) => records.readPayloads(from, count),
  logSize: () => records.logSize(),
  positionsOf: (entries) => records.positionsOf(entries),
  close: () => records.close(),
  eraser: records.eraser,
  snapshots: records.snapshots,
  fileChecker: records.fileChecker,
  isShared: records.isShared,
  isPoisoned: () => records.isPoisoned(),
  ...members,
})

/** A blob store that does the same as another one, except for the members that are given. */
export const decorateBlobs = (blobs: BlobStore, members: Partial<BlobStore>): BlobStore => ({
  put: (key, body, options) => blobs.put(key, body, options),
  get: (key, range, signal) => blobs.get(key, range, signal),
  delete: (key) => blobs.delete(key),
  close: () => blobs.close(),
  marker: blobs.marker,
  ...members,
})

/** An authority that does the same as another one, except for the members that are given. */
export const decorateAuthority = (
  authority: TimestampAuthority,
  members: Partial<TimestampAuthority>,
): TimestampAuthority => ({
  info: authority.info,
  stamp: (bytes, signal) => authority.stamp(bytes, signal),
  validationDataOf: (response, signal) => authority.validationDataOf(response, signal),
  close: () => authority.close(),
  ...members,
})

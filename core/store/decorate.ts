import { withCode, type ErrorCode } from '../errors.ts'
import type {
  Anchor,
  BlobStore,
  CheckpointSigner,
  RecordStore,
  SignedHeadKeeper,
  TimestampAuthority,
} from '../ports/index.ts'

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

// The same ports, with errors of the registry only: a port that others wrote may throw any error. Each is wrapped where
// it comes in: by `openRegistry`, by `createSealer`, and a store by the server that opens it from a module.

/** The same calls. Other errors than those of the registry get a code, unless a signal of the call was aborted. */
const coded =
  <A extends readonly unknown[], T>(code: ErrorCode, call: (...args: A) => Promise<T>) =>
  async (...args: A): Promise<T> => {
    try {
      return await call(...args)
    } catch (error) {
      const isAborted = args.some((each) => each instanceof AbortSignal && each.aborted)
      throw isAborted ? error : withCode(code, error)
    }
  }

/** An error of `commit` leaves open whether it was applied. Snapshots and the eraser stay as they are. */
export const withRecordErrors = (records: RecordStore): RecordStore =>
  decorateRecords(records, {
    get: coded('UNAVAILABLE', (keys) => records.get(keys)),
    async *list(range) {
      try {
        yield* records.list(range)
      } catch (error) {
        throw withCode('UNAVAILABLE', error)
      }
    },
    commit: coded('UNKNOWN_OUTCOME', (commit) => records.commit(commit)),
    readLog: coded('UNAVAILABLE', (from, count) => records.readLog(from, count)),
    readPayloads: coded('UNAVAILABLE', (from, count) => records.readPayloads(from, count)),
    logSize: coded('UNAVAILABLE', () => records.logSize()),
    positionsOf: coded('UNAVAILABLE', (entries) => records.positionsOf(entries)),
  })

/** An error of `put` stays as it is, because it may be one of the body. */
export const withBlobErrors = (blobs: BlobStore): BlobStore =>
  decorateBlobs(blobs, {
    get: coded('UNAVAILABLE', (key, range, signal) => blobs.get(key, range, signal)),
    delete: coded('UNAVAILABLE', (key) => blobs.delete(key)),
  })

export const withSignedHeadErrors = (signedHead: SignedHeadKeeper): SignedHeadKeeper => ({
  read: coded('UNAVAILABLE', () => signedHead.read()),
  write: coded('UNAVAILABLE', (head) => signedHead.write(head)),
})

export const withSignerErrors = (signer: CheckpointSigner): CheckpointSigner => ({
  publicKeys: coded('UNAVAILABLE', () => signer.publicKeys()),
  sign: coded('UNAVAILABLE', (publicKey, bytes) => signer.sign(publicKey, bytes)),
})

export const withAuthorityErrors = (authority: TimestampAuthority): TimestampAuthority =>
  decorateAuthority(authority, {
    stamp: coded('AUTHORITY_FAILED', (bytes, signal) => authority.stamp(bytes, signal)),
    validationDataOf: coded('AUTHORITY_FAILED', (response, signal) => authority.validationDataOf(response, signal)),
  })

export const withAnchorErrors = (anchor: Anchor): Anchor => ({
  info: anchor.info,
  prepare: coded('ANCHOR_FAILED', (request, signal) => anchor.prepare(request, signal)),
  broadcast: coded('ANCHOR_FAILED', (raw, signal) => anchor.broadcast(raw, signal)),
  status: coded('ANCHOR_FAILED', (sent, signal) => anchor.status(sent, signal)),
  findForeignUse: coded('ANCHOR_FAILED', (own, known, signal) => anchor.findForeignUse(own, known, signal)),
  close: () => anchor.close(),
  funds: anchor.funds,
})

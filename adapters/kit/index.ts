/**
 * The entry `evidence-registry/adapter-kit`: what our own adapters are built with, and all that another adapter needs.
 * `adapters/README.md` shows how to use it. The contract suites are the entry `evidence-registry/adapter-kit/contract`,
 * so that a program that runs an adapter does not load test code.
 */
export type * from '../../core/ports/index.ts'
export {
  isError,
  isRegistryError,
  messageOf,
  RegistryError,
  verificationError,
  type ErrorCode,
  type RegistryErrorOptions,
} from '../../core/errors.ts'

// Record stores: decide a group of commits, write it, and keep values so that damage is detected.
export {
  assertCommit,
  assertKey,
  EMPTY_VERSION,
  keysToRead,
  planGroup,
  versionNumber,
  versionOf,
  type GroupPlan,
  type GroupSnapshot,
} from '../../core/store/commit-plan.ts'
export { CommitQueue } from '../../core/store/commit-queue.ts'
export { decorateAuthority, decorateBlobs, decorateRecords, STORE_MEMBERS } from '../../core/store/decorate.ts'
export { withBlobErrors, withRecordErrors } from '../../core/store/decorate.ts'
export { damagedValue, checked, withChecksum } from '../../core/store/checksum.ts'
export { assertFormat, STORE_FORMAT } from '../../core/store/format.ts'
export { encodeNumber } from '../../core/store/keys.ts'
export { decodedPages, itemsOf } from '../../core/store/paged-items.ts'
export {
  appendRows,
  assertLogRange,
  assertRow,
  EMPTY_TAIL,
  LOG_ENTRY_BYTES,
  MAX_PAYLOAD_BYTES,
  packRows,
  payloadInRow,
  payloadsOfRows,
  ROW_ENTRIES,
  rowOf,
  type EntryRow,
  type LogRow,
  type LogTail,
  type PayloadRow,
  type RowChanges,
} from '../../core/store/log-rows.ts'

// Blob stores: valid keys and ranges, size and hash of a body, calls in progress.
export { assertBlobKey, assertBlobRange, BlobCalls, blobExists, HashingBody } from '../../core/store/blob-calls.ts'

// Anchors, authorities, and all of them.
export {
  allocate,
  concatBytes,
  decodeUtf8,
  encodeUtf8,
  equalBytes,
  fromBase64,
  fromHex,
  readU64,
  sha256,
  sha256Of,
  toBase64,
  toHex,
  u64,
} from '../../core/bytes.ts'
export { backoffMs, EARLIEST_TIME, systemClock, untilAborted, type Backoff } from '../../core/clock.ts'
export { canonicalJson, type Json } from '../../core/commitment/canonical-json.ts'
export { createNoteSigner, type NoteSigner } from '../../core/log/note.ts'
export { missingKey, signerOfSeeds, typedKeyOfSeed } from '../../core/log/seed-signer.ts'
export { MIN_SECRET_BYTES } from '../../core/platform/node.ts'
export { BoundedMap, SecondUseMap } from '../../core/store/bounded-map.ts'

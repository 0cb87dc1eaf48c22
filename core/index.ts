/** The registry: what an evidence is, what an event commits to, what a proof says. */
export { openRegistry, type RegistryOptions } from './registry/open.ts'
export type * from './api/registry.ts'
export type * from './ports.ts'
export type * from './registry/proof/schemas.ts'
export type * from './registry/schemas.ts'
export { ERROR_CODES, isRegistryError, RegistryError, type ErrorCode } from './errors.ts'
export { actorOf, assertAllowed, OPERATOR, type PermissionLevel, type Principal } from './registry/permissions.ts'
export { systemClock } from './clock.ts'
export { canonicalJson, parseStrictJson, type Json } from './commitment/canonical-json.ts'
export {
  fsck,
  type Difference,
  type FsckHandlers,
  type FsckProgress,
  type FsckReport,
  type FsckStores,
} from './fsck/index.ts'
export {
  copyBlobs,
  copyRecords,
  isUnfinishedCopy,
  type BlobStores,
  type CopyBlobsHandlers,
  type CopyBlobsReport,
  type CopyRecordsHandlers,
  type CopyRecordsReport,
  type CopyStage,
  type RecordStores,
} from './copy/index.ts'

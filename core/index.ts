/** The registry: what an evidence is, what an event commits to, what a proof says. */
export { openRegistry, type RegistryOptions } from './open.ts'
export type * from './registry.ts'
export type * from './ports.ts'
export type * from './proof-schemas.ts'
export type * from './schemas.ts'
export { ERROR_CODES, isRegistryError, RegistryError, type ErrorCode } from './errors.ts'
export { actorOf, assertAllowed, OPERATOR, type PermissionLevel, type Principal } from './permissions.ts'
export { systemClock } from './clock.ts'
export { canonicalJson, parseStrictJson, type Json } from './canonical-json.ts'
export {
  fsck,
  type Difference,
  type FsckHandlers,
  type FsckProgress,
  type FsckReport,
  type FsckStores,
} from './fsck.ts'

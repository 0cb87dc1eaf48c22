/**
 * The ports: what the registry needs from outside, split by guarantee. The docstrings are the contracts, and
 * `test/contract` has a suite for each port that an adapter must pass. No member is optional: for what an adapter lacks
 * it returns `null`, so that a wrapper cannot lose it.
 */
export type * from './anchor.ts'
export type * from './timestamp-authority.ts'
export type * from './blob-store.ts'
export type * from './sealer.ts'
export type * from './runtime.ts'
export type * from './witness.ts'
export type * from './record-store.ts'

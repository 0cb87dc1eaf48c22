/**
 * The sealer: puts the log's new entries into the Merkle tree, signs checkpoints, and has them stamped and anchored.
 */
export { confirmForeignUse } from './account-alarm.ts'
export { assertNoSealer } from './no-sealer.ts'
export { createSealer } from './sealer.ts'
export type { SealerOptions } from './settings.ts'
export { readWitnessPolicy, type WitnessOptions } from './witness-settings.ts'
export { hasAskedWitnesses, resumeWitness } from './witness-state.ts'
export { InlineEngine, PoolEngine, type PoolOptions } from './engine/engines.ts'
export { writeBatchProofs, type BatchProofs, type WriteBatchProofsRequest } from './batch-proofs.ts'

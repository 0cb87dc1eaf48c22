import { MemoryCheckpointKeys } from '../../adapters/memory/index.ts'

const SEEDS = [1, 2, 3, 4].map((byte) => new Uint8Array(32).fill(byte))

/** The same four checkpoint keys for every registry and process of a test, so that it can rotate them. */
export const testSigner = (): MemoryCheckpointKeys => new MemoryCheckpointKeys(SEEDS)

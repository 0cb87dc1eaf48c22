import { randomBytes } from 'node:crypto'
import { signerOfSeeds, type CheckpointSigner } from '../kit/index.ts'

const SEED_BYTES = 32

/**
 * Checkpoint keys in the memory of one process, for tests and trials.
 *
 * @example
 * ```ts
 * import { MemoryCheckpointKeys } from 'evidence-registry/adapters/memory'
 *
 * const checkpointSigner = new MemoryCheckpointKeys()
 * ```
 */
export class MemoryCheckpointKeys implements CheckpointSigner {
  #seeds: readonly Uint8Array[]
  /** Made once for these seeds, because making a key takes ten times as long as signing. */
  #signer: CheckpointSigner

  /** @param seeds Ed25519 seeds, 32 bytes each. Default: one random seed */
  constructor(seeds: readonly Uint8Array[] = [randomBytes(SEED_BYTES)]) {
    this.#seeds = seeds
    this.#signer = signerOfSeeds(seeds)
  }

  /** Adds a key, by default a random one. The next rotation puts it into the log. */
  add(seed: Uint8Array = randomBytes(SEED_BYTES)): void {
    this.#seeds = [...this.#seeds, seed]
    this.#signer = signerOfSeeds(this.#seeds)
  }

  async publicKeys(): Promise<readonly Uint8Array[]> {
    return this.#signer.publicKeys()
  }

  async sign(publicKey: Uint8Array, bytes: Uint8Array): Promise<Uint8Array> {
    return this.#signer.sign(publicKey, bytes)
  }
}

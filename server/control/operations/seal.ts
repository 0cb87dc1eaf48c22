import { parseNoArgs, type ControlOperation } from '../operation.ts'

export interface SealResult {
  /** Entries of the log that are in batches. */
  readonly sealedSize: number
  /** How many of them were sealed by this call. */
  readonly added: number
  /** The newest signed checkpoint, the whole note. `null` if the log has no batch. */
  readonly checkpoint: string | null
}

/** Seals every event that is not sealed yet. */
export const sealOperation: ControlOperation<Readonly<Record<string, never>>, SealResult> = {
  name: 'seal',
  opens: 'writable',
  parse: parseNoArgs,
  async run({ registry }, _, { signal }) {
    const before = registry.status().sealedSize
    await registry.sealNow(signal)
    const { sealedSize } = registry.status()
    return { sealedSize, added: sealedSize - before, checkpoint: (await registry.log.latestCheckpoint()) ?? null }
  },
}

import type { CheckpointKeyInfo } from '../../../core/index.ts'
import { parseNoArgs, type ControlOperation } from '../operation.ts'

export interface KeysResult {
  readonly keys: readonly CheckpointKeyInfo[]
}

/** Lists the checkpoint keys: those of the log, oldest first, then those that only the keyring has. */
export const listKeysOperation: ControlOperation<Readonly<Record<string, never>>, KeysResult> = {
  name: 'keys list',
  opens: 'read-only',
  parse: parseNoArgs,
  run: async ({ registry }) => ({ keys: await registry.checkpointKeys.list() }),
}

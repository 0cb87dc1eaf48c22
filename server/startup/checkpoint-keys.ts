import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { generateCheckpointKey, openCheckpointKeys } from '../../adapters/files/index.ts'
import { MemoryCheckpointKeys } from '../../adapters/memory/index.ts'
import { RegistryError, type CheckpointSigner, type Logger, type RecordStore } from '../../core/index.ts'
import { storedOrigin } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { configError } from '../settings/config-error.ts'
import { stderrLogger } from './logger.ts'
import { namesSigner, openModule } from './own-module.ts'

type KeySettings = Pick<Config, 'checkpointKeys' | 'dataDir'>

/** The path of the keyring with the checkpoint keys. If a module has the keys, there is no file at this path. */
export const keyringPath = (config: KeySettings): string =>
  resolve((namesSigner(config) ? undefined : config.checkpointKeys) ?? join(config.dataDir, 'checkpoint-keys.json'))

/** Opens the checkpoint keys, which must exist: those of a module, or the keyring. Throws as these do. */
export const openSigner = (config: KeySettings, logger: Logger = stderrLogger): Promise<CheckpointSigner> =>
  namesSigner(config) ? openModule('checkpointKeys', config, logger) : openCheckpointKeys(keyringPath(config))

/** Whose keys they are. */
interface KeyringOptions {
  readonly config: KeySettings & Pick<Config, 'readOnly'>
  readonly records: RecordStore
  readonly logger?: Logger
}

/**
 * Opens the checkpoint keys. Creates a keyring with a new key for a new registry, unless its records are shared: all
 * servers need the same key. A registry that is read-only needs no keys.
 *
 * Throws `CONFIG_ERROR` or `LOG_KEY_MISMATCH` with the remedy if the keyring is missing.
 */
export async function openKeyring({ config, records, logger }: KeyringOptions): Promise<CheckpointSigner> {
  if (namesSigner(config)) return openSigner(config, logger)
  const path = keyringPath(config)
  const isMissing = !existsSync(path)
  if (isMissing && config.readOnly) return new MemoryCheckpointKeys([])
  if (isMissing) await createKeyring(path, await storedOrigin(records), records.isShared)
  return openSigner(config)
}

/** Never replaces keys: a log whose keys are missing needs them back. */
async function createKeyring(path: string, origin: string | undefined, isShared: boolean): Promise<void> {
  if (origin !== undefined)
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `${path} is missing, but the log ${origin} exists, and its checkpoints are signed with the keys in this file: ` +
        'restore it from a backup, or copy it from another server. No other key was created',
    )
  if (isShared)
    throw configError(
      `${path} is missing. All servers of shared records need the same checkpoint keys: create the file with ` +
        'evidence-registry keys generate, copy it to every server, and name it with EVIDENCE_CHECKPOINT_KEYS',
    )
  await generateCheckpointKey(path)
}

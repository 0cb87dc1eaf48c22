import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keyringPath } from '../startup/checkpoint-keys.ts'
import { ERASURE_LIST } from '../startup/erasure-list.ts'
import { usedFolders, type MarkedFolder } from '../startup/markers.ts'
import { namesSigner } from '../startup/own-module.ts'
import { SUBMISSION_KEY_FILE, submissionKeyPath } from '../startup/witnesses.ts'
import type { Config } from '../settings/load.ts'
import type { SecretFiles } from './secrets.ts'

/** The small files of a data directory that a backup holds as they are. */
export const PUBLIC_FILES: readonly string[] = [
  'registry.json',
  'tsa/registry.json',
  'tsa/ca.pem',
  'ledger/registry.json',
  'ledger/ledger.pub',
]

/** The ledger. It grows, so a backup cuts it where its records end. */
export const LEDGER_FILE = 'ledger/blocks.jsonl'

const ROOT_SECRET = 'secret'
/** The private keys that sign checkpoints. */
const KEYRING = 'checkpoint-keys.json'

/**
 * Files with private keys, and the root secret. They are in a backup only if that was requested. The list of erasures
 * is kept with them, too.
 */
export const SECRET_FILES: readonly string[] = [
  ROOT_SECRET,
  KEYRING,
  SUBMISSION_KEY_FILE,
  'tsa/ca.key',
  // The signer's key and certificate together.
  'tsa/tsa.pem',
  'ledger/ledger.key',
  'operator.key',
  ERASURE_LIST,
]

/** Secret files without which a registry with these folders cannot be used. */
const NEEDED_SECRETS: Readonly<Record<MarkedFolder, readonly string[]>> = {
  blobs: [],
  tsa: ['tsa/ca.key', 'tsa/tsa.pem'],
  ledger: ['ledger/ledger.key'],
}

/** The secret files that a restored registry with these settings needs and that are not among `files`. */
export function missingSecrets(files: SecretFiles, config: Config): readonly string[] {
  const keyring = namesSigner(config) ? [] : [KEYRING]
  const needed = [ROOT_SECRET, ...keyring, ...usedFolders(config).flatMap((name) => NEEDED_SECRETS[name])]
  return needed.filter((path) => !files.has(path))
}

/** Reads the secret files that exist. The root secret and the keys of the log may be outside of the data directory. */
export async function readSecretFiles(config: Config): Promise<SecretFiles> {
  const { dataDir, secretFile } = config
  const files = new Map<string, Uint8Array>()
  const elsewhere: Readonly<Record<string, string | undefined>> = {
    [ROOT_SECRET]: secretFile,
    [KEYRING]: keyringPath(config),
    [SUBMISSION_KEY_FILE]: submissionKeyPath(config),
  }
  for (const path of SECRET_FILES) {
    const file = elsewhere[path] ?? join(dataDir, path)
    if (existsSync(file)) files.set(path, await readFile(file))
  }
  return files
}

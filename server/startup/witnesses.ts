import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openOrCreateCheckpointKeys } from '../../adapters/files/index.ts'
import { createWitnessClient } from '../../adapters/witness/index.ts'
import { RegistryError, type RecordStore } from '../../core/index.ts'
import { hasAskedWitnesses, readWitnessPolicy, type WitnessOptions } from '../../sealer/index.ts'
import type { Config } from '../settings/load.ts'
import { readTextFile } from '../settings/text-file.ts'
import { keyringPath } from './checkpoint-keys.ts'
import { loadMlDsa44 } from './ml-dsa.ts'

/** The file with the submission key, a keyring with one key. */
export const SUBMISSION_KEY_FILE = 'submission-key.json'

/** Beside the keyring with the checkpoint keys, because servers of shared records need the same one. */
export const submissionKeyPath = (config: Pick<Config, 'checkpointKeys' | 'dataDir'>): string =>
  join(dirname(keyringPath(config)), SUBMISSION_KEY_FILE)

type WithPolicy = Pick<Config, 'witnessPolicy'>

const policyText = (path: string): string => readTextFile('EVIDENCE_WITNESS_POLICY', path, 'json')

/** The witnesses that the settings name. Throws `CONFIG_ERROR`. */
export const namedWitnesses = ({ witnessPolicy: path }: WithPolicy) =>
  path === undefined ? [] : readWitnessPolicy(policyText(path)).witnesses

/** What verifies their cosignatures of type 06, if one has such a key. Throws `CONFIG_ERROR`. */
export const mlDsa44Of = (config: WithPolicy) =>
  loadMlDsa44({ witnesses: { threshold: 1, members: namedWitnesses(config) } }).catch((cause: Error) => {
    throw new RegistryError('CONFIG_ERROR', cause.message, { cause })
  })

/**
 * The witnesses of the settings; `undefined` if there are none, or if a read-only registry lacks the submission key.
 * Witnesses know the log by this key, so it is created only for a registry that has not asked one yet. Throws
 * `CONFIG_ERROR` or `LOG_KEY_MISMATCH`.
 */
export async function openWitnesses(config: Config, records: RecordStore): Promise<WitnessOptions | undefined> {
  const path = submissionKeyPath(config)
  const isMissing = !existsSync(path)
  if (config.witnessPolicy === undefined || (config.readOnly && isMissing)) return undefined
  if (isMissing && (records.isShared || (await hasAskedWitnesses(records))))
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `${path} is missing, by which witnesses know this log: restore it from a backup, or copy it from another ` +
        'server. If it is lost for good, or for a new log of several servers, see Witnesses in OPERATIONS.md',
    )
  const signer = await openOrCreateCheckpointKeys(path)
  const [publicKey = new Uint8Array()] = await signer.publicKeys()
  return {
    policy: policyText(config.witnessPolicy),
    client: createWitnessClient({ proxies: config }),
    mlDsa44: await mlDsa44Of(config),
    submissionKey: { publicKey, sign: (bytes) => signer.sign(publicKey, bytes) },
    intervalMs: config.witnessIntervalMs,
  }
}

import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import {
  encodeUtf8,
  equalBytes,
  missingKey,
  RegistryError,
  signerOfSeeds,
  toHex,
  typedKeyOfSeed,
  type CheckpointSigner,
} from '../kit/index.ts'
import { createFile, makeDirectory, nodeFiles, replaceFile, type FileOperations } from './durable.ts'
import { errnoOf, reasonOf } from './errors.ts'
import { textOfFile } from './text-file.ts'

const FORMAT = 1
const SEED_BYTES = 32

/** A key in the file. The algorithm and the public key are for people, and detect a damaged seed. */
interface StoredKey {
  readonly algorithm: 'ed25519'
  /** Base64 of the type byte and the public key, as at the end of a C2SP verifier key. */
  readonly publicKey: string
  /** The secret seed (RFC 8032), base64 of 32 bytes. */
  readonly seed: string
  /** ISO 8601. */
  readonly createdAt: string
}

interface Options {
  readonly files?: FileOperations
}

interface Keyring {
  readonly keys: readonly StoredKey[]
  readonly signer: CheckpointSigner
}

/**
 * The checkpoint keys in a keyring file of JSON (0600). The file is read again each time that the keys are listed, and
 * if a key is missing, so a key that the operator adds is found while the registry runs.
 */
class FileCheckpointKeys implements CheckpointSigner {
  readonly #path: string
  readonly #files: FileOperations
  #signer: CheckpointSigner

  constructor(path: string, files: FileOperations, signer: CheckpointSigner) {
    this.#path = path
    this.#files = files
    this.#signer = signer
  }

  async publicKeys(): Promise<readonly Uint8Array[]> {
    this.#signer = (await readKeyring(this.#files, this.#path)).signer
    return this.#signer.publicKeys()
  }

  async sign(publicKey: Uint8Array, bytes: Uint8Array): Promise<Uint8Array> {
    const isHeld = (keys: readonly Uint8Array[]): boolean => keys.some((each) => equalBytes(each, publicKey))
    if (!isHeld(await this.#signer.publicKeys()) && !isHeld(await this.publicKeys())) throw missingKey(publicKey)
    return this.#signer.sign(publicKey, bytes)
  }
}

/**
 * Opens a keyring file.
 *
 * @param path path of the file
 * @throws RegistryError `CONFIG_ERROR`, naming the file, if it does not exist or cannot be read, `CORRUPT` if it is
 *   damaged
 * @example
 * ```ts
 * await generateCheckpointKey('/etc/evidence/checkpoint-keys.json')
 * const checkpointSigner = await openCheckpointKeys('/etc/evidence/checkpoint-keys.json')
 * ```
 */
export async function openCheckpointKeys(path: string, { files = nodeFiles }: Options = {}): Promise<CheckpointSigner> {
  return new FileCheckpointKeys(path, files, (await readKeyring(files, path)).signer)
}

/**
 * Opens a keyring file. Creates it with one random key if it does not exist. If it was lost, the registry refuses the
 * new key, because the newest key of its log is missing.
 *
 * @param path path of the file
 * @throws RegistryError as `openCheckpointKeys`, except that the file may be missing
 * @example
 * ```ts
 * const checkpointSigner = await openOrCreateCheckpointKeys('data/checkpoint-keys.json')
 * ```
 */
export async function openOrCreateCheckpointKeys(path: string, options: Options = {}): Promise<CheckpointSigner> {
  if ((await existingKeys(options.files ?? nodeFiles, path)) === undefined) await generateCheckpointKey(path, options)
  return openCheckpointKeys(path, options)
}

/**
 * Adds a new random key at the end of a keyring file, durably and in one step. Creates the file (0600) if it does not
 * exist.
 *
 * @returns the public key: its type byte, then the key
 * @throws RegistryError as `openCheckpointKeys`, except that the file may be missing; `STORE_LOCKED` if another process
 *   adds a key at this moment
 */
export async function generateCheckpointKey(path: string, options: Options = {}): Promise<Uint8Array> {
  const seed = new Uint8Array(randomBytes(SEED_BYTES))
  await addCheckpointKeys(path, [seed], options)
  return typedKeyOfSeed(seed)
}

/**
 * Adds known keys to a keyring file. Creates the file (0600) if it does not exist. Keys that are in the file are not
 * added again.
 *
 * @param seeds Ed25519 seeds, 32 bytes each
 */
export async function addCheckpointKeys(
  path: string,
  seeds: readonly Uint8Array[],
  { files = nodeFiles }: Options = {},
): Promise<void> {
  const keys = await existingKeys(files, path)
  if (keys !== undefined && missingKeys(keys, seeds).length === 0) return
  try {
    if (keys === undefined) {
      await makeDirectory(files, dirname(path))
      // Another process may create the file at the same time: its keys must not be replaced.
      if (await createFile(files, path, contentOf(missingKeys([], seeds)))) return
    }
    await withLock(files, path, async () => {
      const current = (await readKeyring(files, path)).keys
      const added = missingKeys(current, seeds)
      if (added.length > 0) await replaceFile(files, path, contentOf([...current, ...added]))
    })
  } catch (error) {
    if (error instanceof RegistryError) throw error
    throw fileError(path, 'written', error)
  }
}

/** The keys of these seeds that are not in the keyring. */
function missingKeys(keys: readonly StoredKey[], seeds: readonly Uint8Array[]): readonly StoredKey[] {
  const known = new Set(keys.map(({ publicKey }) => publicKey))
  return seeds.map(storedKeyOf).filter(({ publicKey }) => !known.has(publicKey))
}

const contentOf = (keys: readonly StoredKey[]): Uint8Array =>
  encodeUtf8(`${JSON.stringify({ format: FORMAT, keys }, null, 2)}\n`)

/**
 * Runs an action while no other process changes the keyring: of two that replace it at the same time, the later one
 * would remove the key of the other. A process that is killed meanwhile leaves the lock behind.
 */
async function withLock(files: FileOperations, path: string, action: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`
  const handle = await files.open(lock, 'wx', 0o600).catch((error: unknown) => {
    throw errnoOf(error) === 'EEXIST' ? lockedError(lock) : error
  })
  try {
    await handle.close()
    await action()
  } finally {
    await files.unlink(lock)
  }
}

const lockedError = (lock: string): RegistryError =>
  new RegistryError(
    'STORE_LOCKED',
    `Another process adds a key to the keyring at this moment. Try again, or remove ${lock} if there is no ` +
      'such process',
  )

async function existingKeys(files: FileOperations, path: string): Promise<readonly StoredKey[] | undefined> {
  try {
    return (await readKeyring(files, path)).keys
  } catch (error) {
    if (error instanceof RegistryError && errnoOf(error.cause) === 'ENOENT') return undefined
    throw error
  }
}

const storedKeyOf = (seed: Uint8Array): StoredKey => ({
  algorithm: 'ed25519',
  publicKey: Buffer.from(typedKeyOfSeed(seed)).toString('base64'),
  seed: Buffer.from(seed).toString('base64'),
  createdAt: new Date().toISOString(),
})

async function readKeyring(files: FileOperations, path: string): Promise<Keyring> {
  let bytes: Uint8Array
  try {
    bytes = await files.readFile(path)
  } catch (error) {
    throw fileError(path, 'read', error)
  }
  const keyring = parseKeyring(bytes)
  if (keyring !== undefined) return keyring
  throw new RegistryError(
    'CORRUPT',
    `${path} is not a keyring of checkpoint keys, or is damaged: restore it from a backup, or copy it from ` +
      'another server',
  )
}

/** The operator owns the file, but disks fail and people edit files. */
function parseKeyring(bytes: Uint8Array): Keyring | undefined {
  try {
    const value: { readonly format?: unknown; readonly keys?: unknown } = JSON.parse(textOfFile(bytes, 'json'))
    if (value.format !== FORMAT || !Array.isArray(value.keys) || value.keys.length === 0) return undefined
    const keys: readonly StoredKey[] = value.keys
    const seeds = keys.map(seedOf)
    const isDistinct = new Set(seeds.map(toHex)).size === seeds.length
    return isDistinct ? { keys, signer: signerOfSeeds(seeds) } : undefined
  } catch {
    return undefined
  }
}

/** Throws an error of any kind if the public key is not that of the seed. */
function seedOf({ algorithm, publicKey, seed: text }: StoredKey): Uint8Array {
  const seed = new Uint8Array(Buffer.from(text, 'base64'))
  const isWhole = algorithm === 'ed25519' && storedKeyOf(seed).publicKey === publicKey
  if (!isWhole) throw new TypeError('The public key is not that of the seed')
  return seed
}

const fileError = (path: string, operation: 'read' | 'written', cause: unknown): RegistryError =>
  new RegistryError(
    'CONFIG_ERROR',
    `The keyring ${path} could not be ${operation} (${reasonOf(cause)}): check EVIDENCE_CHECKPOINT_KEYS and ` +
      'the permissions',
    { cause },
  )

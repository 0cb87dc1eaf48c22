import { encodeUtf8, equalBytes, fromHex, hmacSha256, toHex } from '../bytes.ts'
import { assertLogName, keyHandover, keyOpening, MAX_LOG_KEYS, originOf } from '../commitment/log-entry.ts'
import { RegistryError, isRegistryError, corrupt } from '../errors.ts'
import { deriveSecret, randomBytes } from '../platform/node.ts'
import type { CheckpointSigner, Clock, Commit, LogSigner, RecordStore, Version } from '../ports/index.ts'
import { corruptRecord, decodeRecord, storedBytes } from '../store/codec.ts'
import { putRecord } from '../store/entries.ts'
import type { KeyedHash } from '../store/keys.ts'
import { readAll } from '../store/read.ts'
import { logKeys } from './keys.ts'
import { checkpointText } from './checkpoint.ts'
import { formatNote } from './note.ts'
import { formatTypedKey, parseVerifierKey, typedKeyOf, verifySignature } from './verifier-key.ts'
import { appendControl } from './payload.ts'
import type { LogIdentityRecord, LogKeyRecord } from './records.ts'
import { HASH_BYTES } from './tree/hash.ts'

export interface KeyInLog {
  /** The key's log entry, hex. */
  readonly entry: string
  /** The position of that entry in the log. */
  readonly position: number
  readonly verifierKey: string
  /** Others may know it. */
  readonly isCompromised: boolean
}

export interface LogIdentityOptions {
  readonly records: RecordStore
  /** The root secret. It is compared with the one of the first start. */
  readonly secret: Uint8Array
  /** The checkpoint keys. */
  readonly signer: CheckpointSigner
  /** Nothing will be signed, so the newest key need not be there. Default false. */
  readonly isReadOnly?: boolean
  /**
   * The `NAME` of the origin, fixed at the first start. Default: the stored name, at the first start
   * `evidence-registry`.
   */
  readonly logName?: string
  readonly clock: Clock
}

export const DEFAULT_LOG_NAME = 'evidence-registry'

/**
 * Opens the log's identity. The first start creates it, with the signer's first key as entry 0 of the log. If several
 * processes start for the first time together, all use the identity that was stored first.
 *
 * Throws `LOG_KEY_MISMATCH` if the secret is not the secret of this log, or if the signer does not have its newest key,
 * `CONFIG_ERROR` if the name is not valid or not the stored one, `CORRUPT` if the entry of a key is missing in the log.
 */
export async function openLogIdentity(options: LogIdentityOptions): Promise<LogIdentity> {
  const { records, secret, logName, signer, isReadOnly = false } = options
  if (logName !== undefined) assertLogName(logName)
  const stored = (await readIdentity(records)) ?? (await createIdentity(options))
  assertSecretOf(stored.record, secret)
  const identity = new LogIdentity(records, signer, await openKeyRing(records, stored))
  const storedName = identity.origin.slice(0, identity.origin.lastIndexOf('/'))
  if (logName !== undefined && logName !== storedName)
    throw new RegistryError(
      'CONFIG_ERROR',
      `This log was named ${storedName} at its first start, and every checkpoint contains that name: set the ` +
        `log's name to ${storedName}, not to ${logName}`,
    )
  if (!isReadOnly && !(await identity.holds(identity.verifierKey))) throw missingNewestKey(identity.verifierKey)
  return identity
}

/** The stored record of a log's identity, with the version that a commit checks. */
interface StoredIdentity {
  readonly record: LogIdentityRecord
  readonly version: Version
}

/** Returns `undefined` if there is no log yet. Throws `CORRUPT` if the record lacks what opening the log needs. */
async function readIdentity(records: RecordStore): Promise<StoredIdentity | undefined> {
  const [entry] = await readAll(records, [logKeys.identity()])
  if (entry === undefined) return undefined
  const record = decodeRecord(entry)
  if (!isComplete(record)) throw corruptRecord(entry, 'not the identity of a log')
  return { record, version: entry.version }
}

const isComplete = ({ origin, keys, secretId, textKey }: Partial<LogIdentityRecord>): boolean =>
  [origin, secretId, textKey].every(isText) &&
  Array.isArray(keys) &&
  keys.every(({ entry, vkey }: Partial<LogKeyRecord>) => isText(entry) && isText(vkey))

const isText = (value: unknown): boolean => typeof value === 'string'

/** The origin of the log in a record store, `undefined` if there is no log yet. */
export const storedOrigin = async (records: RecordStore): Promise<string | undefined> =>
  (await readIdentity(records))?.record.origin

/** Identifies a root secret without revealing it. */
export const secretIdOf = (secret: Uint8Array): string => toHex(deriveSecret(secret, 'secret-id')).slice(0, 32)

const TEXT_KEY_BYTES = 32

/** Throws `CORRUPT` if the record has no such key. */
export function keyedHashOf({ textKey }: LogIdentityRecord): KeyedHash {
  const key = storedBytes(textKey, 'The key of hashes')
  if (key.length !== TEXT_KEY_BYTES) throw corrupt(`The key of hashes has ${key.length} bytes`)
  return hmacSha256(key)
}

/** Throws `LOG_KEY_MISMATCH` if a log was created with another root secret. */
function assertSecretOf({ origin, secretId }: LogIdentityRecord, secret: Uint8Array): void {
  if (secretId !== secretIdOf(secret))
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The root secret is not the secret with which the log ${origin} was created: start with that secret, or create ` +
        'a new log in an empty store',
    )
}

async function createIdentity({
  records,
  secret,
  signer,
  logName = DEFAULT_LOG_NAME,
  clock,
}: LogIdentityOptions): Promise<StoredIdentity> {
  if ((await records.logSize()) > 0) {
    // Another process may have created it meanwhile.
    const other = await readIdentity(records)
    if (other !== undefined) return other
    throw corrupt('The log has entries, but the record of its identity is missing')
  }
  const [publicKey] = await signer.publicKeys()
  if (publicKey === undefined)
    throw new RegistryError('CONFIG_ERROR', 'There is no checkpoint key for the new log: generate one first')
  const origin = originOf(logName, publicKey.subarray(1))
  const vkey = formatTypedKey(origin, publicKey)
  const append = appendControl(keyOpening({ log: origin, prev: null, sig: null, vkey }))
  const record: LogIdentityRecord = {
    origin,
    keys: [{ entry: toHex(append.entry), vkey }],
    secretId: secretIdOf(secret),
    createdAt: clock.now(),
    textKey: toHex(randomBytes(TEXT_KEY_BYTES)),
  }
  await tryCommit(records, {
    checks: [{ key: logKeys.identity(), version: null }],
    writes: [putRecord(logKeys.identity(), record)],
    append: [append],
  })
  const stored = await readIdentity(records)
  if (stored === undefined)
    throw new RegistryError('UNAVAILABLE', "The log's identity could not be stored: start again")
  return stored
}

/** Commits. After a conflict or an unknown outcome, the caller must read what is stored. */
async function tryCommit(records: RecordStore, commit: Commit): Promise<void> {
  try {
    await records.commit(commit)
  } catch (error) {
    if (!isRegistryError(error, 'UNKNOWN_OUTCOME')) throw error
  }
}

const missingNewestKey = (verifierKey: string): RegistryError =>
  new RegistryError(
    'LOG_KEY_MISMATCH',
    `The private key of the newest checkpoint key is missing: ${verifierKey}. Restore the keyring, or copy it from ` +
      'another server of the same log',
  )

/** A stored identity whose keys were found in the log. */
interface KeyRing {
  readonly stored: StoredIdentity
  /** Oldest first. */
  readonly keys: readonly KeyInLog[]
  readonly current: KeyInLog
}

async function openKeyRing(records: RecordStore, stored: StoredIdentity): Promise<KeyRing> {
  const entries = stored.record.keys.map(({ entry }) => fromHex(entry) ?? new Uint8Array(HASH_BYTES))
  const positions = await records.positionsOf(entries)
  const keys = stored.record.keys.map((record, i) => logKeyOf(record, positions[i], i))
  const current = keys.at(-1)
  if (current === undefined) throw corrupt("The log's identity has no key")
  return { stored, keys, current }
}

function logKeyOf(record: LogKeyRecord, position: number | undefined, index: number): KeyInLog {
  const { entry, vkey, compromised: isCompromised = false } = record
  if (position === undefined || (index === 0 && position !== 0))
    throw corrupt(`The entry of checkpoint key ${index} is missing in the log`)
  return { entry, position, verifierKey: vkey, isCompromised }
}

const markedKey = (key: LogKeyRecord, isMarked: boolean): LogKeyRecord =>
  isMarked ? { ...key, compromised: true } : key

/** The log's origin and all its checkpoint keys. */
export class LogIdentity implements LogSigner {
  readonly #records: RecordStore
  readonly #signer: CheckpointSigner
  #ring: KeyRing

  constructor(records: RecordStore, signer: CheckpointSigner, ring: KeyRing) {
    this.#records = records
    this.#signer = signer
    this.#ring = ring
  }

  get origin(): string {
    return this.#ring.stored.record.origin
  }

  /** The hash of texts in keys of this store. It never changes. */
  get keyedHash(): KeyedHash {
    return keyedHashOf(this.#ring.stored.record)
  }

  /** The C2SP verifier key of the newest checkpoint key: `origin+hash+base64`. */
  get verifierKey(): string {
    return this.#ring.current.verifierKey
  }

  /** Every checkpoint key, in the order of their entries. */
  get keys(): readonly KeyInLog[] {
    return this.#ring.keys
  }

  /** A retired key never signs a tree that contains the entry of the next key, also if that key is not here. */
  async signCheckpoint(size: number, root: Uint8Array): Promise<string> {
    const key = this.keys.findLast(({ position }) => position < size)
    if (key === undefined) throw new RangeError(`A tree of ${size} entries contains no checkpoint key`)
    const text = checkpointText({ origin: this.origin, size, root })
    return formatNote(text, key.verifierKey, await this.#sign(key, encodeUtf8(text)))
  }

  async refresh(): Promise<void> {
    const stored = await readIdentity(this.#records)
    if (stored === undefined) throw corrupt("The record of the log's identity is missing")
    if (stored.version !== this.#ring.stored.version) this.#ring = await openKeyRing(this.#records, stored)
  }

  /** The verifier keys that the signer has, and that are not in the log, in the order of the signer. */
  async pendingKeys(): Promise<readonly string[]> {
    const own = (await this.#signer.publicKeys()).map((publicKey) => formatTypedKey(this.origin, publicKey))
    return own.filter((verifierKey) => !this.keys.some((key) => key.verifierKey === verifierKey))
  }

  /** Whether the signer has the private key of a verifier key of this log. */
  async holds(verifierKey: string): Promise<boolean> {
    const publicKey = typedKeyOf(verifierKey)
    return (await this.#signer.publicKeys()).some((each) => equalBytes(each, publicKey))
  }

  /**
   * Adds the first pending key to the log, signed by the current one, and returns it. It signs the checkpoints whose
   * tree contains its entry. Processes that add the same key at the same time add it once. `compromised`: others may
   * know the current key, which is marked.
   *
   * @throws RegistryError `CONFIG_ERROR` if no key is pending or the log has `MAX_LOG_KEYS` keys,
   *   `LOG_KEY_MISMATCH` if the signer does not have the current key, `UNAVAILABLE` if nothing was stored,
   *   `UNKNOWN_OUTCOME` if it could not be read whether it was stored
   */
  async rotateCheckpointKey({ compromised = false }: { readonly compromised?: boolean } = {}): Promise<KeyInLog> {
    await this.refresh()
    const { record, version } = this.#ring.stored
    const [vkey] = await this.pendingKeys()
    if (vkey === undefined)
      throw new RegistryError(
        'CONFIG_ERROR',
        'There is no new checkpoint key: run evidence-registry keys generate first, or add one to your own signer',
      )
    if (record.keys.length >= MAX_LOG_KEYS)
      throw new RegistryError(
        'CONFIG_ERROR',
        `The log has ${MAX_LOG_KEYS} checkpoint keys, which is the limit: continue with a new registry`,
      )
    const handover = { log: this.origin, prev: this.#ring.current.entry, vkey }
    const sig = toHex(await this.#sign(this.#ring.current, keyHandover(handover)))
    const append = appendControl(keyOpening({ ...handover, sig }))
    const keys = record.keys.map((key) => markedKey(key, compromised && key.entry === handover.prev))
    await tryCommit(this.#records, {
      checks: [{ key: logKeys.identity(), version }],
      writes: [putRecord(logKeys.identity(), { ...record, keys: [...keys, { entry: toHex(append.entry), vkey }] })],
      append: [append],
    })
    await this.#refreshAfterCommit()
    const added = this.keys.find(({ verifierKey }) => verifierKey === vkey)
    if (added === undefined)
      throw new RegistryError('UNAVAILABLE', 'The new checkpoint key could not be stored: rotate again')
    return added
  }

  /**
   * Marks a key that signs no more as known to others.
   *
   * @throws RegistryError `CONFIG_ERROR` if the log has no such key, or it is the current one, `UNAVAILABLE` if it
   *   could not be marked
   */
  async markCompromised(verifierKey: string): Promise<void> {
    await this.refresh()
    const { record, version } = this.#ring.stored
    if (!record.keys.slice(0, -1).some(({ vkey }) => vkey === verifierKey))
      throw new RegistryError(
        'CONFIG_ERROR',
        'Only an earlier key of the log can be marked: see keys list. Rotate the current one with --compromised',
      )
    const keys = record.keys.map((key) => markedKey(key, key.vkey === verifierKey))
    await tryCommit(this.#records, {
      checks: [{ key: logKeys.identity(), version }],
      writes: [putRecord(logKeys.identity(), { ...record, keys })],
    })
    await this.refresh()
    if (!this.keys.some((key) => key.verifierKey === verifierKey && key.isCompromised))
      throw new RegistryError('UNAVAILABLE', 'The checkpoint key could not be marked: mark it again')
  }

  /** Throws only `UNKNOWN_OUTCOME`, because the commit before may have added the key. */
  async #refreshAfterCommit(): Promise<void> {
    try {
      await this.refresh()
    } catch (cause) {
      throw new RegistryError(
        'UNKNOWN_OUTCOME',
        'It could not be read whether the new checkpoint key is in the log: look with list() before you rotate again',
        { cause },
      )
    }
  }

  /** Verifies the signature, because a signer outside this process may use another key. */
  async #sign({ verifierKey }: KeyInLog, bytes: Uint8Array): Promise<Uint8Array> {
    const { publicKey } = parseVerifierKey(verifierKey)
    const signature = await this.#signer.sign(typedKeyOf(verifierKey), bytes)
    if (verifySignature(publicKey, bytes, signature)) return signature
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The signer's signature does not verify with ${verifierKey}: correct it`,
    )
  }
}

import { fromHex, toHex } from '../bytes.ts'
import { assertLogName, keyHandover, keyOpening, originOf } from '../commitment/log-entry.ts'
import { RegistryError, isRegistryError } from '../errors.ts'
import type { CheckpointSigner, Clock, Commit, RecordStore, Version, LogAppend } from '../ports/index.ts'
import { deriveSecret } from '../secrets.ts'
import { decodeRecord, putRecord } from '../store/record-codec.ts'
import { checkpointText } from './checkpoint.ts'
import { logKeys } from './keys.ts'
import { appendControl } from './payload.ts'
import { createNoteSigner, publicKeyOfSeed, type NoteSigner } from './note.ts'
import type { LogIdentityRecord, LogKeyRecord } from './records.ts'
import { HASH_BYTES } from './tree/hasher.ts'

/** The log's origin and all its checkpoint keys. */
export interface LogIdentity extends CheckpointSigner {
  /** The C2SP verifier key of the newest checkpoint key: `origin+hash+base64`. */
  readonly verifierKey: string
  /** Every checkpoint key, in the order of their entries. */
  readonly keys: readonly LogKey[]
  /**
   * Adds the next key to the log, signed by the current one, and returns it. It signs the checkpoints whose tree
   * contains its entry. Processes that rotate at the same time add the same key once, because key, signature and entry
   * are deterministic.
   */
  rotateCheckpointKey(): Promise<LogKey>
}

export interface LogKey {
  /** The number from which the key is derived, from 0. */
  readonly generation: number
  /** The key's log entry, hex. */
  readonly entry: string
  /** The position of that entry in the log. */
  readonly position: number
  readonly verifierKey: string
}

export interface LogIdentityOptions {
  readonly records: RecordStore
  /** The root secret; the checkpoint keys are derived from it. */
  readonly secret: Uint8Array
  /**
   * The `NAME` of the origin, fixed at the first start. Default: the stored name, at the first start
   * `evidence-registry`.
   */
  readonly logName?: string
  readonly clock: Clock
}

export const DEFAULT_LOG_NAME = 'evidence-registry'

/**
 * Opens the log's identity. The first start creates it, with the first key as entry 0 of the log. If several processes
 * start for the first time together, all use the identity that was stored first.
 *
 * Throws `LOG_KEY_MISMATCH` if the secret is not the secret of this log, `CONFIG_ERROR` if the name is not valid or not
 * the stored one, `CORRUPT` if the entry of a key is missing in the log.
 */
export async function openLogIdentity(options: LogIdentityOptions): Promise<LogIdentity> {
  const { records, secret, logName } = options
  if (logName !== undefined) assertLogName(logName)
  const stored = (await readIdentity(records)) ?? (await createIdentity(options))
  const identity = new StoredLogIdentity(records, secret, await openKeyRing(records, secret, stored))
  const storedName = identity.origin.slice(0, identity.origin.lastIndexOf('/'))
  if (logName !== undefined && logName !== storedName)
    throw new RegistryError(
      'CONFIG_ERROR',
      `This log was named ${storedName} at its first start, and every checkpoint contains that name: set the log's name to ${storedName}, not to ${logName}`,
    )
  return identity
}

/** The origin of the log in a record store, `undefined` if there is no log yet. */
export const storedOrigin = async (records: RecordStore): Promise<string | undefined> =>
  (await readIdentity(records))?.record.origin

interface StoredIdentity {
  readonly record: LogIdentityRecord
  readonly version: Version
}

async function readIdentity(records: RecordStore): Promise<StoredIdentity | undefined> {
  const [entry] = await records.get([logKeys.identity()])
  const record = decodeRecord<LogIdentityRecord>(entry)
  return entry && record && { record, version: entry.version }
}

async function createIdentity({
  records,
  secret,
  logName = DEFAULT_LOG_NAME,
  clock,
}: LogIdentityOptions): Promise<StoredIdentity> {
  if ((await records.logSize()) > 0) {
    // Another process may have created it meanwhile.
    const other = await readIdentity(records)
    if (other !== undefined) return other
    throw new RegistryError(
      'CORRUPT',
      'The log has entries, but the record of its identity is missing: restore the store from a backup',
    )
  }
  const origin = originOf(logName, publicKeyOfSeed(deriveSecret(secret, 'checkpoint-key/0')))
  const { verifierKey } = signerOf(secret, origin, 0)
  const opening = keyOpening({ log: origin, prev: null, sig: null, vkey: verifierKey })
  const append = appendControl(opening)
  const record: LogIdentityRecord = {
    origin,
    keys: [{ generation: 0, entry: toHex(append.entry), vkey: verifierKey }],
    createdAt: clock.now(),
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

const signerOf = (secret: Uint8Array, origin: string, generation: number): NoteSigner =>
  createNoteSigner(origin, deriveSecret(secret, `checkpoint-key/${generation}`))

interface SigningKey {
  readonly key: LogKey
  readonly signer: NoteSigner
}

/** A stored identity whose keys were derived again and found in the log. */
interface KeyRing {
  readonly stored: StoredIdentity
  /** Oldest first. */
  readonly signingKeys: readonly SigningKey[]
  readonly current: SigningKey
}

async function openKeyRing(records: RecordStore, secret: Uint8Array, stored: StoredIdentity): Promise<KeyRing> {
  const { origin, keys } = stored.record
  const positions = await records.positionsOf(keys.map(({ entry }) => fromHex(entry) ?? new Uint8Array(HASH_BYTES)))
  const signingKeys = keys.map((record, i) => ({
    signer: openSigner(secret, origin, record),
    key: logKeyOf(record, positions[i], i === 0),
  }))
  const current = signingKeys.at(-1)
  if (current === undefined)
    throw new RegistryError('CORRUPT', "The log's identity has no key: restore the store from a backup")
  return { stored, signingKeys, current }
}

function openSigner(secret: Uint8Array, origin: string, { generation, vkey }: LogKeyRecord): NoteSigner {
  const signer = signerOf(secret, origin, generation)
  if (signer.verifierKey !== vkey)
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The root secret is not the secret with which the log ${origin} was created: start with that secret, or create a ` +
        'new log in an empty store',
    )
  return signer
}

function logKeyOf({ generation, entry, vkey }: LogKeyRecord, position: number | undefined, isFirst: boolean): LogKey {
  if (position === undefined || (isFirst && position !== 0))
    throw new RegistryError(
      'CORRUPT',
      `The entry of checkpoint key ${generation} is missing in the log: restore the store from a backup`,
    )
  return { generation, entry, position, verifierKey: vkey }
}

class StoredLogIdentity implements LogIdentity {
  readonly #records: RecordStore
  readonly #secret: Uint8Array
  #ring: KeyRing

  constructor(records: RecordStore, secret: Uint8Array, ring: KeyRing) {
    this.#records = records
    this.#secret = secret
    this.#ring = ring
  }

  get origin(): string {
    return this.#ring.stored.record.origin
  }

  get verifierKey(): string {
    return this.#ring.current.key.verifierKey
  }

  get keys(): readonly LogKey[] {
    return this.#ring.signingKeys.map(({ key }) => key)
  }

  signCheckpoint(size: number, root: Uint8Array): string {
    const signingKey = this.#ring.signingKeys.findLast(({ key }) => key.position < size)
    if (signingKey === undefined) throw new RangeError(`A tree of ${size} entries contains no checkpoint key`)
    return signingKey.signer.signNote(checkpointText({ origin: this.origin, size, root }))
  }

  async refresh(): Promise<void> {
    const stored = await readIdentity(this.#records)
    if (stored === undefined)
      throw new RegistryError('CORRUPT', "The record of the log's identity is missing: restore the store from a backup")
    if (stored.version !== this.#ring.stored.version)
      this.#ring = await openKeyRing(this.#records, this.#secret, stored)
  }

  async rotateCheckpointKey(): Promise<LogKey> {
    await this.refresh()
    const { record, version } = this.#ring.stored
    const { append, keyRecord } = this.#nextKey()
    await tryCommit(this.#records, {
      checks: [{ key: logKeys.identity(), version }],
      writes: [putRecord(logKeys.identity(), { ...record, keys: [...record.keys, keyRecord] })],
      append: [append],
    })
    await this.refresh()
    const added = this.keys.find(({ entry }) => entry === keyRecord.entry)
    if (added === undefined)
      throw new RegistryError('UNAVAILABLE', 'The new checkpoint key could not be stored: rotate again')
    return added
  }

  /** The log entry and the record of the next key, signed by the current one. */
  #nextKey(): { readonly append: LogAppend; readonly keyRecord: LogKeyRecord } {
    const { key, signer } = this.#ring.current
    const generation = key.generation + 1
    const { verifierKey: vkey } = signerOf(this.#secret, this.origin, generation)
    const handover = { log: this.origin, prev: key.entry, vkey }
    const append = appendControl(keyOpening({ ...handover, sig: toHex(signer.sign(keyHandover(handover))) }))
    return { append, keyRecord: { generation, entry: toHex(append.entry), vkey } }
  }
}

import { fromHex, toHex } from '../bytes.ts'
import { RegistryError, isRegistryError } from '../errors.ts'
import { logKeys } from './keys.ts'
import type { CheckpointSigner, Clock, Commit, RecordStore, Version } from '../ports.ts'
import { deriveSecret } from '../secrets.ts'
import { checkpointText } from './checkpoint.ts'
import { assertLogName, entryOf, keyHandover, keyOpening, originOf } from '../commitment/log-entry.ts'
import { createNoteSigner, publicKeyOfSeed, type NoteSigner } from './note.ts'
import { decodeRecord, encodeRecord } from '../store/record-codec.ts'
import type { LogIdentityRecord } from './records.ts'

/** The log's origin and all its checkpoint keys. */
export interface LogIdentity extends CheckpointSigner {
  /** The C2SP verifier key of the newest checkpoint key: `origin+hash+base64`. */
  readonly verifierKey: string
  /** Every checkpoint key there was, in the order of their entries. */
  readonly keys: readonly LogKey[]
  /**
   * Adds the next key to the log, signed by the one before, and answers it. Checkpoints that hold its entry are signed by it.
   * Processes that rotate at the same time make the same key, once: key, signature and so the entry are deterministic.
   */
  rotateCheckpointKey(): Promise<LogKey>
}

export interface LogKey {
  /** Numbers the keys from 0, for their derivation. */
  readonly generation: number
  /** Hex of its log entry. */
  readonly entry: string
  /** Where that entry is in the log. */
  readonly position: number
  readonly verifierKey: string
}

export interface LogIdentityOptions {
  readonly records: RecordStore
  /** The root secret; the checkpoint keys are derived from it. */
  readonly secret: Uint8Array
  /** `NAME` of the origin, fixed at the first start. Default: the stored one, at the first start `evidence-registry`. */
  readonly logName?: string
  readonly clock: Clock
}

export const DEFAULT_LOG_NAME = 'evidence-registry'

/**
 * Opens the log's identity; at the first start makes it, with the first key as entry 0 of the log. Of first starts that race,
 * all take the one that came first.
 *
 * Throws `LOG_KEY_MISMATCH` where the secret is not the one of this log, `CONFIG_ERROR` for a name that cannot be one or is
 * not the stored one, `CORRUPT` where the log lacks a key's entry.
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
      `This log was named ${storedName} at its first start, and its origin is in every checkpoint: set the log's name to that, not to ${logName}`,
    )
  return identity
}

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
    // Another process may have come first since this one looked.
    const other = await readIdentity(records)
    if (other !== undefined) return other
    throw new RegistryError(
      'CORRUPT',
      "The log has entries, but its identity's record is missing: restore the store from a backup",
    )
  }
  const origin = originOf(logName, publicKeyOfSeed(deriveSecret(secret, 'checkpoint-key/0')))
  const { verifierKey } = signerOf(secret, origin, 0)
  const opening = keyOpening({ log: origin, prev: null, sig: null, vkey: verifierKey })
  const entry = entryOf(opening)
  const record: LogIdentityRecord = {
    origin,
    keys: [{ generation: 0, entry: toHex(entry), vkey: verifierKey }],
    createdAt: clock.now(),
  }
  await commitOnce(records, {
    checks: [{ key: logKeys.identity(), version: null }],
    writes: identityWrites(record, toHex(entry), opening),
    append: entry,
  })
  const stored = await readIdentity(records)
  if (stored === undefined)
    throw new RegistryError('UNAVAILABLE', "The log's identity could not be stored: start again")
  return stored
}

const identityWrites = (
  record: LogIdentityRecord,
  entry: string,
  opening: Uint8Array,
): NonNullable<Commit['writes']> => [
  { key: logKeys.identity(), value: encodeRecord(record) },
  { key: logKeys.controlOpening(entry), value: opening },
]

/** Commits, and leaves it to the caller to read what is there after a conflict or an unknown outcome. */
async function commitOnce(records: RecordStore, commit: Commit): Promise<void> {
  try {
    await records.commit(commit)
  } catch (error) {
    if (!isRegistryError(error, 'UNKNOWN_OUTCOME')) throw error
  }
}

const signerOf = (secret: Uint8Array, origin: string, generation: number): NoteSigner =>
  createNoteSigner(origin, deriveSecret(secret, `checkpoint-key/${generation}`))

/** What is known of a stored identity once its keys are derived again and found in the log. */
interface KeyRing {
  readonly stored: StoredIdentity
  readonly keys: readonly LogKey[]
  readonly signers: readonly NoteSigner[]
}

async function openKeyRing(records: RecordStore, secret: Uint8Array, stored: StoredIdentity): Promise<KeyRing> {
  const { origin, keys: keyRecords } = stored.record
  const signers = keyRecords.map(({ generation }) => signerOf(secret, origin, generation))
  if (keyRecords.some(({ vkey }, i) => signers[i]?.verifierKey !== vkey))
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The root secret is not the one that the log ${origin} was begun with: start with that secret, or begin another log with an empty store`,
    )
  const positions = await records.positionsOf(keyRecords.map(({ entry }) => fromHex(entry) as Uint8Array))
  const checkpointKeys = keyRecords.map(({ generation, entry, vkey }, i) => {
    const position = positions[i]
    if (position === undefined || (i === 0 && position !== 0))
      throw new RegistryError(
        'CORRUPT',
        `The entry of checkpoint key ${generation} is not in its place in the log: restore the store from a backup`,
      )
    return { generation, entry, position, verifierKey: vkey }
  })
  return { stored, keys: checkpointKeys, signers }
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
    return this.#newest.verifierKey
  }

  get keys(): readonly LogKey[] {
    return this.#ring.keys
  }

  signCheckpoint(size: number, root: Uint8Array): string {
    const signer = this.#ring.signers[this.#ring.keys.findLastIndex(({ position }) => position < size)]
    if (signer === undefined) throw new RangeError(`A tree of ${size} holds no checkpoint key`)
    return signer.signNote(checkpointText({ origin: this.origin, size, root }))
  }

  async refresh(): Promise<void> {
    const stored = await readIdentity(this.#records)
    if (stored === undefined)
      throw new RegistryError('CORRUPT', "The record of the log's identity is gone: restore the store from a backup")
    if (stored.version !== this.#ring.stored.version)
      this.#ring = await openKeyRing(this.#records, this.#secret, stored)
  }

  async rotateCheckpointKey(): Promise<LogKey> {
    await this.refresh()
    const { stored, signers } = this.#ring
    const before = this.#newest
    const generation = before.generation + 1
    const { verifierKey } = signerOf(this.#secret, this.origin, generation)
    const handover = { log: this.origin, prev: before.entry, vkey: verifierKey }
    const sig = toHex((signers.at(-1) as NoteSigner).sign(keyHandover(handover)))
    const opening = keyOpening({ ...handover, sig })
    const entry = toHex(entryOf(opening))
    await commitOnce(this.#records, {
      checks: [{ key: logKeys.identity(), version: stored.version }],
      writes: identityWrites(
        { ...stored.record, keys: [...stored.record.keys, { generation, entry, vkey: verifierKey }] },
        entry,
        opening,
      ),
      append: entryOf(opening),
    })
    await this.refresh()
    const added = this.keys.find((key) => key.entry === entry)
    if (added === undefined)
      throw new RegistryError('UNAVAILABLE', 'The new checkpoint key could not be stored: rotate again')
    return added
  }

  get #newest(): LogKey {
    return this.#ring.keys.at(-1) as LogKey
  }
}

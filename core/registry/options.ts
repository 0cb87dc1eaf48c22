import { isBytes } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type {
  BlobStore,
  CheckpointSigner,
  Clock,
  Logger,
  RecordStore,
  Sealer,
  SignedHead,
  SignedHeadKeeper,
} from '../ports/index.ts'
import { MAX_SMALL_FILE_BYTES } from '../store/blob-lifecycle.ts'
import { STORE_MEMBERS } from '../store/decorate.ts'

/** What `openRegistry` needs. The stores and the sealer belong to the registry from then on: it closes them. */
export interface RegistryOptions {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** Seals the log. Make it with `createSealer` of `evidence-registry/sealer`. */
  readonly sealer: Sealer
  /** Remembers the last signed size outside the record store, so that a store that was set back is noticed. */
  readonly signedHead: SignedHeadKeeper
  /**
   * At least 32 random bytes, kept outside the record store. API keys and file tokens depend on it: a log can only be
   * opened with the secret it was created with.
   */
  readonly secret: Uint8Array
  /**
   * The keys that sign checkpoints: a keyring file (`openOrCreateCheckpointKeys` of `evidence-registry/adapters/files`)
   * or a key management service.
   */
  readonly checkpointSigner: CheckpointSigner
  /** Sets the operator key (at least 16 characters). Default: the key of an earlier start stays valid. */
  readonly operatorKey?: string
  /** The name of the log, fixed at the first start. Default `evidence-registry`. */
  readonly logName?: string
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Default: nothing is logged. A pino logger fits. */
  readonly logger?: Logger
  /**
   * Files with at most this many bytes are stored in the records, and not as blobs. 0 to 65,536, where 0 means that all
   * files are blobs. Can change at any start. Default 4,096.
   */
  readonly smallFileBytes?: number
  /**
   * Confirms that the clock is right although it is behind the last batch, or before 2025. Default false: writes throw
   * `UNAVAILABLE` then.
   */
  readonly acceptClock?: boolean
  /** Trees that are known to be signed, for example from a ledger beside the records. The store must hold them. */
  readonly knownHeads?: readonly SignedHead[]
  /**
   * Serves what is recorded, and writes and signs nothing: each write throws `UNAVAILABLE`. Opens a store that has lost
   * signed entries as well. Default false.
   */
  readonly readOnly?: boolean
}

/** The members that each part must have. What an adapter lacks is `null`, not missing. */
const PARTS = {
  ...STORE_MEMBERS,
  sealer: ['start', 'notify', 'sealNow', 'status', 'close'],
  signedHead: ['read', 'write'],
  checkpointSigner: ['publicKeys', 'sign'],
} as const
const OPTIONAL_PARTS = {
  clock: ['now', 'sleep'],
  logger: ['debug', 'info', 'warn', 'error'],
} as const
const OPTIONAL_VALUES = {
  operatorKey: 'string',
  logName: 'string',
  smallFileBytes: 'number',
  acceptClock: 'boolean',
  knownHeads: 'object',
  readOnly: 'boolean',
} as const
const KNOWN = new Set<string>([
  'secret',
  ...[PARTS, OPTIONAL_PARTS, OPTIONAL_VALUES].flatMap((each) => Object.keys(each)),
])

/** Throws `CONFIG_ERROR`, which names the option that is missing or wrong. */
export function assertOptions(options: RegistryOptions): void {
  if (!isObject(options)) throw wrong('options', `must be an object of ${[...KNOWN].join(', ')}`)
  const values = new Map<string, unknown>(Object.entries(options))
  for (const [name, members] of Object.entries(PARTS)) assertPart(name, values.get(name), members)
  if (!isBytes(options.secret))
    throw wrong('secret', 'must be a Uint8Array of at least 32 random bytes', options.secret)
  for (const [name, members] of Object.entries(OPTIONAL_PARTS))
    if (values.get(name) !== undefined) assertPart(name, values.get(name), members)
  for (const [name, type] of Object.entries(OPTIONAL_VALUES)) {
    const value = values.get(name)
    if (value !== undefined && typeof value !== type) throw wrong(name, `must be a ${type}`, value)
  }
  const { smallFileBytes = 0 } = options
  if (!Number.isInteger(smallFileBytes) || smallFileBytes < 0 || smallFileBytes > MAX_SMALL_FILE_BYTES)
    throw wrong('smallFileBytes', `must be an integer from 0 to ${MAX_SMALL_FILE_BYTES}`)
  for (const name of values.keys()) if (!KNOWN.has(name)) throw wrong(name, 'is not an option of openRegistry')
}

function assertPart(name: string, part: unknown, members: readonly string[]): void {
  if (!isObject(part)) throw wrong(name, `must be an object with ${members.join(', ')}`, part)
  const missing = members.find((member) => part[member] === undefined)
  if (missing !== undefined) throw wrong(name, `must have the member ${missing}`)
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function wrong(field: string, problem: string, ...given: readonly unknown[]): RegistryError {
  const got = given.length === 0 ? '' : `, not ${given[0] === undefined ? 'undefined' : typeof given[0]}`
  return new RegistryError('CONFIG_ERROR', `${field} ${problem}${got}`, { field })
}

import { RegistryError } from '../../core/errors.ts'

/** One table of all settings, and so one long file: `--help`, the README, errors and the types are made of it. */

/** One row of the configuration: where its value may come from follows from its name. */
export interface Setting<T> {
  /** What it takes, for people: it stands in `--help`, in the README and in the error. */
  readonly takes: string
  readonly doc: string
  readonly fallback: T
  /** The fallback as it is shown, where its text says too little. */
  readonly shownFallback?: string
  /** Never shown, and also read from the file that `…_FILE` names. */
  readonly secret?: true
  /** A flag without a value means `true`. */
  readonly flag?: 'switch'
  /** `undefined` where the text is not what it takes. */
  parse(text: string): T | undefined
}

const integer = (min: number, max: number): Pick<Setting<number>, 'takes' | 'parse'> => ({
  takes: `an integer from ${min} to ${max}`,
  parse(text) {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : undefined
    return value !== undefined && value >= min && value <= max ? value : undefined
  },
})

const oneOf = <const T extends string>(...values: readonly T[]) => ({
  takes: `one of ${values.join(', ')}`,
  parse: (text: string): T | undefined => values.find((value) => value === text),
})

const flag = {
  takes: 'true or false',
  flag: 'switch',
  parse: (text: string) => ({ true: true, false: false })[text],
} as const

const text = (takes: string, pattern: RegExp) => ({
  takes,
  parse: (value: string) => (pattern.test(value) ? value : undefined),
})

const path = text('a path', /^[^\0]+$/)

/** `http://host/base` without a slash at its end. */
function httpUrl(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined
  const url = new URL(value)
  const bare =
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.search === '' &&
    url.hash === '' &&
    url.username === ''
  return bare ? url.href.replace(/\/+$/, '') : undefined
}

/** One http or https URL, or several with commas between. */
function rpcUrls(value: string): readonly string[] | undefined {
  const urls = value.split(',').map((url) => url.trim())
  return urls.every((url) => URL.canParse(url) && /^https?:/i.test(url)) ? urls : undefined
}

const confirmations = {
  takes: 'an integer from 1 to 100000, or finalized',
  parse: (value: string): number | 'finalized' | undefined =>
    value === 'finalized' ? value : integer(1, 100_000).parse(value),
}

const gwei = {
  takes: 'a number above 0 with up to 9 decimals',
  parse: (value: string): number | undefined =>
    /^\d{1,6}(\.\d{1,9})?$/.test(value) && Number(value) > 0 ? Number(value) : undefined,
}

const postgresUrl = (value: string): string | undefined =>
  URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol) ? value : undefined

/** Values separated by commas, none of which holds one. */
const listOf =
  <T>(parse: (value: string) => T | undefined) =>
  (joined: string): readonly T[] | undefined => {
    const values = joined.split(',').map((value) => parse(value.trim()))
    return values.every((value) => value !== undefined) ? values : undefined
  }

const DAY_MS = 24 * 60 * 60 * 1_000
/** A type for the settings without a fallback: they are `undefined` where nobody sets them. */
const unset = <T>(): T | undefined => undefined
const row = <T>(setting: Setting<T>): Setting<T> => setting

/** Every setting there is. A name `fooBar` is the flag `--foo-bar`, the variable `EVIDENCE_FOO_BAR` and the file's key `fooBar`. */
export const SETTINGS = {
  port: row({ ...integer(0, 65_535), fallback: 8080, doc: 'TCP port; 0 takes a free one' }),
  host: row({
    ...text('a host name or address', /^[A-Za-z0-9.:_-]+$/),
    fallback: '127.0.0.1',
    doc: 'Address to listen on',
  }),
  dataDir: row({ ...path, fallback: './data', doc: 'Where records, files, keys and the local ledger are kept' }),
  publicUrl: row<string | undefined>({
    takes: 'an http or https URL',
    parse: httpUrl,
    fallback: unset<string>(),
    shownFallback: 'the address it listens on',
    doc: 'Address under which clients reach the service, without /api/v1: links are made of it',
  }),
  operatorKey: row<string | undefined>({
    ...text('16 to 1,024 printable ASCII characters', /^[\x21-\x7e]{16,1024}$/),
    fallback: unset<string>(),
    shownFallback: 'made at the first start',
    secret: true,
    doc: 'Key that acts as A in every company and creates companies; replaces the one before',
  }),
  records: row({
    ...oneOf('level', 'postgres'),
    fallback: 'level',
    doc: 'Where records are kept: LevelDB in the data directory, or a PostgreSQL that several servers may share',
  }),
  postgresUrl: row<string | undefined>({
    takes: 'postgres://user:password@host:port/database',
    parse: postgresUrl,
    fallback: unset<string>(),
    shownFallback: 'none',
    secret: true,
    doc: 'The database, for records in PostgreSQL',
  }),
  secretFile: row<string | undefined>({
    ...path,
    fallback: unset<string>(),
    shownFallback: 'secret in the data directory, made at the first start',
    doc: 'File with the root secret, at least 32 bytes; all other secrets derive from it',
  }),
  blobs: row<'files' | 's3'>({
    ...oneOf('files', 's3'),
    fallback: 'files',
    doc: 'Where files are: in the data directory, or in a bucket',
  }),
  s3Bucket: row<string | undefined>({
    ...text('the name of a bucket', /^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$/),
    fallback: unset<string>(),
    shownFallback: 'none',
    doc: 'Bucket for files, without versioning; region and credentials come from where the AWS SDK takes them',
  }),
  s3Prefix: row({
    ...text('at most 512 of A-Z a-z 0-9 . _ - /', /^[A-Za-z0-9._/-]{1,512}$/),
    fallback: 'evidence/',
    doc: "Before each key in the bucket; what is below it is the registry's alone",
  }),
  s3Endpoint: row<string | undefined>({
    takes: 'an http or https URL',
    parse: httpUrl,
    fallback: unset<string>(),
    shownFallback: 'that of Amazon S3',
    doc: 'Address of another service that speaks S3',
  }),
  s3PathStyle: row<boolean | undefined>({
    ...flag,
    fallback: unset<boolean>(),
    shownFallback: 'true with an endpoint, else false',
    doc: 'Name the bucket in the path, not in the host',
  }),
  s3Encryption: row<'bucket' | 'AES256' | 'aws:kms'>({
    ...oneOf('bucket', 'AES256', 'aws:kms'),
    fallback: 'bucket',
    doc: 'Server-side encryption: as the bucket is set, with keys of the service, or with one of a key service',
  }),
  s3KmsKeyId: row<string | undefined>({
    ...text('the id of a key', /^[\x21-\x7e]{1,2048}$/),
    fallback: unset<string>(),
    shownFallback: "the account's own",
    doc: 'Key for aws:kms',
  }),
  s3Checksums: row<'WHEN_REQUIRED' | 'WHEN_SUPPORTED'>({
    ...oneOf('WHEN_REQUIRED', 'WHEN_SUPPORTED'),
    fallback: 'WHEN_REQUIRED',
    doc: 'When requests carry checksums of the AWS SDK, which not every service takes; files are hashed in any case',
  }),
  logName: row({
    ...text('1 to 160 of A-Z a-z 0-9 . _ - /', /^[A-Za-z0-9._/-]{1,160}$/),
    fallback: 'evidence-registry',
    doc: "Name in the log's origin; fixed at the first start",
  }),
  sealMaxWaitMs: row({
    ...integer(1, DAY_MS),
    fallback: 5_000,
    doc: 'A batch closes when its oldest event has waited so long',
  }),
  sealMaxLeaves: row({ ...integer(1, 1_048_576), fallback: 65_536, doc: 'A batch closes when it has so many entries' }),
  anchor: row({
    ...oneOf('local', 'evm', 'none'),
    fallback: 'local',
    doc: 'Where checkpoints are anchored: the local ledger (for one server, not for shared records), an EVM chain, or nowhere',
  }),
  anchorIntervalMs: row<number | undefined>({
    ...integer(0, DAY_MS),
    fallback: unset<number>(),
    shownFallback: '0, on an EVM chain 600000',
    doc: 'Time between anchors; 0 anchors the newest batch as soon as the anchor before is confirmed',
  }),
  evmRpcUrl: row<readonly string[] | undefined>({
    takes: 'http or https URLs with commas between',
    parse: rpcUrls,
    fallback: unset<readonly string[]>(),
    shownFallback: 'none',
    secret: true,
    doc: 'JSON-RPC addresses of nodes of the EVM chain, best of different operators; one that fails is passed over',
  }),
  evmChainId: row<number | undefined>({
    ...integer(1, 2 ** 48),
    fallback: unset<number>(),
    shownFallback: 'none',
    doc: 'Chain id of the EVM chain; a node of another one is not used',
  }),
  evmPrivateKey: row<string | undefined>({
    ...text('64 hex digits', /^(0x)?[0-9a-fA-F]{64}$/),
    fallback: unset<string>(),
    shownFallback: 'none',
    secret: true,
    doc: 'Private key of the account that signs and pays; it should sign nothing else',
  }),
  evmKeystore: row<string | undefined>({
    ...path,
    fallback: unset<string>(),
    shownFallback: 'none',
    doc: 'Keystore file of that account (Web3 Secret Storage, version 3), in place of the private key',
  }),
  evmKeystorePassword: row<string | undefined>({
    ...text('1 to 1,024 characters', /^[^\0]{1,1024}$/u),
    fallback: unset<string>(),
    shownFallback: 'none',
    secret: true,
    doc: 'Password of the keystore file',
  }),
  evmConfirmations: row<number | 'finalized'>({
    ...confirmations,
    fallback: 12,
    doc: 'An anchor is confirmed in a block so deep, its own counted, or in one that the chain calls finalized',
  }),
  evmMaxFeeGwei: row({ ...gwei, fallback: 100, doc: 'No anchor offers more for a gas, tip included' }),
  tsaIntervalMs: row({ ...integer(0, DAY_MS), fallback: 0, doc: 'Time between time stamps; 0 stamps every batch' }),
  tsa: row({
    ...oneOf('local', 'rfc3161', 'none'),
    fallback: 'local',
    doc: "Who stamps the log's checkpoints: the embedded authority (for one server, not for shared records), those of EVIDENCE_TSA_URL, or nobody",
  }),
  tsaUrl: row<readonly string[]>({
    takes: 'http or https URLs, separated by commas',
    parse: listOf((value) => (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined)),
    fallback: [],
    shownFallback: 'none',
    secret: true,
    doc: 'Timestamp authorities (RFC 3161); a URL may hold a name and password, which go over https only',
  }),
  tsaCa: row<readonly string[]>({
    takes: 'paths, separated by commas',
    parse: listOf(path.parse),
    fallback: [],
    shownFallback: 'none',
    doc: 'PEM file with the trust anchors of each authority of EVIDENCE_TSA_URL, in the same order',
  }),
  tsaPolicy: row<readonly string[]>({
    takes: 'dotted object identifiers, separated by commas; an empty one leaves the choice to its authority',
    parse: listOf((value) => (value === '' || /^[0-2](\.\d+)+$/.test(value) ? value : undefined)),
    fallback: [],
    shownFallback: 'what each authority chooses',
    doc: 'Policy that each authority must stamp by, in the same order',
  }),
  tsaQuorum: row<number | undefined>({
    ...integer(1, 100),
    fallback: unset<number>(),
    shownFallback: 'more than half of them',
    doc: 'How many authorities must have stamped a checkpoint',
  }),
  tsaRevocation: row<'none' | 'public' | 'any'>({
    ...oneOf('none', 'public', 'any'),
    fallback: 'public',
    doc: 'Where CRLs and OCSP answers are fetched from: nowhere, public addresses, or any (for a CA in your own network)',
  }),
  tsaTimeoutMs: row({ ...integer(1, 600_000), fallback: 10_000, doc: 'How long an authority may take for a stamp' }),
  maxFileBytes: row({ ...integer(1, 2 ** 40), fallback: 100 * 1024 * 1024, doc: 'Largest file that is taken' }),
  maxFilesPerRequest: row({
    ...integer(1, 1_000),
    fallback: 20,
    doc: 'Most files in one request, and so in one event',
  }),
  uploadIdleMs: row({
    ...integer(1, 3_600_000),
    fallback: 30_000,
    doc: 'A request body ends when no byte came for so long',
  }),
  headersTimeoutMs: row({
    ...integer(1_000, 600_000),
    fallback: 20_000,
    doc: "A request's headers must be whole after so long",
  }),
  shutdownMs: row({
    ...integer(0, 600_000),
    fallback: 15_000,
    doc: 'How long requests under way may take after SIGTERM',
  }),
  rateLimitPerMinute: row({
    ...integer(0, 10_000_000),
    fallback: 0,
    doc: 'Requests a minute of one source system, or of one address without a key; 0 is no limit',
  }),
  trustProxy: row({
    ...flag,
    fallback: false,
    doc: 'Take client addresses from X-Forwarded-For: only behind your own proxy',
  }),
  acceptClock: row({
    ...flag,
    fallback: false,
    doc: 'Confirm that the clock is right although it is behind the last batch',
  }),
  logLevel: row({
    ...oneOf('debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info',
    doc: 'Least severe log lines that are written',
  }),
} as const

export type SettingName = keyof typeof SETTINGS

/** What the server is started with. */
export type Config = { readonly [K in SettingName]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

const words = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())

export const flagOf = (name: string): string => `--${words(name).join('-')}`
export const variableOf = (name: string): string => `EVIDENCE_${words(name).join('_').toUpperCase()}`

/** The value that a text gives a setting. Throws `CONFIG_ERROR` that names the setting, what it takes, and what was given unless it is secret. */
export function parseSetting(name: SettingName, source: string, value: string): Config[SettingName] {
  const setting: Setting<Config[SettingName]> = SETTINGS[name]
  const parsed = setting.parse(value)
  if (parsed !== undefined) return parsed
  const given = setting.secret === true ? '' : `, not ${JSON.stringify(value.slice(0, 128))}`
  throw new RegistryError('CONFIG_ERROR', `${source} takes ${setting.takes}${given}`)
}

/** A row of the table that `--help` prints and the README shows. */
export interface SettingRow {
  readonly flag: string
  readonly variable: string
  readonly fallback: string
  readonly takes: string
  readonly doc: string
}

/** The table of settings, as people read it. */
export const settingRows = (): readonly SettingRow[] =>
  (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const setting: Setting<unknown> = SETTINGS[name]
    const fallback = setting.shownFallback ?? String(setting.fallback)
    return { flag: flagOf(name), variable: variableOf(name), fallback, takes: setting.takes, doc: setting.doc }
  })

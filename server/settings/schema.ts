import Type, { type Static } from '#typebox'
import { MAX_CHECKPOINT_TOKENS } from '../../core/schemas/index.ts'
import {
  baseUrl,
  confirmations,
  DAY_MS,
  flag,
  gwei,
  httpUrls,
  integer,
  oneOf,
  oneOfOrModule,
  optional,
  origins,
  path,
  paths,
  policies,
  postgresUrl,
  setting,
  text,
} from './setting.ts'

const MIB = 1024 * 1024
/** A size that is not limited in practice. */
const MAX_BYTES = 2 ** 40
/** Also of an app that is made without settings. */
export const REQUEST_DEFAULTS = {
  maxFileBytes: 100 * MIB,
  maxFilesPerRequest: 20,
  uploadIdleMs: 30_000,
  uploadMinBytesPerSecond: 10_000,
  rateLimitPerMinute: 0,
  addressLimitPerMinute: 6_000,
  trustProxy: false,
  logsAddresses: true,
}
const SECRET = { isSecret: true }

const server = {
  port: setting(integer(0, 65_535, 8080), 'TCP port. 0 selects a free port'),
  host: setting(text('a host name or address', '^[A-Za-z0-9.:_-]+$', '127.0.0.1'), 'Address to listen on'),
  publicUrl: optional(
    baseUrl(),
    'Address of the service for clients, without /api/v1. The OpenAPI document, links and codes of the ' +
      'dashboard, and the text of the first start contain it, and Location its path',
    { shownDefault: 'none: the dashboard uses its own address' },
  ),
  dataDir: setting(path('./data'), 'Directory for records, files, keys and the local ledger'),
  takeOver: setting(
    flag(false),
    'Confirm that the server of another machine, which used this data directory last, has ended for good',
  ),
  secretFile: optional(
    path(),
    'File with the root secret, at least 32 bytes. The secrets of API keys and file tokens are derived from it',
    { shownDefault: 'secret in the data directory, created at the first start' },
  ),
  checkpointKeys: optional(
    path(),
    'Keyring with the keys that sign checkpoints, or a module of yours with them (.js, .mjs or .cjs). Servers of ' +
      'shared records need the same keys',
    { shownDefault: 'checkpoint-keys.json in the data directory, created at the first start' },
  ),
  operatorKey: optional(
    text('16 to 1,024 printable ASCII characters', '^[\\x21-\\x7e]{16,1024}$'),
    'API key of the operator, who has level A in every company and creates companies. Replaces the previous key',
    { shownDefault: 'created at the first start', ...SECRET },
  ),
  trustProxy: setting(
    flag(REQUEST_DEFAULTS.trustProxy),
    'Read client addresses from X-Forwarded-For. Use it only behind your own reverse proxy',
  ),
  logsAddresses: setting(
    flag(REQUEST_DEFAULTS.logsAddresses),
    'Write the address of the client into the log, with the company and the source system of each request',
  ),
  corsOrigins: setting(
    origins(),
    'Origins whose scripts may use the endpoints that need a key. The public ones are open to every origin',
  ),
  logLevel: setting(
    oneOf(['debug', 'info', 'warn', 'error', 'silent'], 'info'),
    'Least severe log lines that are written',
  ),
}

const records = {
  records: setting(
    oneOfOrModule(['level', 'postgres'], 'level'),
    'Store for records: LevelDB in the data directory, a PostgreSQL that several servers can share, or one of yours',
  ),
  postgresUrl: optional(postgresUrl(), 'The database for EVIDENCE_RECORDS=postgres', SECRET),
  scrubBytesPerSecond: setting(
    integer(0, MAX_BYTES, MIB),
    'How fast the scrub reads all records, log entries and files to find damage. 0 turns it off',
  ),
  scrubIntervalMs: setting(
    integer(0, 366 * DAY_MS, DAY_MS),
    'Least time between the starts of two passes of the scrub',
  ),
}

const files = {
  blobs: setting(
    oneOfOrModule(['files', 's3'], 'files'),
    'Store for files: the data directory, an S3 bucket, or one of yours',
  ),
  s3Bucket: optional(
    text('the name of a bucket', '^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$'),
    'Bucket for files, without versioning. Region and credentials are found as the AWS SDK does it',
  ),
  s3Prefix: setting(
    text('1 to 512 characters of A-Z a-z 0-9 . _ - /', '^[A-Za-z0-9._/-]{1,512}$', 'evidence/'),
    'Prefix of each key in the bucket. No other program may use keys with this prefix',
  ),
  s3Endpoint: optional(baseUrl(), 'Address of another service with the S3 protocol', { shownDefault: 'Amazon S3' }),
  s3PathStyle: optional(flag(), 'Put the name of the bucket into the path instead of the host name', {
    shownDefault: 'true with an endpoint, else false',
  }),
  s3Encryption: setting(
    oneOf(['bucket', 'AES256', 'aws:kms'], 'bucket'),
    'Server-side encryption: the default of the bucket, keys of the service, or a key of a key management service',
  ),
  s3KmsKeyId: optional(text('the id of a key', '^(?!.*(?:://|@))[\\x21-\\x7e]{1,2048}$'), 'Key for aws:kms', {
    shownDefault: 'the default key of the account',
  }),
}

const log = {
  logName: setting(
    text('1 to 160 characters of A-Z a-z 0-9 . _ - /', '^[A-Za-z0-9._/-]{1,160}$', 'evidence-registry'),
    "Name in the log's origin. Fixed at the first start",
  ),
  sealMaxWaitMs: setting(
    integer(1, DAY_MS, 500),
    'Least time from one batch to the next: how long an event waits at most. After a pause it is sealed at once',
  ),
  witnessPolicy: optional(path(), 'C2SP tlog-policy file with the witnesses that cosign checkpoints, and their quorum'),
  witnessIntervalMs: setting(
    integer(1_000, DAY_MS, 60_000),
    'Least time between submissions to the witnesses, as agreed with their operators',
  ),
  sealMaxLeaves: setting(integer(1, 1_048_576, 65_536), 'A batch is closed when it has this many entries'),
  acceptClock: setting(
    flag(false),
    'Confirm that the clock is right although it is behind the last batch, or before 2025',
  ),
  readOnly: setting(
    flag(false),
    'Serve what is recorded, also from a store that lost signed entries. Nothing is written, sealed or signed',
  ),
}

const timestamps = {
  tsa: setting(
    oneOfOrModule(['local', 'rfc3161', 'none'], 'local'),
    "Timestamp authority for checkpoints: the embedded one (the operator's own test authority, for one server: " +
      'proves no time to others), those of EVIDENCE_TSA_URL, none, or one of yours',
  ),
  tsaUrl: setting(
    httpUrls([]),
    'Timestamp authorities (RFC 3161). A URL can contain a name and password, which are sent over https only',
    SECRET,
  ),
  tsaCa: setting(paths(), 'PEM file with the trust anchors of each authority of EVIDENCE_TSA_URL, in the same order', {
    shownDefault: 'none',
  }),
  tsaPolicy: setting(policies(), 'Policy that each authority must use, in the same order', {
    shownDefault: 'each authority chooses',
  }),
  tsaQuorum: optional(integer(1, MAX_CHECKPOINT_TOKENS), 'Number of authorities that must have stamped a checkpoint', {
    shownDefault: 'more than half of them',
  }),
  tsaIntervalMs: optional(
    integer(0, DAY_MS),
    'Least time between stamps. 0: the next one begins when the previous one is complete',
    { shownDefault: '60000 for the embedded one, else 600000' },
  ),
  tsaRevocation: setting(
    oneOf(['none', 'public', 'any'], 'public'),
    'Where CRLs and OCSP responses are fetched from: nowhere, public addresses, or any address (for a CA in ' +
      'your own network)',
  ),
}

const anchors = {
  anchor: setting(
    oneOfOrModule(['local', 'evm', 'none'], 'local'),
    "Where checkpoints are anchored: the local ledger (the operator's own test ledger, for one server), an EVM " +
      'chain, nowhere, or in a place of yours',
  ),
  anchorIntervalMs: optional(
    integer(0, DAY_MS),
    'Time between anchors. 0 anchors the newest batch as soon as the previous anchor is confirmed',
    { shownDefault: '60000 in the local ledger, else 600000' },
  ),
  evmRpcUrl: optional(
    httpUrls(),
    'JSON-RPC addresses of nodes of the EVM chain, best of different operators. A node that fails is skipped',
    SECRET,
  ),
  evmChainId: optional(integer(1, 2 ** 48), 'Id of the EVM chain. A node of another chain is not used'),
  evmPrivateKey: optional(
    text('64 hex digits', '^(0x)?[0-9a-fA-F]{64}$'),
    'Private key of the account that signs and pays. Use this account for nothing else',
    SECRET,
  ),
  evmKeystore: optional(
    path(),
    'Keystore file of that account (Web3 Secret Storage, version 3), instead of the private key',
  ),
  evmKeystorePassword: optional(
    text('1 to 1,024 characters', '^[^\\0]{1,1024}$'),
    'Password of the keystore file',
    SECRET,
  ),
  evmConfirmations: setting(
    confirmations(12),
    'An anchor is confirmed once this many blocks (including its own) are on top, or once its block is finalized',
  ),
  evmMaxFeeGwei: setting(gwei(100), 'Highest fee per gas, including the tip'),
}

const requests = {
  maxFileBytes: setting(integer(1, MAX_BYTES, REQUEST_DEFAULTS.maxFileBytes), 'Size limit of a file'),
  maxFilesPerRequest: setting(
    integer(1, 1_000, REQUEST_DEFAULTS.maxFilesPerRequest),
    'Number of files in one request, and so in one event',
  ),
  uploadIdleMs: setting(
    integer(1, 3_600_000, REQUEST_DEFAULTS.uploadIdleMs),
    'A request is ended if no byte of its body has arrived for this long',
  ),
  shutdownMs: setting(integer(0, 600_000, 15_000), 'Time for running requests to finish after SIGTERM'),
  rateLimitPerMinute: setting(
    integer(0, 10_000_000, REQUEST_DEFAULTS.rateLimitPerMinute),
    'Requests per minute of one company, by all of its keys, or of the operator. 0 means no limit',
  ),
}

/** Limits of what one server does. Those of running requests and of memory are constants (`http/load-limits.ts`). */
const load = {
  uploadMinBytesPerSecond: setting(
    integer(0, 1_000_000, REQUEST_DEFAULTS.uploadMinBytesPerSecond),
    'A request is ended if its body is slower than this on average, once the server has waited a minute for ' +
      'it. 0 means any rate',
  ),
  addressLimitPerMinute: setting(
    integer(0, 10_000_000, REQUEST_DEFAULTS.addressLimitPerMinute),
    'Requests per minute of one address (of IPv6: one /64 network) without a valid key, except those for the ' +
      'policy, the checkpoint and the tiles of the log, and for a public status, which has its own limits. 0 means ' +
      'no limit',
  ),
  metricsAddress: optional(
    text('HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464', '^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):\\d{1,5}$'),
    'Serves /metrics, /livez and /readyz at an address of their own, so that metrics are not public and probes get ' +
      'an answer also if the service has no free connection',
  ),
  metricsToken: optional(
    text('16 to 1,024 printable ASCII characters', '^[\\x21-\\x7e]{16,1024}$'),
    'Serves /metrics at the address of the service, too: to requests with `Authorization: Bearer` and this token',
    SECRET,
  ),
}

/** The settings by topic, in the order of `--help` and the README. */
export const TOPICS = {
  Server: server,
  Records: records,
  Files: files,
  Log: log,
  'Time stamps': timestamps,
  Anchors: anchors,
  Requests: requests,
  Load: load,
}

/**
 * All settings by name. `fooBar` is the flag `--foo-bar`, the variable `EVIDENCE_FOO_BAR` and the file's key `fooBar`.
 */
export const Settings = Type.Object(
  { ...server, ...records, ...files, ...log, ...timestamps, ...anchors, ...requests, ...load },
  { additionalProperties: false },
)

type Values = Static<typeof Settings>

/** The value of every setting. */
export type Config = {
  readonly [K in keyof Values]: object extends Pick<Values, K> ? Values[K] | undefined : Values[K]
}

/** The name of a setting in the file. Its flag and its variable follow from it. */
export type SettingName = keyof typeof Settings.properties

const words = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())

/** `dataDir` is `--data-dir`. */
export const flagOf = (name: string): string => `--${words(name).join('-')}`
/** `dataDir` is `EVIDENCE_DATA_DIR`. */
export const variableOf = (name: string): string => `EVIDENCE_${words(name).join('_').toUpperCase()}`

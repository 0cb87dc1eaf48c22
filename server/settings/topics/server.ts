import { baseUrl, flag, integer, oneOf, optional, origins, path, setting, text } from '../setting.ts'

export const server = {
  port: setting(integer(0, 65_535), { fallback: 8080, doc: 'TCP port. 0 selects a free port' }),
  host: setting(text('a host name or address', /^[A-Za-z0-9.:_-]+$/), {
    fallback: '127.0.0.1',
    doc: 'Address to listen on',
  }),
  publicUrl: optional(baseUrl, {
    shownFallback: 'the address it listens on',
    doc: 'Address of the service for clients, without /api/v1. The OpenAPI document and the text of the first start contain it, and Location its path',
  }),
  dataDir: setting(path, {
    fallback: './data',
    doc: 'Directory for records, files, keys and the local ledger',
  }),
  takeOver: setting(flag, {
    fallback: false,
    doc: 'Confirm that the server of another machine, which used this data directory last, has ended for good',
  }),
  secretFile: optional(path, {
    shownFallback: 'secret in the data directory, created at the first start',
    doc: 'File with the root secret, at least 32 bytes. The secrets of API keys and file tokens are derived from it',
  }),
  checkpointKeys: optional(path, {
    shownFallback: 'checkpoint-keys.json in the data directory, created at the first start',
    doc: 'Keyring with the keys that sign checkpoints. Servers of shared records need the same keys',
  }),
  operatorKey: optional(text('16 to 1,024 printable ASCII characters', /^[\x21-\x7e]{16,1024}$/), {
    shownFallback: 'created at the first start',
    secret: true,
    doc: 'API key of the operator, who has level A in every company and creates companies. Replaces the previous key',
  }),
  trustProxy: setting(flag, {
    fallback: false,
    doc: 'Read client addresses from X-Forwarded-For. Use it only behind your own reverse proxy',
  }),
  corsOrigins: setting(origins, {
    fallback: [],
    shownFallback: 'none',
    doc: 'Origins whose scripts may use the endpoints that need a key. The public ones are open to every origin',
  }),
  logLevel: setting(oneOf('debug', 'info', 'warn', 'error', 'silent'), {
    fallback: 'info',
    doc: 'Least severe log lines that are written',
  }),
} as const

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { TSchema } from 'typebox'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { MemoryCheckpointKeys, MemoryBlobs, MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import {
  openRegistry,
  OPERATOR,
  systemClock,
  type BlobStore,
  type Logger,
  type PermissionLevel,
  type RecordStore,
  type Registry,
} from '../../core/index.ts'
import { keys } from '../../core/store/keys.ts'
import { DocumentCheck } from './document-check.ts'
import { CountingBlobs } from './counting-blobs.ts'
import { validate } from '../../core/schemas/validation.ts'
import { eventually } from './eventually.ts'
import { createMany, numbered } from './many-evidences.ts'
import { silentLogger } from './silent-logger.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { BASE_PATH, createApp, createInstruments, listen, type App, type AppOptions } from '../../server/index.ts'
import { parametersOf, type Endpoint } from '../../server/contract/endpoint.ts'
import { categories } from '../../server/routes/categories.ts'
import { erasures } from '../../server/routes/erasures.ts'
import { evidences } from '../../server/routes/evidences.ts'
import { files } from '../../server/routes/files.ts'
import { log } from '../../server/routes/log.ts'
import { shares } from '../../server/routes/shares.ts'
import { sourceSystems } from '../../server/routes/source-systems.ts'
import { publicStatus } from '../../server/routes/status.ts'
import { verification } from '../../server/routes/verification.ts'
import { AuthorizationError, OperationError, VerificationError } from '../../server/contract/values.ts'

/** Every endpoint of the contract by its operation's id. */
export const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  [categories, evidences, files, shares, erasures, publicStatus, sourceSystems, verification, log].flatMap(
    ({ endpoints }) => endpoints.map((endpoint) => [endpoint.id, endpoint]),
  ),
)

/** The same for every service, because the document depends on no option. */
let documentCheck: DocumentCheck | undefined

export const OPERATOR_KEY = 'operator-key-of-the-tests'
const METRICS_TOKEN = 'metrics-token-of-the-tests'

export interface ServiceOptions extends Partial<Omit<AppOptions, 'registry' | 'logger'>> {
  /** Default 20 ms. With an hour, the sealer does nothing during a test. */
  readonly sealMaxWaitMs?: number
  /** Default 0: all files are blobs. */
  readonly smallFileBytes?: number
  readonly wrapRecords?: (records: RecordStore) => RecordStore
  readonly wrapBlobs?: (blobs: BlobStore) => BlobStore
  readonly logger?: Logger
  readonly headersTimeoutMs?: number
  readonly maxConnections?: number
}

export interface CallOptions {
  readonly key?: string
  /** Path parameters, not encoded. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly form?: FormData
  readonly headers?: Readonly<Record<string, string>>
}

export interface ServiceResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed if it is JSON. Not typed, because `call` has checked its shape. */
  readonly body: ReturnType<typeof JSON.parse>
}

export interface Company {
  readonly id: string
  readonly keys: Readonly<Record<PermissionLevel, string>>
  readonly systems: Readonly<Record<PermissionLevel, string>>
}

export class Service {
  readonly registry: Registry
  readonly records: RecordStore
  readonly blobs: CountingBlobs
  readonly app: App
  readonly port: number
  /** The directory of the authority and the ledger. */
  readonly directory: string
  readonly #close: () => Promise<void>

  constructor(parts: {
    registry: Registry
    records: RecordStore
    blobs: CountingBlobs
    app: App
    port: number
    directory: string
    close: () => Promise<void>
  }) {
    ;({
      registry: this.registry,
      records: this.records,
      blobs: this.blobs,
      app: this.app,
      port: this.port,
      directory: this.directory,
      close: this.#close,
    } = parts)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** The text of `/metrics`. */
  async metrics(): Promise<string> {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    return (await this.fetch('/metrics', { headers })).text()
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.url}${path}`, init)
  }

  /**
   * Calls an endpoint, and checks the response against the shape that the endpoint promises for its status, and against
   * the OpenAPI document.
   */
  async call(id: string, options: CallOptions = {}): Promise<ServiceResponse> {
    const answer = await send(this.url, id, options)
    checkShape(endpointOf(id), answer)
    documentCheck ??= new DocumentCheck(this.app.document())
    documentCheck.check(id, answer)
    return answer
  }

  /** As `call`, and expects a success. Returns the body. */
  async ok(id: string, options: CallOptions = {}): Promise<ServiceResponse['body']> {
    const { status, body, text } = await this.call(id, options)
    assert.ok(status < 300, `${id}: ${status} ${text.slice(0, 300)}`)
    return body
  }

  /** As `call`, and expects a failure. */
  async fails(id: string, status: number, code: string, options: CallOptions = {}): Promise<ServiceResponse> {
    const answer = await this.call(id, options)
    assert.deepEqual(
      [answer.status, answer.body?.code],
      [status, code],
      `${id}: ${answer.status} ${answer.text.slice(0, 300)}`,
    )
    return answer
  }

  /** Creates a company with a source system for each level. */
  async company(id: string): Promise<Company> {
    const made = { keys: {} as Record<PermissionLevel, string>, systems: {} as Record<PermissionLevel, string> }
    for (const permissions of ['R', 'I', 'U', 'A'] as const) {
      const apiKey = `${id}-${permissions}-${randomBytes(9).toString('hex')}`
      const { id: system } = await this.ok('createSourceSystem', {
        key: OPERATOR_KEY,
        params: { COMPANY_ID: id },
        json: { name: permissions, apiKey, permissions },
      })
      made.keys[permissions] = apiKey
      made.systems[permissions] = system
    }
    return { id, ...made }
  }

  /** Creates evidences `e0`, `e1`, … with these values in one subcategory of a company, without HTTP. */
  async fill(
    companyId: string,
    count: number,
    values: { readonly name?: string; readonly summary?: string } = {},
  ): Promise<void> {
    const scope = { companyId, principal: OPERATOR }
    await createMany(this.registry, scope, numbered('e', count, { name: 'n', ...values }))
  }

  /**
   * All records and blob keys as a text, to compare the stores before and after. When keys were last used is left out:
   * it is written once a minute, whatever a test does.
   */
  async snapshot(): Promise<string> {
    const lines: string[] = []
    const uses = keys.allLastUses()
    for await (const { key, value } of this.records.list({ gte: '!', lt: '~' }))
      if (key < uses.gte || key >= uses.lt) lines.push(`${key} ${Buffer.from(value).toString('hex')}`)
    return [...lines, ...[...this.blobs.kept].sort()].join('\n')
  }

  /** The keys of upload-intent and pending-deletion records. */
  async unfinished(): Promise<readonly string[]> {
    const found: string[] = []
    for (const range of [keys.blobIntents(), keys.pendingDeletions()])
      for await (const { key } of this.records.list(range)) found.push(key)
    return found
  }

  /** Polls a condition, for example one that the sealer fulfils. */
  async until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
    await eventually(condition, () => what)
  }
}

/** Limits of slow clients, unless a test sets its own. They only end a test that hangs. */
const HANG_MS = 300_000

/** As `startService`, and closes it after the test. */
export async function serviceFor(t: Pick<TestContext, 'after'>, options?: ServiceOptions): Promise<Service> {
  const service = await startService(options)
  t.after(() => service.close())
  return service
}

/** Starts the whole service in memory, on a free port, with short intervals of sealer, authority and ledger. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const {
    sealMaxWaitMs = 20,
    smallFileBytes = 0,
    wrapRecords = (it) => it,
    wrapBlobs = (it) => it,
    logger = silentLogger,
    headersTimeoutMs = HANG_MS,
    maxConnections,
    ...app
  } = options
  const directory = await mkdtemp(join(tmpdir(), 'evidence-server-'))
  const records = wrapRecords(new MemoryRecords())
  const instruments = createInstruments()
  const blobs = new CountingBlobs(wrapBlobs(new MemoryBlobs()))
  const sealer = createSealer({
    engine: new InlineEngine(),
    timestampAuthority: await openLocalTsa(join(directory, 'tsa'), { clock: systemClock, keepsLastStamp: false }),
    anchor: await openLocalLedger(join(directory, 'ledger'), { clock: systemClock, blockTimeMs: 20, confirmations: 2 }),
    maxWaitMs: sealMaxWaitMs,
    onDuration: instruments.observeStep,
    pollIntervalMs: 10,
    tsaIntervalMs: 0,
    anchorIntervalMs: 0,
  })
  const registry = await openRegistry({
    records: instruments.observeRecords(records),
    blobs: instruments.observeBlobs(blobs),
    sealer,
    signedHead: new MemorySignedHead(),
    secret: new Uint8Array(randomBytes(32)),
    checkpointSigner: new MemoryCheckpointKeys(),
    operatorKey: OPERATOR_KEY,
    smallFileBytes,
    logger,
  })
  const made = createApp({
    registry,
    logger,
    instruments,
    publicUrl: 'https://evidence.example',
    maxFileBytes: 1024 * 1024,
    uploadIdleMs: HANG_MS,
    addressLimitPerMinute: 0,
    metricsToken: METRICS_TOKEN,
    ...app,
  })
  const server = await listen(made, {
    host: '127.0.0.1',
    port: 0,
    headersTimeoutMs,
    uploadIdleMs: HANG_MS,
    shutdownMs: 100,
    ...(app.trustProxy !== undefined && { trustProxy: app.trustProxy }),
    ...(maxConnections !== undefined && { maxConnections }),
  })
  const close = async (): Promise<void> => {
    await server.close()
    await registry.close()
    await rm(directory, { recursive: true, force: true })
  }
  return new Service({ registry, records, blobs, app: made, port: server.port, directory, close })
}

/** Calls an endpoint of the service at an address. */
export async function send(url: string, id: string, options: CallOptions): Promise<ServiceResponse> {
  const endpoint = endpointOf(id)
  const headers: Record<string, string> = { ...options.headers }
  if (options.key !== undefined) headers['x-api-key'] = options.key
  if (options.json !== undefined) headers['content-type'] ??= 'application/json'
  const body =
    options.json === undefined
      ? options.form
      : typeof options.json === 'string'
        ? options.json
        : JSON.stringify(options.json)
  const { method } = endpoint
  const response = await fetch(`${url}${pathOf(endpoint, options)}`, { method, headers, ...(body && { body }) })
  return readResponse(response)
}

export function endpointOf(id: string): Endpoint {
  const endpoint = ENDPOINTS.get(id)
  assert.ok(endpoint, `there is no endpoint ${id}`)
  return endpoint
}

export function pathOf(endpoint: Endpoint, { params = {}, query }: CallOptions): string {
  let path = endpoint.path
  for (const name of parametersOf(endpoint.path)) {
    const value = params[name]
    assert.ok(value !== undefined, `${endpoint.id} needs ${name}`)
    path = path.replace(`{${name}}`, encodeURIComponent(value)).replace(`{${name}*}`, value)
  }
  return `${BASE_PATH}${path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`
}

export async function readResponse(response: Response): Promise<ServiceResponse> {
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1')
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) : undefined,
  }
}

function checkShape(endpoint: Endpoint, { status, body, text }: ServiceResponse): void {
  const schema = shapeOf(endpoint, status)
  if (schema === undefined) return
  assert.ok(body !== undefined, `${endpoint.id} returned ${status} without JSON: ${text.slice(0, 200)}`)
  validate(schema, body)
}

function shapeOf({ response, path }: Endpoint, status: number): TSchema | undefined {
  if (status === 401 || status === 403) return AuthorizationError
  if (status < 300) return 'schema' in response ? response.schema : undefined
  if (status < 400) return undefined
  const isProof = 'schema' in response && response.others?.[status] !== undefined
  if (isProof) return response.schema
  return path.startsWith('/merkle/') ? VerificationError : OperationError
}

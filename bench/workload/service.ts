import { setTimeout as delay } from 'node:timers/promises'
import { startServer, type ServerProcess } from '../run/child.ts'
import { join } from 'node:path'
import { categoryFieldsOf, evidenceOf } from './evidence.ts'
import { runHttpLoad, type HttpLoadResult } from './http-load.ts'

const COMPANY = 'bench'
export const OPERATOR_KEY = 'operator-key-of-the-benchmark'
const BULK_SIZE = 1_000
/** Evidences that are read again and again. */
const FEW = 1_000
const POLL_MS = 200
/** Of a load. */
export const CONNECTIONS = 64
const FILE_BYTES = 1024
const BOUNDARY = 'a-boundary-of-the-benchmark'

/** The key of the benchmark's source system. */
export const API_KEY = 'a-key-of-the-benchmark'

/** A request of the registry's HTTP API, below `/api/v1`. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly contentType?: string
  readonly body?: string
}

/**
 * Starts a registry server in an empty folder, with the defaults of all settings that are not in `env`. `module` is
 * relative to `bench/` or absolute.
 */
export const startRegistryServer = (
  directory: string,
  module = '../server/main.ts',
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> =>
  startServer({
    directory,
    module,
    env: {
      EVIDENCE_PORT: '0',
      EVIDENCE_DATA_DIR: join(directory, 'data'),
      EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      // The whole load comes from one address.
      EVIDENCE_ADDRESS_LIMIT_PER_MINUTE: '0',
      ...env,
    },
  })

/**
 * Returns what sends these requests for some seconds.
 *
 * @param base - the server's URL with the path before those of the requests
 */
export function loadOf(
  base: string,
  request: (index: number) => ServiceRequest,
): (seconds: number) => Promise<HttpLoadResult> {
  let index = Math.floor(Math.random() * 1_000_000)
  const { origin, pathname } = new URL(base)
  const { contentType = 'application/json' } = request(index)
  return (seconds) =>
    runHttpLoad({
      urls: [origin],
      connections: CONNECTIONS,
      seconds,
      headers: { 'x-api-key': API_KEY, 'content-type': contentType },
      next: () => {
        const { method, path, body } = request(index++)
        return { method, path: pathname.replace(/\/$/, '') + path, ...(body !== undefined && { body }) }
      },
    })
}

/** A registry server with one company, driven only by HTTP. */
export class Service {
  /** `http://host:port/api/v1` */
  readonly base: string
  #ids: readonly string[] = []
  #size = 0
  #created = 10_000_000

  constructor(url: string) {
    this.base = `${url}/api/v1`
  }

  /** Returns the JSON of a response, which the caller says is a `T`. Throws if it is not 2xx. */
  async requestJson<T>(path: string, init: { method?: string; key?: string; body?: object } = {}): Promise<T> {
    const response = await fetch(this.base + path, {
      method: init.method ?? 'GET',
      headers: { 'x-api-key': init.key ?? API_KEY, 'content-type': 'application/json' },
      ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return JSON.parse(await response.text())
  }

  /** Creates a company with `size` evidences and waits until they are sealed and stamped. */
  async fill(size: number, progress: (text: string) => void): Promise<void> {
    const system = { name: 'bench', apiKey: API_KEY, permissions: 'U' }
    await this.requestJson(`/sourceSystem/${COMPANY}`, { method: 'POST', key: OPERATOR_KEY, body: system })
    // The first ten also create the categories.
    for (let i = 0; i < 10; i++)
      await this.requestJson(this.#evidencePath, { method: 'POST', body: { ...categoryFieldsOf(i), ...evidenceOf(i) } })
    const { object } = await this.requestJson<{ object: CategoryOfObject }>(this.getFirst().path)
    const path = `/evidences/${COMPANY}/category/${object.categoryId}/subcategory/${object.subcategoryId}/evidences`
    const ids: string[] = []
    for (let from = 10; from < size; from += BULK_SIZE) {
      const evidences = Array.from({ length: Math.min(BULK_SIZE, size - from) }, (_, i) => evidenceOf(from + i))
      const created = await this.requestJson<{ ids: string[] }>(path, { method: 'POST', body: { evidences } })
      ids.push(...created.ids)
      if (from % 10_000 === 10) progress(`${from} evidences`)
    }
    this.#ids = ids
    this.#size = size
    await this.#waitUntilSealed(ids.at(-1) ?? '')
  }

  async #waitUntilSealed(id: string): Promise<void> {
    for (;;) {
      const proof = await this.requestJson<{ merkle?: unknown; tsa?: unknown }>(`/merkle/verify/${id}`)
      if (proof.merkle !== undefined && proof.tsa !== undefined) return
      await delay(POLL_MS)
    }
  }

  get #evidencePath(): string {
    return `/evidences/${COMPANY}/evidence`
  }

  getFirst = (): ServiceRequest => ({ method: 'GET', path: `${this.#evidencePath}/item%200` })

  getOne = (index: number): ServiceRequest => ({
    method: 'GET',
    path: `${this.#evidencePath}/item%20${(index * 7919) % this.#size}`,
  })

  /** One of a thousand evidences, so that a cache can keep all of them. */
  getOneOfFew = (index: number): ServiceRequest => this.getOne(this.#indexOfFew(index))

  listPage = (): ServiceRequest => ({ method: 'GET', path: `/evidences/${COMPANY}/evidences?len=100` })

  /** A page of the list that begins anywhere, so that nearly every request reads other evidences. */
  listRandomPage = (index: number): ServiceRequest => ({
    method: 'GET',
    path: `/evidences/${COMPANY}/evidences?len=100&last=${this.#idAt(index)}`,
  })

  verify = (index: number): ServiceRequest => ({
    method: 'GET',
    path: `/merkle/verify/${this.#idAt(index)}`,
  })

  verifyOneOfFew = (index: number): ServiceRequest => this.verify(this.#indexOfFew(index))

  #indexOfFew = (index: number): number => index % FEW

  #idAt = (index: number): string => this.#ids[(index * 7919) % this.#ids.length] ?? ''

  create = (): ServiceRequest => ({
    method: 'POST',
    path: this.#evidencePath,
    contentType: 'application/json',
    body: JSON.stringify(this.#nextEvidence()),
  })

  createWithFile = (): ServiceRequest => ({
    method: 'POST',
    path: this.#evidencePath,
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    body: formOf(this.#nextEvidence()),
  })

  #nextEvidence() {
    const index = this.#created++
    return { ...categoryFieldsOf(index), ...evidenceOf(index) }
  }
}

interface CategoryOfObject {
  readonly categoryId: string
  readonly subcategoryId: string
}

/** A multipart form with these fields and a file of 1 KiB. */
function formOf(fields: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n` +
      `${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`,
  )
  const file =
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a.bin"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n'
  return `${parts.join('')}${file}${'x'.repeat(FILE_BYTES)}\r\n--${BOUNDARY}--\r\n`
}

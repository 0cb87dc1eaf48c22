import autocannon, { type Request } from 'autocannon'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, shown, type Bench, type BenchContext } from '../run/case.ts'
import { startListening, stopChild } from '../run/child.ts'
import { evidenceOf, placeOf } from '../workload/registry.ts'

const CONNECTIONS = 64
const COMPANY = 'bench'
const KEY = 'a-key-of-the-benchmark'
const OPERATOR_KEY = 'operator-key-of-the-benchmark'
const EVIDENCES = 20_000
const BATCH = 1_000
const FILE_BYTES = 1024
const SECONDS = 5
const ROUNDS = 3

/** The compiled server as a process of its own, its log and all, asked by 64 connections, beside a bare Koa route. */
export const http: Bench = {
  name: 'http',
  about: `the server over HTTP at ${CONNECTIONS} connections, beside a bare Koa route`,
  async run(context) {
    const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
    try {
      const { child, url } = await startListening(directory, '../server/main.ts', [], {
        EVIDENCE_PORT: '0',
        EVIDENCE_DATA_DIR: join(directory, 'data'),
        EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      })
      try {
        return await besideBareKoa(directory, new Service(`${url}/api/v1`), context)
      } finally {
        await stopChild(child)
      }
    } finally {
      await rm(directory, { recursive: true })
    }
  },
}

async function besideBareKoa(directory: string, service: Service, context: BenchContext) {
  const size = context.quick ? 2_000 : EVIDENCES
  await service.fill(size, context)
  const body = JSON.stringify(await service.json(`/evidences/${COMPANY}/evidence/item%200`))
  const { child, url } = await startListening(directory, './peers/bare-koa.ts', [body])
  try {
    return await measure(service, url, { size, bodyBytes: body.length, context })
  } finally {
    await stopChild(child)
  }
}

class Service {
  readonly base: string
  #ids: readonly string[] = []
  #place: readonly [string, string] = ['', '']

  constructor(base: string) {
    this.base = base
  }

  async json(path: string, init: { method?: string; key?: string; body?: object } = {}): Promise<unknown> {
    const response = await fetch(this.base + path, {
      method: init.method ?? 'GET',
      headers: { 'x-api-key': init.key ?? KEY, 'content-type': 'application/json' },
      ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

  /** A company with so many evidences, sealed. */
  async fill(size: number, { progress }: BenchContext): Promise<void> {
    const system = { name: 'bench', apiKey: KEY, permissions: 'U' }
    await this.json(`/sourceSystem/${COMPANY}`, { method: 'POST', key: OPERATOR_KEY, body: system })
    // Makes the categories too.
    for (let i = 0; i < 10; i++)
      await this.json(`/evidences/${COMPANY}/evidence`, { method: 'POST', body: { ...placeOf(i), ...evidenceOf(i) } })
    const { object } = (await this.json(`/evidences/${COMPANY}/evidence/item%200`)) as {
      object: { categoryId: string; subcategoryId: string }
    }
    this.#place = [object.categoryId, object.subcategoryId]
    const ids: string[] = []
    const [category, subcategory] = this.#place
    for (let from = 10; from < size; from += BATCH) {
      const evidences = Array.from({ length: Math.min(BATCH, size - from) }, (_, i) => evidenceOf(from + i))
      const path = `/evidences/${COMPANY}/category/${category}/subcategory/${subcategory}/evidences`
      const created = (await this.json(path, { method: 'POST', body: { evidences } })) as { ids: string[] }
      ids.push(...created.ids)
      if (from % 10_000 === 10) progress(`${from} evidences`)
    }
    this.#ids = ids
    await this.#untilSealed(ids.at(-1) as string)
  }

  async #untilSealed(id: string): Promise<void> {
    for (;;) {
      const proof = (await this.json(`/merkle/verify/${id}`)) as { merkle?: unknown; tsa?: unknown }
      if (proof.merkle !== undefined && proof.tsa !== undefined) return
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  idAt = (index: number): string => this.#ids[index % this.#ids.length] as string
}

/** What all that stands around a route costs. */
const ALIVE = 'alive, which reads nothing'

interface Load {
  readonly name: string
  readonly base: string
  readonly request: (index: number) => Partial<Request>
}

let sent = 0

const loads = (service: Service, bareUrl: string, size: number): readonly Load[] => {
  const get = (index: number) => ({
    method: 'GET' as const,
    path: `/evidences/${COMPANY}/evidence/item%20${(index * 7919) % size}`,
  })
  const { base } = service
  return [
    { name: 'bare Koa route', base: bareUrl, request: get },
    { name: ALIVE, base: new URL(base).origin, request: () => ({ method: 'GET', path: '/livez' }) },
    { name: 'get', base, request: get },
    {
      name: 'list, a page of 100',
      base,
      request: () => ({ method: 'GET', path: `/evidences/${COMPANY}/evidences?len=100` }),
    },
    {
      name: 'verify (proof of an evidence)',
      base,
      request: (index) => ({ method: 'GET', path: `/merkle/verify/${service.idAt(index * 7919)}` }),
    },
    {
      name: 'create',
      base,
      request: () => ({
        method: 'POST',
        path: `/evidences/${COMPANY}/evidence`,
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify(newEvidence()),
      }),
    },
    {
      name: `create with a file of ${FILE_BYTES} bytes`,
      base,
      request: () => ({
        method: 'POST',
        path: `/evidences/${COMPANY}/evidence`,
        headers: { 'x-api-key': KEY, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
        body: formOf(newEvidence()),
      }),
    },
  ]
}

function newEvidence(): Record<string, unknown> {
  const index = 10_000_000 + sent++
  return { ...placeOf(index), ...evidenceOf(index) }
}

const BOUNDARY = 'a-boundary-of-the-benchmark'

function formOf(fields: Record<string, unknown>): Buffer {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n` +
      `${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`,
  )
  const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="images"; filename="a.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`
  return Buffer.from(`${parts.join('')}${file}${'x'.repeat(FILE_BYTES)}\r\n--${BOUNDARY}--\r\n`)
}

async function measure(
  service: Service,
  bareUrl: string,
  { size, bodyBytes, context }: { size: number; bodyBytes: number; context: BenchContext },
) {
  const rounds = context.quick ? 1 : ROUNDS
  const seconds = context.quick ? 1 : SECONDS
  const all = loads(service, bareUrl, size)
  const rates = new Map<string, { perSecond: number[]; p50: number[]; p99: number[] }>(
    all.map(({ name }) => [name, { perSecond: [], p50: [], p99: [] }]),
  )
  for (let round = 0; round < rounds; round++)
    for (const load of all) {
      const result = await fire(load, seconds)
      const rate = rates.get(load.name)
      rate?.perSecond.push(result.requests.average)
      rate?.p50.push(result.latency.p50)
      rate?.p99.push(result.latency.p99)
      context.progress(`round ${round + 1} of ${rounds}: ${load.name}`)
    }
  const rows = [...rates].map(([name, { perSecond, p50, p99 }]) => ({
    request: name,
    perSecond: shown(median(perSecond)),
    p50Ms: median(p50),
    p99Ms: median(p99),
  }))
  const rateOf = (name: string): number => median(rates.get(name)?.perSecond ?? [])
  return {
    settings: {
      connections: CONNECTIONS,
      seconds,
      rounds,
      evidences: size,
      bodyBytesOfGet: bodyBytes,
      store: 'LevelDB, each group one synced write',
      server: 'compiled, with its log, metrics, local ledger and authority; no response cache',
    },
    rows,
    findings: {
      getOfBareKoa: shown(rateOf('get') / rateOf('bare Koa route')),
      aliveOfBareKoa: shown(rateOf(ALIVE) / rateOf('bare Koa route')),
    },
  }
}

async function fire({ name, base, request }: Load, duration: number) {
  let index = Math.floor(Math.random() * 1_000_000)
  const url = new URL(base)
  const result = await autocannon({
    url: url.origin,
    connections: CONNECTIONS,
    duration,
    headers: { 'x-api-key': KEY },
    requests: [
      {
        setupRequest: (given) => {
          const { path = '', ...rest } = request(index++)
          return { ...given, ...rest, path: url.pathname.replace(/\/$/, '') + path }
        },
      },
    ],
  })
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${name}: ${result.errors} errors, ${result.non2xx} answers that are not 2xx`)
  return result
}

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { stopChild } from '../run/child.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { runHttpLoad } from '../workload/http-load.ts'
import { API_KEY, Service, startRegistryServer } from '../workload/service.ts'

/**
 * One server under more load than it can serve: `node dist/bench/programs/overload.js [factor] [seconds]`. Measures the
 * capacity with 64 connections, then offers `factor` times as many gets per second, whether or not the server keeps up.
 * Prints JSON. Settings of the server are passed on.
 */
const [factor = 2.5, seconds = 10] = process.argv.slice(2).map(Number)
const EVIDENCES = 2_000
const CONNECTIONS = 6_000
const TICK_MS = 2
/** The system drops packets to itself if more than 1,000 wait, and repeats them seconds later. */
const MAX_BURST = 100

interface Connection {
  readonly socket: Socket
  sentAtMs: number
}

/** What the client saw. Times in ms. */
interface Seen {
  readonly ok: number[]
  readonly rejected: number[]
  others: number
  notSent: number
  maxInFlight: number
}
const seen: Seen = { ok: [], rejected: [], others: 0, notSent: 0, maxInFlight: 0 }

await inTemporaryFolder(async (directory) => {
  const { child, url } = await startRegistryServer(directory)
  try {
    const service = new Service(url)
    await service.fill(EVIDENCES, () => undefined)
    let index = 0
    const next = () => service.getOne(index++)
    const path = (): string => `/api/v1${next().path}`
    const headers = { 'x-api-key': API_KEY }
    const load = { urls: [url], connections: 64, seconds: 3, headers, next: () => ({ ...next(), path: path() }) }
    const { completed, seconds: took } = await runHttpLoad(load)
    const capacity = completed / took
    const memory = memoryOf(child.pid ?? 0)
    await offer(new URL(url), capacity * factor, path)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    const rejected = /^evidence_requests_shed (\d+)$/m.exec(metrics)?.[1]
    const report = { capacityPerSecond: Math.round(capacity), ...summary(), rejectedByServer: Number(rejected) }
    const memoryMiB = { before: memory.now, peak: memoryOf(child.pid ?? 0).peak }
    process.stdout.write(`${JSON.stringify({ ...report, memoryMiB }, undefined, 1)}\n`)
  } finally {
    await stopChild(child)
  }
})

/** Sends requests at a fixed rate over idle connections. */
async function offer(url: URL, perSecond: number, path: () => string): Promise<void> {
  const idle: Connection[] = []
  // In groups that fit into the server's queue of connections. What does not fit is repeated seconds later.
  while (idle.length < CONNECTIONS) idle.push(...(await Promise.all(Array.from({ length: 100 }, () => open(url)))))
  for (const connection of idle) receive(connection, idle)
  const beganMs = performance.now()
  let due = 0
  for (let sent = 0; performance.now() - beganMs < seconds * 1_000;) {
    due = ((performance.now() - beganMs) / 1_000) * perSecond
    for (let burst = 0; sent < due && burst < MAX_BURST; sent++, burst++) {
      const connection = idle.pop()
      if (connection === undefined) seen.notSent++
      else send(connection, path(), url.host)
    }
    seen.maxInFlight = Math.max(seen.maxInFlight, CONNECTIONS - idle.length)
    await delay(TICK_MS)
  }
  // The last responses.
  for (let waited = 0; idle.length < CONNECTIONS && waited < 120_000; waited += 100) await delay(100)
  for (const { socket } of idle) socket.destroy()
}

async function open({ hostname, port }: URL): Promise<Connection> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  // After a response the server has certainly accepted the connection.
  socket.write(`GET /livez HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`)
  await once(socket, 'data')
  return { socket, sentAtMs: 0 }
}

function send(connection: Connection, path: string, host: string): void {
  connection.sentAtMs = performance.now()
  connection.socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${API_KEY}\r\n\r\n`)
}

/** Notes each response, and makes the connection idle again. */
function receive(connection: Connection, idle: Connection[]): void {
  let received = ''
  connection.socket.on('error', () => seen.others++)
  connection.socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
    const bodyAt = received.indexOf('\r\n\r\n') + 4
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(received)?.[1]
    if (bodyAt === 3 || length === undefined || received.length < bodyAt + Number(length)) return
    const tookMs = performance.now() - connection.sentAtMs
    const status = received.slice(9, 12)
    if (status === '200') seen.ok.push(tookMs)
    else if (status === '503') seen.rejected.push(tookMs)
    else seen.others++
    received = ''
    idle.push(connection)
  })
}

function summary() {
  return {
    offered: factor,
    seconds,
    okPerSecond: Math.round(seen.ok.length / seconds),
    ok: percentiles(seen.ok),
    rejectedPerSecond: Math.round(seen.rejected.length / seconds),
    rejected: percentiles(seen.rejected),
    others: seen.others,
    notSent: seen.notSent,
    maxInFlight: seen.maxInFlight,
  }
}

function percentiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN)
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

/** Resident memory of a process, MiB (Linux). */
function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return { now: Math.round(kilobytes('VmRSS') / 1024), peak: Math.round(kilobytes('VmHWM') / 1024) }
}

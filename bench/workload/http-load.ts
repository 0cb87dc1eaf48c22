import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { itemAt } from './concurrency.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface HttpLoad {
  /** `http://host:port` of each server. Connection i uses server i modulo their number. */
  readonly urls: readonly string[]
  readonly connections: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
  /** Called for each request, directly before it is sent. */
  readonly next: () => HttpRequest
}

export interface HttpLoadResult {
  /** Requests that got a 2xx response. */
  readonly completed: number
  readonly seconds: number
  /** Of each completed request, in ms. */
  readonly latencies: readonly number[]
}

/**
 * Sends requests over keep-alive connections, one at a time on each, from one thread. It implements only as much of
 * HTTP/1.1 as a server with `Content-Length` needs: client and servers share the cores, so the client must be cheap
 * (11 µs for each request against a bare server). Throws at the first response that is not 2xx, and if
 * a connection ends.
 */
export async function runHttpLoad({ urls, connections, seconds, headers, next }: HttpLoad): Promise<HttpLoadResult> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      const url = new URL(itemAt(urls, i))
      const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
      await once(socket, 'connect')
      return { socket, head: headOf(url, headers) }
    }),
  )
  const begin = performance.now()
  const end = begin + seconds * 1_000
  try {
    const latencies = (await Promise.all(sockets.map(({ socket, head }) => sendUntil(end, socket, head, next)))).flat()
    return { completed: latencies.length, seconds: (performance.now() - begin) / 1_000, latencies }
  } finally {
    for (const { socket } of sockets) socket.destroy()
  }
}

/** The header lines that all requests to a server share. */
const headOf = ({ host }: URL, headers: Readonly<Record<string, string>>): string =>
  Object.entries({ host, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')

/** Returns the latencies. The last request is sent before `end`, in terms of `performance.now()`. */
function sendUntil(end: number, socket: Socket, head: string, next: () => HttpRequest): Promise<readonly number[]> {
  const latencies: number[] = []
  let sentAt = 0
  let received: Buffer | undefined
  return new Promise((resolve, reject) => {
    const send = (): void => {
      const { method, path, body = '' } = next()
      const length = method === 'POST' ? `content-length: ${Buffer.byteLength(body)}\r\n` : ''
      sentAt = performance.now()
      socket.write(`${method} ${path} HTTP/1.1\r\n${head}${length}\r\n${body}`)
    }
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (chunk: Buffer) => {
      try {
        received = received === undefined ? chunk : Buffer.concat([received, chunk])
        if (!isComplete(received)) return
        received = undefined
        const now = performance.now()
        latencies.push(now - sentAt)
        if (now < end) send()
        else resolve(latencies)
      } catch (error) {
        reject(error)
      }
    })
    send()
  })
}

/** Returns whether the response has arrived completely. Throws if it is not 2xx or has no Content-Length. */
function isComplete(received: Buffer): boolean {
  const bodyAt = received.indexOf('\r\n\r\n') + 4
  if (bodyAt === 3) return false
  const head = received.toString('latin1', 0, bodyAt)
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 2') || length === undefined)
    throw new Error(`a server returned ${received.toString('utf8')}`)
  return received.length >= bodyAt + Number(length)
}

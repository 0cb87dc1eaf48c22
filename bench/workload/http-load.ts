import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface HttpLoad {
  /** `http://host:port` of each server; connection i asks server i modulo their number, for as long as it is there. */
  readonly urls: readonly string[]
  readonly connections: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
  /** Called once for each request, just before it is sent. */
  readonly next: () => HttpRequest
}

export interface HttpLoadResult {
  readonly answered: number
  readonly seconds: number
}

/**
 * Keep-alive connections, each with one request under way at a time, on one thread. It knows just enough of HTTP/1.1 for a server that
 * says `Content-Length`: where client and servers share the cores, what a client spends is missing to them (11 µs a request, autocannon
 * 18, against a bare server). Throws at the first answer that is not 2xx, and where a connection ends.
 */
export async function httpLoad({ urls, connections, seconds, headers, next }: HttpLoad): Promise<HttpLoadResult> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      const url = new URL(urls[i % urls.length] as string)
      const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
      await once(socket, 'connect')
      return { socket, head: headOf(url, headers) }
    }),
  )
  const begun = performance.now()
  const end = begun + seconds * 1_000
  try {
    const counts = await Promise.all(sockets.map(({ socket, head }) => askUntil(end, socket, head, next)))
    const answered = counts.reduce((sum, count) => sum + count, 0)
    return { answered, seconds: (performance.now() - begun) / 1_000 }
  } finally {
    for (const { socket } of sockets) socket.destroy()
  }
}

/** The lines that all requests to a server share. */
const headOf = ({ host }: URL, headers: Readonly<Record<string, string>>): string =>
  Object.entries({ host, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')

/** Answers how many requests were answered; the last was sent before `end`, by `performance.now()`. */
function askUntil(end: number, socket: Socket, head: string, next: () => HttpRequest): Promise<number> {
  let answered = 0
  let received: Buffer | undefined
  return new Promise((resolve, reject) => {
    const ask = (): void => {
      const { method, path, body = '' } = next()
      const length = method === 'POST' ? `content-length: ${Buffer.byteLength(body)}\r\n` : ''
      socket.write(`${method} ${path} HTTP/1.1\r\n${head}${length}\r\n${body}`)
    }
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (chunk: Buffer) => {
      try {
        received = received === undefined ? chunk : Buffer.concat([received, chunk])
        if (!isWhole(received)) return
        received = undefined
        answered += 1
        if (performance.now() < end) ask()
        else resolve(answered)
      } catch (error) {
        reject(error)
      }
    })
    ask()
  })
}

/** Whether an answer is there to its end. Throws for one that is not 2xx, or says no length. */
function isWhole(received: Buffer): boolean {
  const bodyAt = received.indexOf('\r\n\r\n') + 4
  if (bodyAt === 3) return false
  const head = received.toString('latin1', 0, bodyAt)
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 2') || length === undefined)
    throw new Error(`a server answered ${received.toString('utf8')}`)
  return received.length >= bodyAt + Number(length)
}

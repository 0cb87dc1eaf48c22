import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A request written as raw bytes to a socket, for clients that break the rules of HTTP. */
export class RawRequest {
  readonly socket: Socket
  #received = ''
  #closed = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk: Buffer) => (this.#received += chunk.toString('latin1')))
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => (this.#closed = true))
  }

  get received(): string {
    return this.#received
  }

  get closed(): boolean {
    return this.#closed
  }

  head(method: string, path: string, headers: Readonly<Record<string, string | number>>): this {
    const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    this.socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    return this
  }

  /** Writes, and waits until the system accepted the bytes. Returns false if the connection is closed. */
  send(bytes: string | Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#closed || this.socket.destroyed) return resolve(false)
      const onClose = (): void => resolve(false)
      this.socket.once('close', onClose)
      this.socket.write(bytes, (error) => {
        this.socket.off('close', onClose)
        resolve(!error)
      })
    })
  }

  disconnect(): void {
    this.socket.destroy()
  }

  /** The status and JSON body of the first response. The time limit only ends a test that hangs. */
  async response(timeoutMs = 120_000): Promise<{ status: number; body: Record<string, unknown> }> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      const [head, body = ''] = this.#received.split('\r\n\r\n', 2)
      const length = Number(/content-length: (\d+)/i.exec(head ?? '')?.[1] ?? Number.NaN)
      if (body.length >= length)
        return {
          status: Number(head?.split(' ')[1]),
          body: length === 0 ? {} : (JSON.parse(body.slice(0, length)) as Record<string, unknown>),
        }
      if (this.#closed || Date.now() > deadline)
        throw new Error(`no response: ${this.#closed ? 'closed' : 'timed out'} ${this.#received}`)
      await delay(5)
    }
  }
}

export const BOUNDARY = 'the-boundary'
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`

/** One part of a multipart body. */
export const part = (
  name: string,
  content: string,
  { filename, headers = '' }: { filename?: string; headers?: string } = {},
): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"` +
  `${filename === undefined ? '' : `; filename="${filename}"`}\r\n${headers}\r\n${content}\r\n`

export const END = `--${BOUNDARY}--\r\n`

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { arrayBuffer } from 'node:stream/consumers'
import { TimeStampReq } from 'pkijs'
import { authorityNamed, derOf, response, signerUnder, type Issuer, type ResponseOptions } from './test-authority.ts'

/** A request's content, and the key that signs correct responses to it. */
export interface StampRequest {
  readonly nonce: Uint8Array
  readonly imprint: Uint8Array
  readonly signer: Issuer
}

export type Misbehaviour = (
  request: StampRequest,
  reply: ServerResponse,
  authority: FaultyAuthority,
) => Promise<void> | void

/** A timestamp authority over HTTP with real keys. It responds correctly unless `misbehaviour` is set. */
export class FaultyAuthority {
  readonly root: Issuer
  readonly signer: Issuer
  readonly url: string
  /** genTime of correct tokens. */
  now: () => number = Date.now
  misbehaviour: Misbehaviour | undefined
  requestCount = 0
  readonly #server: Server

  private constructor(root: Issuer, signer: Issuer, server: Server) {
    this.root = root
    this.signer = signer
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsa`
    server.on('request', (request, reply) => void this.#respond(request, reply))
  }

  static async open(name = 'root'): Promise<FaultyAuthority> {
    const root = await authorityNamed(name)
    const signer = await signerUnder(root)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FaultyAuthority(root, signer, server)
  }

  get trustAnchor(): Uint8Array {
    return derOf(this.root.certificate)
  }

  /** Makes a token that is correct except for `options`. */
  token({ nonce, imprint, signer }: StampRequest, options: Partial<ResponseOptions> = {}): Promise<Uint8Array> {
    const genTime = new Date(this.now())
    return response({ signer, data: new Uint8Array(), imprint, nonce, genTime, ...options })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
  }

  async #respond(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    this.requestCount++
    try {
      const { nonce, messageImprint } = TimeStampReq.fromBER(await arrayBuffer(request))
      const stampRequest = {
        nonce: nonce?.valueBlock.valueHexView.slice() ?? new Uint8Array(),
        imprint: messageImprint.hashedMessage.valueBlock.valueHexView.slice(),
        signer: this.signer,
      }
      if (this.misbehaviour) await this.misbehaviour(stampRequest, reply, this)
      else send(reply, await this.token(stampRequest))
    } catch (error) {
      reply.destroy(error as Error)
    }
  }
}

export function send(reply: ServerResponse, body: Uint8Array, type = 'application/timestamp-reply'): void {
  reply.writeHead(200, { 'Content-Type': type }).end(body)
}

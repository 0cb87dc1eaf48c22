import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that wait for the response before them: on one connection, and on all. A connection with more is closed. */
const MAX_WAITING_OF_CONNECTION = 32
const MAX_WAITING = 3_200

/**
 * Handles the requests that a client sends on one connection without waiting for responses (pipelining) one after the
 * other, each after a pause of the event loop. Node would start all requests of a packet at once. These are up to two
 * thousand, so one client could take all places of a class of work and hold the event loop for seconds.
 */
export function inTurn(handle: RequestListener): RequestListener {
  const waiting = new WaitingRequests()
  return (request, response) => {
    if (response.socket !== null) {
      handle(request, response)
      return
    }
    if (!waiting.add(request)) return
    // Node assigns the socket to a response when the response before it is complete.
    response.once('socket', () => {
      waiting.remove(request)
      setImmediate(() => {
        if (!response.destroyed) handle(request, response)
      })
    })
  }
}

class WaitingRequests {
  readonly #bySocket = new Map<Socket, Set<IncomingMessage>>()
  #count = 0

  /** Returns false, and closes the connection, if too many requests wait. */
  add(request: IncomingMessage): boolean {
    const { socket } = request
    const requests = this.#requestsOf(socket)
    if (requests.size >= MAX_WAITING_OF_CONNECTION || this.#count >= MAX_WAITING) {
      socket.destroy()
      return false
    }
    requests.add(request)
    this.#count += 1
    return true
  }

  remove(request: IncomingMessage): void {
    if (this.#bySocket.get(request.socket)?.delete(request) === true) this.#count -= 1
  }

  #requestsOf(socket: Socket): Set<IncomingMessage> {
    const known = this.#bySocket.get(socket)
    if (known) return known
    const requests = new Set<IncomingMessage>()
    this.#bySocket.set(socket, requests)
    socket.once('close', () => {
      this.#bySocket.delete(socket)
      this.#count -= requests.size
    })
    return requests
  }
}

import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait for the response before them. A connection with more is closed. */
const MAX_PIPELINED = 8

/**
 * Handles the requests that a client sends on one connection without waiting for responses (pipelining) one after the
 * other, each after a pause of the event loop. Node would start all requests of a packet at once (nodejs/node #50850).
 * These are up to two thousand, so one client could hold the event loop for seconds.
 */
export function oneByOne(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    if (response.socket !== null) return handle(request, response)
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    if (count > MAX_PIPELINED) return void socket.destroy()
    // Node assigns the socket to a response when the response before it is complete.
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      setImmediate(() => {
        if (!response.destroyed) handle(request, response)
      })
    })
    return undefined
  }
}

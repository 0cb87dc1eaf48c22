import type { Socket } from 'node:net'
import type { HttpError } from '../contract/errors.ts'
import type { Sender } from './sender.ts'

/** Who makes room for a newcomer: a request that waits for a slow client. */

/** The client of a request, while its body arrives or its response is read. */
export interface AwaitedClient {
  /** Bytes that it has sent and read, counted from any start. */
  readonly bytes: number
  /** Ends the request. `undefined` while the server works on it: then it cannot be ended. */
  readonly end: ((error: HttpError) => void) | undefined
}

/** What a request holds while it waits for its client. */
export interface Holding {
  readonly sender: Sender
  /** Of what is limited: a place in a queue is 1. */
  readonly amount: number
  readonly client: AwaitedClient
  readonly since: { readonly ms: number; readonly bytes: number }
}

/** Nothing is taken from a request that has waited less for its client. */
const LEAST_MS = 5_000

/**
 * What is taken back for a newcomer: of the sender that holds most, the request whose client was slowest since it
 * began; of equally slow ones the oldest. The last one of a sender is never taken.
 *
 * @param holdings - in the order in which they began
 * @returns `undefined` if nothing can be taken now
 */
export function slowestOf<H extends Holding>(holdings: Iterable<H>, nowMs: number): H | undefined {
  const all = [...holdings]
  const bySender = new Map<string, { amount: number; count: number }>()
  for (const { sender, amount } of all) {
    const own = bySender.get(sender.name) ?? { amount: 0, count: 0 }
    bySender.set(sender.name, { amount: own.amount + amount, count: own.count + 1 })
  }
  const most = Math.max(...Array.from(bySender.values(), ({ amount, count }) => (count > 1 ? amount : 0)))
  let slowest: { readonly holding: H; readonly rate: number } | undefined
  for (const holding of all) {
    const { sender, client, since } = holding
    const own = bySender.get(sender.name)
    const ms = nowMs - since.ms
    if (own === undefined || own.count === 1 || own.amount < most || client.end === undefined || ms < LEAST_MS) continue
    const rate = (client.bytes - since.bytes) / ms
    if (slowest === undefined || rate < slowest.rate) slowest = { holding, rate }
  }
  return slowest?.holding
}

/** How much a connection has brought and taken. */
export type Traffic = Pick<Socket, 'bytesRead' | 'bytesWritten' | 'writableLength'>

/** The client at the other end of a connection. `waits` says how the request can be ended. */
export const clientOf = (socket: Traffic, waits: Pick<AwaitedClient, 'end'>): AwaitedClient => ({
  get bytes() {
    return socket.bytesRead + socket.bytesWritten - socket.writableLength
  },
  get end() {
    return waits.end
  },
})

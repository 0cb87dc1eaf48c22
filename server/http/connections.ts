import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientNetwork } from './client-network.ts'
import { Tally } from './tally.ts'

/**
 * File descriptors that connections must not use: LevelDB keeps up to 1,000 tables open, and uploads, downloads, the
 * ledger and connections to other services need some, too.
 */
const RESERVED_DESCRIPTORS = 1_500
/** The part of all descriptors that connections can use in any case. */
const LEAST_SHARE = 1 / 4

/** The part of all connections that one client can have. */
const CLIENT_SHARE = 2 / 3

export interface ConnectionLimits {
  /** Open connections. */
  readonly max: number
  /** Whether all of them come from a proxy of ours, so that a client has no share of its own. */
  readonly hasProxy: boolean
}

/** Counts the connections of the servers of an app, and limits their number. */
export class Connections {
  #open = 0
  #dropped = 0

  /** Connections that are open now. */
  get open(): number {
    return this.#open
  }

  /** Connections that were closed at once, since the start. */
  get dropped(): number {
    return this.#dropped
  }

  /** Counts the connections of a server, and closes those beyond a limit at once. */
  limit(server: Server, { max, hasProxy }: ConnectionLimits): void {
    server.maxConnections = max
    server.on('drop', () => this.#dropped++)
    const maxOfClient = hasProxy ? max : Math.ceil(max * CLIENT_SHARE)
    const openByClient = new Tally()
    server.on('connection', (socket: Socket) => {
      const client = clientNetwork(socket.remoteAddress ?? '')
      if (openByClient.of(client) >= maxOfClient) {
        this.#dropped++
        socket.destroy()
        return
      }
      this.#open++
      openByClient.add(client, 1)
      socket.once('close', () => {
        this.#open--
        openByClient.add(client, -1)
      })
    })
  }
}

/**
 * The number of connections that leaves enough file descriptors for everything else.
 *
 * @param max - the number that is wanted
 * @param descriptors - how many files the process may open; default: the limit of this process
 */
export function connectionLimit(max: number, descriptors = descriptorLimit()): number {
  if (descriptors === undefined) return max
  const available = Math.max(descriptors - RESERVED_DESCRIPTORS, Math.floor(descriptors * LEAST_SHARE))
  return Math.max(1, Math.min(max, available))
}

/** How many files this process may open. `undefined` if the system does not say it. */
function descriptorLimit(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1')
    const soft = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

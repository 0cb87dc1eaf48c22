import { LRUCache } from 'lru-cache'
import type { Reply } from '../contract/reply.ts'
import type { Sender } from './sender.ts'

/** A longer text takes the event loop several milliseconds. */
const LONG_CHARS = 256 * 1024
const REMEMBERED_MS = 60_000
/** So many senders and endpoints at most, so that they cannot fill the memory. */
const MAX_REMEMBERED = 10_000

/**
 * Who gets long results from endpoints whose results are usually short: what a request costs is known only afterwards.
 * The next requests of that sender wait among the long ones, so that many of them cannot hold up the others.
 */
export class LongResults {
  readonly #seen = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS })

  /** Notes what was made for a request. Bytes are not made for each. */
  note({ name }: Sender, endpointId: string, reply: Reply): void {
    if (textOf(reply).length > LONG_CHARS) this.#seen.set(`${endpointId} ${name}`, true)
  }

  /** Whether a request of this sender probably has a long result. */
  expects({ name }: Sender, endpointId: string): boolean {
    return this.#seen.size > 0 && this.#seen.has(`${endpointId} ${name}`)
  }
}

function textOf(reply: Reply): string {
  if (reply.kind === 'json') return reply.text
  return reply.kind === 'bytes' && typeof reply.data === 'string' ? reply.data : ''
}

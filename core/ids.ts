import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from './ports.ts'

/** Makes UUIDs of version 7 (RFC 9562 § 5.7) that rise within this source, also where the clock stands or goes back. */
export interface IdSource {
  next(): string
}

/** Of the 12 bits after the time, the counter starts in the lower half, so that 2,048 ids fit a millisecond at least. */
const COUNTER_BITS = 12

export function createIdSource(clock: Clock): IdSource {
  let time = 0
  let counter = 0
  return {
    next() {
      const now = clock.now()
      if (now > time) {
        time = now
        counter = randomBytes(2).readUInt16BE() & 0x7ff
      } else if (++counter === 1 << COUNTER_BITS) {
        time += 1
        counter = 0
      }
      const ms = time.toString(16).padStart(12, '0')
      // The tail of a random UUID brings the variant and 62 random bits; it is drawn from a pool and cheap.
      return `${ms.slice(0, 8)}-${ms.slice(8)}-7${counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
    },
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text has the form of an id that is made here. */
export const isId = (text: string): boolean => uuid.test(text)

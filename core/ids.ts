import { randomUUID } from 'node:crypto'
import type { Clock } from './ports/index.ts'
import { randomBytes } from './platform/node.ts'

/**
 * Makes UUIDs of version 7 (RFC 9562 § 5.7). Ids of one source always ascend, also if the clock stops or is set back.
 */
export interface IdSource {
  /** The next id, in lowercase, as the kind of id that the caller stores it as. */
  next<Id extends string>(): Id
}

/** Bits of the counter that follows the time. */
const COUNTER_BITS = 12
/** The counter starts in the lower half, so that at least 2,048 ids fit in a millisecond. */
const COUNTER_START_MASK = 0x7ff

export function createIdSource(clock: Clock): IdSource {
  let time = 0
  let counter = 0
  return {
    next<Id extends string>() {
      const now = clock.now()
      if (now > time) {
        time = now
        const [high = 0, low = 0] = randomBytes(2)
        counter = ((high << 8) | low) & COUNTER_START_MASK
      } else if (++counter === 1 << COUNTER_BITS) {
        time += 1
        counter = 0
      }
      // The end of a random UUID has the variant and 62 random bits. `randomUUID` is fast because it draws from a pool.
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where ids are made
      return `${idsFrom(time)}-7${counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}` as Id
    },
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text is a UUID in lowercase, the form of the ids that are made here. */
export const isId = (text: string): boolean => uuid.test(text)

const MAX_TIME = 2 ** 48 - 1

/** The time in an id, ms since 1970. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

export const DAY_MS = 86_400_000

/** The day in an id, in days since 1970 in UTC. */
export const dayOfId = (id: string): number => Math.floor(timeOfId(id) / DAY_MS)

/**
 * The beginning of every id that is made in this millisecond. It sorts after all earlier ids, and before all ids of
 * this millisecond and later ones.
 *
 * @param time - ms since 1970; a time that no id can have is replaced by the nearest one that an id can have
 */
export function idsFrom(time: number): string {
  const ms = Math.min(Math.max(Math.floor(time), 0), MAX_TIME)
    .toString(16)
    .padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}`
}

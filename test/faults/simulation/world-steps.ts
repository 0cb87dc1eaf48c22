import type { Random } from '../../support/bundle-mutations.ts'
import { ANCHOR_POLL_MS, type World } from './world.ts'

const HOUR_MS = 3_600_000

/** Steps in which no client writes: time, the chain, and the process itself. */
export const WORLD_STEPS = {
  wait: ({ stores }: World, random: Random) => stores.clock.advance(Math.floor(random() * 20_000)),
  mine: ({ chain, stores }: World, random: Random) => {
    chain.isStuck = false
    chain.mine(1 + Math.floor(random() * 25))
    return stores.clock.advance(ANCHOR_POLL_MS)
  },
  'reorganize the chain': ({ chain, stores }: World, random: Random) => {
    chain.reorganize(Math.min(chain.height, 1 + Math.floor(random() * 6)))
    chain.mine(1)
    return stores.clock.advance(ANCHOR_POLL_MS)
  },
  'forget transactions': ({ chain, stores }: World) => {
    for (const ref of chain.broadcasts.slice(-2)) chain.drop(ref)
    return stores.clock.advance(ANCHOR_POLL_MS)
  },
  'hold transactions back': ({ chain, stores }: World) => {
    chain.isStuck = true
    return stores.clock.advance(4 * ANCHOR_POLL_MS)
  },
  restart: (world: World) => world.close(),
  kill: async ({ outside }: World) => outside.kill(),
} as const satisfies Record<string, (world: World, random: Random) => Promise<void>>

/** Longer than uploads and idempotency keys are kept. Ends the wait for an anchor, which would be polled all day. */
export function waitForDay({ chain, stores }: World): Promise<void> {
  chain.isStuck = false
  chain.mine(30)
  return stores.clock.advance(25 * HOUR_MS)
}

import { fromHex } from '../bytes.ts'
import { slotHash } from '../commitment/event-format.ts'
import { verifyBundle } from './bundle.ts'
import type { MonitorState } from './monitor.ts'
import type { VerifyBundleOptions } from './run.ts'
import type { SlotSet } from './slot-set.ts'

/** Whether a history has a later event than a bundle shows, as far as a monitor has read the log. */
export type Freshness =
  | { readonly state: 'fresh' | 'stale'; readonly version: number; readonly size: number; readonly seenAt: number }
  | { readonly state: 'unknown'; readonly reason: string }

/** What a monitor of the bundle's log has read, and how the bundle is verified. */
export interface FreshnessOptions extends Pick<VerifyBundleOptions, 'policy' | 'tokens'> {
  readonly monitor: MonitorState
  readonly slots: Pick<SlotSet, 'has'>
}

/**
 * Looks for the event after the last one of a bundle, among the slots that a monitor has read. The bundle must have the
 * whole history with its `slotKey` (`history=true`). The registry is not asked.
 *
 * @param text The bundle. Untrusted.
 * @example
 * const freshness = await askFreshness(text, { policy, monitor: state, slots })
 */
export async function askFreshness(text: string, options: FreshnessOptions): Promise<Freshness> {
  const { verified, seenAt = 0 } = options.monitor
  const result = verifyBundle(text, options)
  if (!('claims' in result)) return { state: 'unknown', reason: `The bundle does not verify: ${result.reason}` }
  const { events } = result.claims
  const [first, last] = [events[0], events.at(-1)]
  const slotKey = first?.fields.get('slotKey')
  const key = typeof slotKey === 'string' ? fromHex(slotKey) : undefined
  if (key === undefined || last?.version === undefined || last.log === undefined)
    return { state: 'unknown', reason: 'The bundle has no slotKey: ask for one with history=true' }
  if (verified === undefined || verified.size <= last.log.position)
    return { state: 'unknown', reason: 'The monitor has not read the log so far' }
  const isStale = await options.slots.has(slotHash(key, last.version + 1))
  return { state: isStale ? 'stale' : 'fresh', version: last.version, size: verified.size, seenAt }
}

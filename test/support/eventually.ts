import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 20
/** Only ends a test that would never end: a slow machine must not fail it. */
const LIMIT_MS = 120_000
/** Also if a test stops the clock. */
const now = performance.now.bind(performance)

/**
 * Polls until `get` returns something else than `undefined` or `false`, and returns that. Fails after two minutes with
 * the text of `describe`.
 */
export async function eventually<T>(
  get: () => T | undefined | false | Promise<T | undefined | false>,
  describe: () => string = () => get.toString(),
): Promise<T> {
  for (const end = now() + LIMIT_MS; now() < end; await delay(POLL_MS)) {
    const value = await get()
    if (value !== undefined && value !== false) return value
  }
  return assert.fail(`timed out: ${describe()}`)
}

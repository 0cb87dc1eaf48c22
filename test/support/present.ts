import assert from 'node:assert/strict'

/** Returns a value that must be there. Fails the test if it is undefined. */
export function present<T>(value: T | undefined): T {
  assert.ok(value !== undefined, 'a value is missing')
  return value
}

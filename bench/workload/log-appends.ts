import { randomBytes } from 'node:crypto'
import type { LogAppend } from '../../core/ports/index.ts'

/** As long as the payload of an event. */
const PAYLOAD_BYTES = 144

/** Random log entries with random payloads. */
export const randomAppends = (count: number): readonly LogAppend[] =>
  Array.from({ length: count }, () => ({
    entry: new Uint8Array(randomBytes(32)),
    payload: new Uint8Array(randomBytes(PAYLOAD_BYTES)),
  }))

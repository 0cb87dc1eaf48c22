import { concatBytes } from '../kit/index.ts'
import { maskedCrc, viewOf } from './encoding.ts'

/** A log is blocks of 32 KiB. What is written at once is one record, or one in each block. */
const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7
export const [WHOLE, FIRST, MIDDLE, LAST] = [1, 2, 3, 4]

/** A part of what was written at once. */
interface LogRecord {
  readonly at: number
  readonly type: number
  /** `undefined` if the record is damaged. */
  readonly data: Uint8Array | undefined
}

export function* recordsOf(bytes: Uint8Array): Generator<LogRecord> {
  const view = viewOf(bytes)
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const blockEnd = at - (at % BLOCK_BYTES) + BLOCK_BYTES
    if (at + HEADER_BYTES > blockEnd) {
      at = blockEnd
      continue
    }
    const type = view.getUint8(at + 6)
    const end = at + HEADER_BYTES + view.getUint16(at + 4, true)
    const fits = end <= Math.min(blockEnd, bytes.length)
    const isSound = fits && type > 0 && maskedCrc(view, at + 6, end) === view.getUint32(at, true)
    yield { at, type, data: isSound ? bytes.subarray(at + HEADER_BYTES, end) : undefined }
    at = fits ? end : blockEnd
  }
}

/** A log with one record, or several parts of one, for each of these. */
export function encodeLog(records: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = []
  let at = 0
  const add = (bytes: Uint8Array): void => {
    parts.push(bytes)
    at += bytes.length
  }
  for (const record of records) {
    let from = 0
    let isBegun = false
    do {
      const left = BLOCK_BYTES - (at % BLOCK_BYTES)
      if (left < HEADER_BYTES) add(new Uint8Array(left))
      const data = record.subarray(from, from + BLOCK_BYTES - (at % BLOCK_BYTES) - HEADER_BYTES)
      from += data.length
      const isLast = from === record.length
      add(encodePart(isBegun ? (isLast ? LAST : MIDDLE) : isLast ? WHOLE : FIRST, data))
      isBegun = true
    } while (from < record.length)
  }
  // There can be more parts than a call can have arguments.
  return Buffer.concat(parts)
}

function encodePart(type: number, data: Uint8Array): Uint8Array {
  const part = concatBytes(new Uint8Array(HEADER_BYTES), data)
  const view = viewOf(part)
  view.setUint16(4, data.length, true)
  view.setUint8(6, type)
  view.setUint32(0, maskedCrc(view, 6, part.length), true)
  return part
}

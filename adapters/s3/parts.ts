import { MAX_PARTS } from './settings.ts'

export interface Part {
  /** Overwritten when the next part is asked for. */
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

/** An object has at most 10,000 parts and 5 TiB: larger bodies take larger parts. */
export function partBytesFor(maxBytes: number, partBytes: number): number {
  const largest = Math.min(maxBytes, 5 * 2 ** 40)
  return Math.max(partBytes, Math.ceil(largest / MAX_PARTS))
}

/**
 * A body in parts of exactly `partBytes`, but for the last. A body that fits in one part gives one, which may be empty;
 * a later one never is. Asks for a chunk only when the one before is in a part, and for none while a part is used.
 * Copies, because a giver may use its buffer again and a part may be sent twice.
 */
export async function* partsOf(body: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Part> {
  let buffer = Buffer.alloc(0)
  let filled = 0
  for await (const chunk of body) {
    for (let rest = chunk; rest.length > 0;) {
      if (filled === partBytes) {
        yield { bytes: buffer, isLast: false }
        filled = 0
      }
      const taken = Math.min(rest.length, partBytes - filled)
      if (filled + taken > buffer.length) buffer = grown(buffer.subarray(0, filled), filled + taken, partBytes)
      buffer.set(rest.subarray(0, taken), filled)
      filled += taken
      rest = rest.subarray(taken)
    }
  }
  yield { bytes: buffer.subarray(0, filled), isLast: true }
}

/** Few files fill a part: three sizes, so that a small one takes little and a large one is copied little. */
function grown(bytes: Uint8Array, needed: number, partBytes: number): Buffer<ArrayBuffer> {
  const size = [64 * 1024, 1024 * 1024].find((step) => step >= needed) ?? partBytes
  const buffer = Buffer.allocUnsafeSlow(Math.min(size, partBytes))
  buffer.set(bytes)
  return buffer
}

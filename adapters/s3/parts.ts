import { MAX_PARTS } from './settings.ts'

export interface Part {
  /** Overwritten when the next part is requested. */
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

/** Returns the size of the parts. An object has at most 10,000 parts and 5 TiB, so larger bodies need larger parts. */
export function partBytesFor(maxBytes: number, partBytes: number): number {
  const largest = Math.min(maxBytes, 5 * 2 ** 40)
  return Math.max(partBytes, Math.ceil(largest / MAX_PARTS))
}

/**
 * Splits a body into parts of exactly `partBytes`; only the last may be smaller. A body that fits in one part yields
 * one part, which may be empty; later parts are never empty. Reads a chunk only when the previous one is in a part, and
 * reads nothing while a part is in use. Copies the chunks, because their producer may reuse its buffer and a part may
 * be sent twice.
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
      const count = Math.min(rest.length, partBytes - filled)
      if (filled + count > buffer.length) buffer = growBuffer(buffer.subarray(0, filled), filled + count, partBytes)
      buffer.set(rest.subarray(0, count), filled)
      filled += count
      rest = rest.subarray(count)
    }
  }
  yield { bytes: buffer.subarray(0, filled), isLast: true }
}

/**
 * Grows in three sizes. Few files fill a part, so a small file uses little memory, and a large one is copied rarely.
 */
function growBuffer(bytes: Uint8Array, needed: number, partBytes: number): Buffer<ArrayBuffer> {
  const size = [64 * 1024, 1024 * 1024].find((step) => step >= needed) ?? partBytes
  const buffer = Buffer.allocUnsafeSlow(Math.min(size, partBytes))
  buffer.set(bytes)
  return buffer
}

import { untilAborted } from '../../clock.ts'
import { fileTooLarge } from '../../store/blob-calls.ts'

interface BodyLimits {
  /** The largest small file; 0 if no file is small. */
  readonly smallFileBytes: number
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** The bytes of a small file, or the body of another one, which yields all its bytes. */
type FileBody = { readonly content: Uint8Array } | { readonly body: AsyncIterableIterator<Uint8Array> }

/**
 * Reads a body to its end if it has at most `smallFileBytes`. Otherwise returns a body that yields what was read again,
 * and then the rest: iterate it, or call its `return`.
 *
 * Throws `PAYLOAD_TOO_LARGE`, the error of the body, or the reason of the abort.
 */
export async function readSmallBody(
  body: AsyncIterable<Uint8Array>,
  { smallFileBytes, maxBytes, signal }: BodyLimits,
): Promise<FileBody> {
  const chunks = body[Symbol.asyncIterator]()
  if (smallFileBytes === 0) return { body: new ResumedBody([], chunks) }
  const start = new Uint8Array(smallFileBytes)
  let size = 0
  try {
    for (;;) {
      signal?.throwIfAborted()
      const step = await untilAborted(chunks.next(), signal)
      if (step.done === true) return { content: start.subarray(0, size) }
      const chunk = step.value
      // A stream with an encoding yields strings, whose length is not their size in bytes.
      if (!(chunk instanceof Uint8Array)) throw new TypeError('The body of a file must yield Uint8Array chunks')
      if (size + chunk.length > maxBytes) throw fileTooLarge(maxBytes)
      if (size + chunk.length > start.length)
        return { body: new ResumedBody([...(size > 0 ? [start.subarray(0, size)] : []), chunk], chunks) }
      // Copied, because a body may use its chunk again for the next one.
      start.set(chunk, size)
      size += chunk.length
    }
  } catch (error) {
    // Not awaited: a generator that hangs would never return.
    chunks.return?.().catch(() => undefined)
    throw error
  }
}

/** A body of which some chunks were read: yields them, then the rest. */
class ResumedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #read: Uint8Array[]
  readonly #rest: AsyncIterator<Uint8Array>

  constructor(read: Uint8Array[], rest: AsyncIterator<Uint8Array>) {
    this.#read = read
    this.#rest = rest
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#read.shift()
    if (value !== undefined) return { done: false, value }
    const step = await this.#rest.next()
    return step.done === true ? { done: true, value: undefined } : step
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#read.length = 0
    await this.#rest.return?.()
    return { done: true, value: undefined }
  }
}

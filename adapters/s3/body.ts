import type { Readable } from 'node:stream'
import { RegistryError } from '../kit/index.ts'
import { SourceBody } from '../body.ts'
import { toRegistryError } from './errors.ts'

export interface BodyOptions {
  /** The bytes that the stream must have. */
  readonly size: number
  readonly signal: AbortSignal | undefined
  /** Called once, when the body reads no more. */
  readonly onRelease: () => void
}

/**
 * Streams an object, or a range of it, on demand. A connection that breaks, or that ends early, is an error and never a
 * shorter body.
 */
export function objectBody(stream: Readable, { size, signal, onRelease }: BodyOptions): SourceBody {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  const read = async (left: number): Promise<Uint8Array> => {
    const { done, value } = await chunks.next().catch((error: unknown) => {
      throw toRegistryError(error, 'A stored file could not be read')
    })
    if (done === true)
      throw new RegistryError('UNAVAILABLE', 'The object store returned fewer bytes of a file than it has; try again')
    if (value.length <= left) return value
    throw new RegistryError('CORRUPT', 'The object store returned more bytes of a file than it has')
  }
  const release = (): void => {
    stream.destroy()
    onRelease()
  }
  return new SourceBody({ read, release }, size, signal)
}

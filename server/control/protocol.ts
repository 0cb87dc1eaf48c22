import type { Socket } from 'node:net'
import { ERROR_CODES, RegistryError, type ErrorCode } from '../../core/index.ts'

/**
 * The protocol of the control socket. A connection carries one request and its response, as lines of JSON in UTF-8:
 *
 *     → {"v":1,"operation":"seal","args":{}}
 *     ← {"progress":{"stage":"seal","done":3}}           any number of times
 *     ← {"result":{…}}  or  {"error":{"code":"UNAVAILABLE","message":"…"}}
 *
 * Then the server closes the connection. A client that closes it earlier cancels the operation.
 */
export const PROTOCOL_VERSION = 1

export interface OperationProgress {
  /** What is done at present, for people. */
  readonly stage: string
  /** How much of it is done, in the stage's own unit. */
  readonly done: number
}

export interface OperationRequest {
  readonly operation: string
  readonly args: unknown
}

export type ResponseLine =
  | { readonly progress: OperationProgress }
  | { readonly result: unknown }
  | { readonly error: { readonly code: ErrorCode; readonly message: string } }

/** The limit of a request; a response has none, because it comes from the server that the client trusts. */
export const MAX_REQUEST_BYTES = 65_536

export const encodeLine = (message: ResponseLine | (OperationRequest & { readonly v: number })): string =>
  `${JSON.stringify(message)}\n`

/**
 * Reads the lines of a socket, without their ends. An unfinished last line is dropped.
 *
 * @param maxBytes limit of one line; a longer one throws `VALIDATION_ERROR`
 */
export async function* readLines(socket: Socket, maxBytes = Infinity): AsyncGenerator<string, void, undefined> {
  let rest = Buffer.alloc(0)
  // The iterator must not destroy the socket when the caller stops reading: the response is still to be written.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      yield rest.subarray(0, end).toString('utf8')
      rest = rest.subarray(end + 1)
    }
    if (rest.length > maxBytes)
      throw new RegistryError('VALIDATION_ERROR', `A request on the control socket has at most ${maxBytes} bytes`)
  }
}

/** An error that came over the socket. An unknown code is one of another version. */
export function errorOfLine({ code, message }: { readonly code: string; readonly message: string }): RegistryError {
  const known = ERROR_CODES.find((each) => each === code)
  return new RegistryError(known ?? 'INTERNAL', message)
}

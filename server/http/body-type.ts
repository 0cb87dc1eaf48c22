import type { IncomingMessage } from 'node:http'
import { HttpError } from '../contract/errors.ts'
import { malformed } from './guarded-body.ts'

/**
 * The media type of a request's body, in lower case and without parameters.
 *
 * @throws `MALFORMED_BODY` if there is no body, `UNSUPPORTED_MEDIA_TYPE` if it is not one of `accepted`, encoded, or
 * not in UTF-8
 */
export function bodyType(request: IncomingMessage, accepted: readonly string[]): string {
  const {
    'content-type': contentType,
    'content-length': length,
    'content-encoding': encoding,
    'transfer-encoding': transferEncoding,
  } = request.headers
  if (transferEncoding === undefined && (length === undefined || Number(length) === 0))
    throw malformed('A body is required')
  const type = essence(contentType)
  if (type === undefined || !accepted.includes(type))
    throw unsupported(`The body's Content-Type must be ${accepted.join(' or ')}`)
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('The body must not have a Content-Encoding')
  assertUtf8(contentType, 'The body')
  return type
}

/**
 * Asserts that a Content-Type names no other charset than UTF-8. Other bytes can look like UTF-8 and mean another text.
 *
 * @throws `UNSUPPORTED_MEDIA_TYPE`
 */
export function assertUtf8(contentType: string | undefined, what: string): void {
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) throw unsupported(`${what} must be in UTF-8`)
}

/** `type/subtype` of a Content-Type, in lower case; `undefined` if it is not a valid one. */
export function essence(contentType: string | undefined): string | undefined {
  const type = ESSENCE.exec(contentType ?? '')?.[1]
  return type !== undefined && type.length <= 127 ? type.toLowerCase() : undefined
}

/** Only spaces and tabs may surround it (RFC 9110 § 5.6.3). `trim` would also remove others, such as U+00A0. */
const ESSENCE = /^[ \t]*([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)[ \t]*(?:;|$)/i

const unsupported = (message: string): HttpError => new HttpError('UNSUPPORTED_MEDIA_TYPE', message)

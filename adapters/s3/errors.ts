import { S3ServiceException } from '@aws-sdk/client-s3'
import { RegistryError, type ErrorCode } from '../../core/errors.ts'

/**
 * What the SDK throws, as the registry's errors. Only name, status, request id and message are kept: the SDK's own error
 * of a refused signature carries the signed request.
 */

/** The HTTP status that the service answered with; `undefined` where it did not. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined

/** The key is not there. A bucket that is not there is another matter, and an error. */
export const isMissingKey = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound')

/** An `If-None-Match` that did not hold (412), or that met another request for the same key (409, to be tried again). */
export const isRefusedCondition = (error: unknown): boolean => [409, 412].includes(statusOf(error) ?? 0)

/** The service does not know what it was asked for, as some know no conditional writes. */
export const isUnknownToService = (error: unknown): boolean => statusOf(error) === 501

/** Whether the request may have been carried out although it failed: no answer came, or one of a service in trouble. */
export function mayBeApplied(error: unknown): boolean {
  const status = statusOf(error)
  return status === undefined || status >= 500 || status === 409 || status === 412
}

/** `NoSuchBucket (404, request …)`, `ECONNREFUSED`, `TimeoutError`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const name = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  if (!(error instanceof S3ServiceException)) return name
  const { httpStatusCode, requestId } = error.$metadata
  return `${name} (${httpStatusCode ?? 'no status'}${requestId === undefined ? '' : `, request ${requestId}`})`
}

function fault(code: ErrorCode, failed: string, hint: string, error: unknown): RegistryError {
  const cause = new Error(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  return new RegistryError(code, `${failed}: ${reasonOf(error)}; ${hint}`, { cause })
}

/** A coded error as it is; everything else as `UNAVAILABLE`. */
export const toRegistryError = (error: unknown, failed: string): RegistryError =>
  error instanceof RegistryError
    ? error
    : fault('UNAVAILABLE', failed, 'check the object store and the way to it, and try again', error)

const NETWORK_CODES = /^(?:E[A-Z]+|UND_ERR_.*|ERR_(?:SOCKET|STREAM|TLS)_.*)$/

/** As `asUnavailable`, but `CONFIG_ERROR` for what will not pass by itself: no such bucket, no access, no credentials. */
export function toStartError(error: unknown, failed: string): RegistryError {
  if (error instanceof RegistryError || !(error instanceof Error)) return toRegistryError(error, failed)
  const status = statusOf(error)
  const passes =
    status === undefined
      ? error.name === 'TimeoutError' || ('code' in error && NETWORK_CODES.test(String(error.code)))
      : status >= 500 || status === 429 || status === 408 || status === 409
  if (passes) return toRegistryError(error, failed)
  const hint = /region/i.test(error.message)
    ? 'set AWS_REGION to the region of the bucket'
    : 'check the bucket, its region, the endpoint, and the credentials and what they may do'
  return fault('CONFIG_ERROR', failed, hint, error)
}

import { S3ServiceException } from '@aws-sdk/client-s3'
import { isError, isRegistryError, RegistryError, type ErrorCode } from '../kit/index.ts'

/**
 * Converts errors of the AWS SDK into coded errors. Only name, status, request id and message are kept, because the
 * SDK's error for a rejected signature contains the signed request.
 */

/** Returns the HTTP status of the response, or `undefined` if there was no response. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined

/** True if the key does not exist. A bucket that does not exist is a different error. */
export const isMissingKey = (error: unknown): boolean =>
  isError(error) && (error.name === 'NoSuchKey' || error.name === 'NotFound')

/** True if the service does not implement the request. */
export const isNotImplemented = (error: unknown): boolean => statusOf(error) === 501

/** Returns `NoSuchBucket (404, request …)`, `connect ECONNREFUSED 10.0.0.1:443` or `TimeoutError`, for example. */
function reasonOf(error: unknown): string {
  if (!isError(error)) return String(error)
  // Of the system: it names the host.
  if ('syscall' in error) return error.message
  const name = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  if (!(error instanceof S3ServiceException)) return name
  const { httpStatusCode, requestId } = error.$metadata
  return `${name} (${httpStatusCode ?? 'no status'}${requestId === undefined ? '' : `, request ${requestId}`})`
}

function codedError(code: ErrorCode, error: unknown, failed: string, remedy: string): RegistryError {
  const cause = new Error(isError(error) ? `${error.name}: ${error.message}` : String(error))
  return new RegistryError(code, `${failed}: ${reasonOf(error)}; ${remedy}`, { cause })
}

/**
 * Converts an error into `UNAVAILABLE`. A coded error is returned unchanged.
 * `failed` says what could not be done: `Blob 1 could not be written`.
 */
export const toRegistryError = (cause: unknown, failed: string): RegistryError =>
  isRegistryError(cause)
    ? cause
    : codedError('UNAVAILABLE', cause, failed, 'check the object store, its endpoint and the network, and try again')

const NETWORK_CODES = /^(?:E[A-Z]+|UND_ERR_.*|ERR_(?:SOCKET|STREAM|TLS)_.*)$/

/**
 * As `toRegistryError`, but `CONFIG_ERROR` for what does not pass by itself: a missing bucket, missing permissions or
 * credentials.
 */
export function toStartError(cause: unknown, failed: string): RegistryError {
  if (isRegistryError(cause) || !isError(cause)) return toRegistryError(cause, failed)
  const status = statusOf(cause)
  const isTransient =
    status === undefined
      ? cause.name === 'TimeoutError' || ('code' in cause && NETWORK_CODES.test(String(cause.code)))
      : (status >= 500 && status !== 501) || status === 429 || status === 408 || status === 409
  if (isTransient) return toRegistryError(cause, failed)
  const remedy = /region/i.test(cause.message)
    ? 'set AWS_REGION to the region of the bucket'
    : 'check the bucket, its region, the endpoint, and the credentials and their permissions'
  return codedError('CONFIG_ERROR', cause, failed, remedy)
}

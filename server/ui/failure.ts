import { EvidenceRegistryError } from '../client/index.ts'
import { texts } from './texts.ts'

/** The part of a message that says which request failed: `POST /evidences/…: `. */
const CALL = /^[A-Z]+ \S+: /

/** A value of a form that is rejected before it is sent. */
export class FieldError extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** @throws `FieldError` for an empty name: the API would take it for one that does not change. */
export function assertName(name: string | undefined): void {
  if (name?.trim() === '') throw new FieldError('name', texts.form.nameMissing)
}

/** What the client refuses to send, such as `..` in a path. The message begins with the name of the value. */
const isRefused = (error: unknown): error is TypeError =>
  error instanceof TypeError && /^[\w-]+ must not /.test(error.message)

/** Whether an error passes by itself: the server cannot be reached, or cannot do anything now. */
export const isOutage = (error: unknown): boolean =>
  error instanceof EvidenceRegistryError && (error.code === 'NETWORK_ERROR' || error.status >= 500)

/** Whether a request that failed may have been recorded: its response was lost, or says that this is not known. */
export const mayBeRecorded = (error: unknown): boolean =>
  isOutage(error) && error instanceof Error && !error.message.startsWith('GET ')

/** Returns a value in place of an error of the service with this code, and throws any other error. */
export const insteadOf =
  <T>(code: string, value: T) =>
  (error: unknown): T => {
    if (error instanceof EvidenceRegistryError && error.code === code) return value
    throw error
  }

/** What to tell the user about an error. Messages of the API are kept, because they name the field and its rule. */
export function messageOf(error: unknown): string {
  if (error instanceof FieldError || isRefused(error)) return error.message
  // Each browser has its own text for a module that it cannot load.
  if (error instanceof TypeError && /\bmodule\b/i.test(error.message)) return texts.failure.notLoaded
  if (!(error instanceof EvidenceRegistryError)) return `${texts.failure.unknown} ${String(error)}`
  if (error.code === 'NETWORK_ERROR') return mayBeRecorded(error) ? texts.failure.responseLost : texts.failure.network
  if (error.status === 401) return texts.failure.unauthorized
  if (error.status === 403) return texts.failure.forbidden
  if (error.code === 'VERSION_CONFLICT') return texts.form.conflict
  return error.message.replace(CALL, '')
}

/**
 * The field that an error of the API is about; `undefined` if it is about none of `names`. Messages of validation begin
 * with the name of the field.
 */
export function fieldOf(error: unknown, names: readonly string[]): string | undefined {
  if (error instanceof FieldError) return error.field
  if (!(error instanceof EvidenceRegistryError) && !isRefused(error)) return undefined
  const byCode = error instanceof EvidenceRegistryError ? FIELD_OF_CODE[error.code] : undefined
  if (byCode !== undefined && names.includes(byCode)) return byCode
  const message = error.message.replace(CALL, '')
  return names.find((name) => message.startsWith(name) && !/\w/.test(message.charAt(name.length)))
}

/** Errors whose messages do not begin with the field. */
const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  EXTERNAL_ID_EXISTS: 'externalId',
  NAME_EXISTS: 'name',
  KEY_EXISTS: 'apiKey',
}

import type { ComponentChildren } from 'preact'
import { EvidenceRegistryError } from '../client/index.ts'
import * as texts from './texts/index.ts'

/** The part of a message that says which request failed: `POST /evidences/…: `. */
const CALL = /^[A-Z]+ \S+: /

/** What is wrong with the values of a form, by the names of their fields; `undefined` for what is right. */
export type Problems = Readonly<Record<string, ComponentChildren>>

/** Values that are rejected, by the page before they are sent, or by the service. */
export class FieldError extends Error {
  readonly problems: Problems

  constructor(problems: Problems) {
    const said = Object.values(problems).filter((each) => typeof each === 'string')
    super(said.join(' '))
    this.problems = problems
  }
}

/** The longest text of one line. Longer ones may have several lines. */
export const LINE_LENGTH = 256
const MAX_LENGTHS: Readonly<Record<string, number>> = {
  companyId: 64,
  externalId: 128,
  description: 8_192,
  summary: 8_192,
  updateActionDescription: 8_192,
  note: 8_192,
  meta: Infinity,
}

/** How many characters the API accepts of a text. */
export const maxLengthOf = (name: string): number => MAX_LENGTHS[name] ?? LINE_LENGTH

/** All that is wrong with the texts of a form and is known before they are sent. `required`: those not to be blank. */
export function problemsIn(values: Readonly<Record<string, string>>, required: readonly string[]): Problems {
  const t = texts.problems
  const problemOf = (name: string, value: string): string | undefined => {
    const max = maxLengthOf(name)
    const { length } = Array.from(value)
    if (required.includes(name) && value.trim() === '') return named(t.missing, name) ?? t.blank
    return length > max ? t.tooLong(length, max) : undefined
  }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, problemOf(name, value)]))
}

const named = (of: Readonly<Record<string, string>>, name: string): string | undefined => of[name]

/** What the client refuses to send, such as `..` in a path. The message begins with the name of the value. */
const isRefused = (error: unknown): error is TypeError =>
  error instanceof TypeError && /^[\w-]+ must not /.test(error.message)

/** Whether an error passes by itself: the server cannot be reached, or cannot do anything now. */
export const isOutage = (error: unknown): boolean =>
  error instanceof EvidenceRegistryError && (error.code === 'NETWORK_ERROR' || error.status >= 500)

/** Whether the service rejected the key. */
export const isUnauthorized = (error: unknown): boolean =>
  error instanceof EvidenceRegistryError && error.status === 401

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

/** What to tell the user about an error. No text of the service is shown: its codes and fields have texts here. */
export function messageOf(error: unknown): string {
  const t = texts.failure
  if (error instanceof FieldError) return error.message
  const field = namedBy(error)
  if (field !== undefined)
    return named(texts.problems.invalid, field) ?? texts.problems.refused(named(texts.fields, field) ?? field)
  // Each browser has its own text for a module that it cannot load.
  if (error instanceof TypeError && /\bmodule\b/i.test(error.message)) return t.notLoaded
  if (!(error instanceof EvidenceRegistryError)) return `${t.unknown} ${String(error)}`
  const { code, status } = error
  if (code === 'NETWORK_ERROR' || code === 'UNKNOWN_OUTCOME') return mayBeRecorded(error) ? t.responseLost : t.network
  if (status >= 500) return t.unavailable
  return named(t.codes, code) ?? named(t.codes, `${status}`) ?? t.refused(code)
}

/** What an error says about the fields of a form that has `names`; nothing if it is about none of them. */
export function problemsOf(error: unknown, names: readonly string[]): Problems {
  if (error instanceof FieldError) return names.some((name) => error.problems[name]) ? error.problems : {}
  const byCode = error instanceof EvidenceRegistryError ? FIELD_OF_CODE[error.code] : undefined
  const field = byCode ?? namedBy(error)
  return field !== undefined && names.includes(field) ? { [field]: messageOf(error) } : {}
}

/** The field whose value the service or the client does not accept. Their messages begin with its name. */
function namedBy(error: unknown): string | undefined {
  const isInvalid = error instanceof EvidenceRegistryError && error.code === 'VALIDATION_ERROR'
  if (!isInvalid && !isRefused(error)) return undefined
  return /^(?:[a-z]\w*|[A-Z_]{3,}\b)/.exec(error.message.replace(CALL, ''))?.[0]
}

/** Errors whose messages do not begin with the field. */
const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  EXTERNAL_ID_EXISTS: 'externalId',
  NAME_EXISTS: 'name',
  CATEGORY_INACTIVE: 'categoryName',
}

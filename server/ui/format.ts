import * as texts from './texts/index.ts'

/** A log can sign a time that `Date` cannot show, and an address can hold one that is none. */
function textOf(time: string | number, format: (date: Date) => string): string {
  const date = new Date(time)
  if (!Number.isNaN(date.getTime())) return format(date)
  return typeof time === 'number' ? texts.farTime(time) : time
}

// Made once: for a bundle of 10,000 events that took seconds.
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** A time in the user's zone, to the second. */
export const formatTime = (time: string | number): string => textOf(time, (date) => TIME.format(date))

const UTC_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const UTC_DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** A time in UTC, to the minute: for what people in several zones compare. */
export const formatUtcTime = (time: string | number): string => textOf(time, (date) => `${UTC_TIME.format(date)} UTC`)

/** A day in UTC. */
export const formatUtcDate = (time: string | number): string => textOf(time, (date) => UTC_DATE.format(date))

/** A time in UTC as the API writes it, for the tooltip of a local time. */
export const formatUtc = (time: string | number): string => textOf(time, (date) => date.toISOString())

const UTC_DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })

/** A day in UTC without its year, such as `Nov 24`, for the axis of a chart. */
export const formatDay = (time: string | number): string => textOf(time, (date) => UTC_DAY.format(date))

const UTC = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })

/** A time in UTC, to the second, for paper: it has no hover. */
export const formatPrinted = (time: string | number): string => textOf(time, (date) => `${UTC.format(date)} UTC`)

/**
 * A time by which something existed, rounded up to the unit that `format` shows: cut off, it would be earlier than what
 * is proven.
 */
export function formatBound(time: number, format: typeof formatTime | typeof formatPrinted): string {
  const unitMs = format === formatUtcTime ? 60_000 : 1_000
  const rounded = Math.ceil(time / unitMs) * unitMs
  return format(Number.isNaN(new Date(rounded).getTime()) ? time : rounded)
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
  { unit: 'second', ms: 1_000 },
] as const

/** A duration in its largest unit, such as `2.5 minutes`. */
export function formatDuration(durationMs: number): string {
  const { unit, ms } = UNITS.find((each) => durationMs >= each.ms) ?? { unit: 'second', ms: 1_000 }
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit,
    unitDisplay: 'long',
    maximumSignificantDigits: 2,
  }).format(durationMs / ms)
}

const MAX_AGE_MS = 7 * 86_400_000

/** How long ago a time was, such as `4 minutes ago`, or in how long it is; beyond seven days the date. */
export function formatAge(time: string | number): string {
  const ageMs = Date.now() - new Date(time).getTime()
  if (!(Math.abs(ageMs) <= MAX_AGE_MS)) return formatDate(time)
  const { unit, ms } = UNITS.find((each) => Math.abs(ageMs) >= each.ms) ?? { unit: 'second', ms: 1_000 }
  return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' }).format(
    -Math.round(ageMs / ms),
    unit,
  )
}

/** A day in the user's zone. */
export const formatDate = (time: string | number): string =>
  textOf(time, (date) => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format(date))

const SIZES = [
  ['gigabyte', 1e9],
  ['megabyte', 1e6],
  ['kilobyte', 1e3],
] as const

/** A size in the largest unit, such as `2.1 MB`. */
export function formatBytes(bytes: number): string {
  const [unit, size] = SIZES.find(([, each]) => bytes >= each) ?? ['byte', 1]
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / size)
}

/** An object without the members that are `undefined` or an empty text, which the API would read as a value. */
export function withoutEmpty<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the same members without those that are left out
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}

/** A value of `<input type="datetime-local">`, in the user's zone, as RFC 3339. Another text stays as it is. */
export const toRfc3339 = (local: string): string => formatUtc(local)

/** Saves data as a file of the user. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

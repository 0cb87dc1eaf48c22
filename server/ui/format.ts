/** A time in the user's zone, to the second. */
export const formatTime = (time: string | number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(time))

/** A time in UTC as the API writes it, for the tooltip of a local time. */
export const formatUtc = (time: string | number): string => new Date(time).toISOString()

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

/** An object without the members that are `undefined` or an empty text, which the API would read as a value. */
export function withoutEmpty<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the same members without those that are left out
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}

/** A value of `<input type="datetime-local">`, in the user's zone, as RFC 3339. Empty stays empty. */
export const toRfc3339 = (local: string): string => (local === '' ? '' : new Date(local).toISOString())

/** Saves data as a file of the user. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** The values that a setting accepts. */
export interface Accepted<T> {
  /** Completes the sentence "must be …". For `--help`, the README and errors. */
  readonly accepts: string
  /** Set if a flag without a value means `true`. */
  readonly isSwitch?: true
  /** Returns `undefined` for a text that is not accepted. */
  readonly parse: (text: string) => T | undefined
}

/** One setting. Its flag, variable and key in the configuration file follow from its name in the table. */
export interface Setting<T> extends Accepted<T> {
  readonly doc: string
  readonly fallback: T
  /** The fallback in words. */
  readonly shownFallback: string
  /** A secret is never shown, has no flag, and can be read from the file that `…_FILE` names. */
  readonly isSecret: boolean
}

interface Details {
  readonly doc: string
  readonly shownFallback?: string
  readonly secret?: true
}

/** A setting that always has a value. */
export const setting = <T>(
  accepted: Accepted<T>,
  details: Details & { readonly fallback: NoInfer<T> },
): Setting<T> => ({
  ...accepted,
  doc: details.doc,
  fallback: details.fallback,
  shownFallback: details.shownFallback ?? String(details.fallback),
  isSecret: details.secret === true,
})

/** A setting that is `undefined` unless it is set. */
export const optional = <T>(accepted: Accepted<T>, details: Details): Setting<T | undefined> =>
  setting<T | undefined>(accepted, { shownFallback: 'none', ...details, fallback: undefined })

export const integer = (min: number, max: number): Accepted<number> => ({
  accepts: `an integer from ${min} to ${max}`,
  parse(text) {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : undefined
    return value !== undefined && value >= min && value <= max ? value : undefined
  },
})

export const DAY_MS = 24 * 60 * 60 * 1_000

export const oneOf = <const T extends string>(...values: readonly T[]): Accepted<T> => ({
  accepts: `one of ${values.join(', ')}`,
  parse: (text) => values.find((value) => value === text),
})

export const flag: Accepted<boolean> = {
  accepts: 'true or false',
  isSwitch: true,
  parse: (text) => ({ true: true, false: false })[text],
}

/** A text that matches a pattern. */
export const text = (accepts: string, pattern: RegExp): Accepted<string> => ({
  accepts,
  parse: (value) => (pattern.test(value) ? value : undefined),
})

export const path = text('a path', /^[^\0]+$/)

/** A URL of one of these schemes, as it was written. */
const urlOf =
  (...protocols: readonly string[]) =>
  (value: string): string | undefined =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol) ? value : undefined

/** Without credentials, query, fragment, and slashes at its end. */
export const baseUrl: Accepted<string> = {
  accepts: 'an http or https URL',
  parse(value) {
    if (urlOf('http:', 'https:')(value) === undefined) return undefined
    const { search, hash, username, password, href } = new URL(value)
    const isBare = [search, hash, username, password].every((part) => part === '')
    return isBare ? href.replace(/\/+$/, '') : undefined
  },
}

export const postgresUrl: Accepted<string> = {
  accepts: 'a URL such as postgres://user:password@host:port/database',
  parse: urlOf('postgres:', 'postgresql:'),
}

/** Values separated by commas. A value cannot contain a comma. */
export const listOf = <T>(accepts: string, parse: (value: string) => T | undefined): Accepted<readonly T[]> => ({
  accepts: `${accepts}, separated by commas`,
  parse(joined) {
    const values = joined.split(',').map((value) => parse(value.trim()))
    return values.every((value) => value !== undefined) ? values : undefined
  },
})

/** As a browser writes them in `Origin`. */
export const origins = listOf('origins such as https://app.example', (value) =>
  URL.canParse(value) && new URL(value).origin === value ? value : undefined,
)

export const httpUrls = listOf('http or https URLs', urlOf('http:', 'https:'))

import Type, { type TSchema } from '#typebox'

/** A schema of the values that a setting accepts. */
type Accepted<T extends TSchema = TSchema> = T & {
  /** Completes the sentence "must be …". For `--help`, the README and errors. */
  readonly accepts: string
  readonly default?: unknown
}

/** What a setting says about itself besides its values. */
interface Details {
  /** The default in words. */
  readonly shownDefault?: string
  /** A secret is never shown, has no flag, and can be read from the file that `…_FILE` names. */
  readonly isSecret?: boolean
}

/** A setting that always has a value. Its flag, variable and key in the file follow from its name in the schema. */
export const setting = <T extends TSchema>(schema: Accepted<T>, description: string, details: Details = {}) => ({
  ...schema,
  description,
  shownDefault: details.shownDefault ?? (String(schema.default) || 'none'),
  isSecret: details.isSecret === true,
})

/** A setting that is left out unless it is set. */
export const optional = <T extends TSchema>(schema: Accepted<T>, description: string, details: Details = {}) =>
  Type.Optional(setting(schema, description, { shownDefault: 'none', ...details }))

/** A schema with its default, if it has one. */
const accepted = <T extends TSchema>(schema: T, accepts: string, standard?: unknown) => ({
  ...schema,
  accepts,
  ...(standard !== undefined && { default: standard }),
})

export const DAY_MS = 24 * 60 * 60 * 1_000

/** A whole number with both limits, which the help shows. */
export const integer = (minimum: number, maximum: number, standard?: number) =>
  accepted(Type.Integer({ minimum, maximum }), `an integer from ${minimum} to ${maximum}`, standard)

/** A number of blocks, or the word by which a chain says that a block stays. */
export const confirmations = (standard: number) =>
  accepted(
    Type.Union([Type.Integer({ minimum: 1, maximum: 100_000 }), Type.Literal('finalized')]),
    'an integer from 1 to 100000, or finalized',
    standard,
  )

/** A price. The ninth decimal is one wei. */
export const gwei = (standard: number) =>
  accepted(
    Type.Number({ minimum: 1e-9, exclusiveMaximum: 1_000_000 }),
    'a number above 0 with up to 9 decimals',
    standard,
  )

/** One of several words. */
export const oneOf = <const T extends string>(values: readonly [T, ...T[]], standard: NoInfer<T>) =>
  accepted(Type.Enum(values), `one of ${values.join(', ')}`, standard)

/** As a flag without a value it is true. */
export const flag = (standard?: boolean) => accepted(Type.Boolean(), 'true or false', standard)

/**
 * Paths are shown. So what belongs in another setting and may hold a secret is none: a URL, with or without slashes,
 * JSON, and several lines. `C:\x\@scope` is one.
 */
const PATH = '^(?!.*(?:://|:(?![/\\\\]).*@)|\\s*[{\\[])[^\\0\\r\\n]+$'

/** Whether a text can be a path. */
export const isPath = (value: string): boolean => new RegExp(PATH).test(value)

/** One of several words, or the path of a module, which contains a full stop or a slash. */
export const oneOfOrModule = (values: readonly string[], standard: string) =>
  text(
    `${values.join(', ')}, or the path of a module such as ./my-adapter.mjs`,
    `^(?:${values.join('|')})$|(?=.*[./\\\\])${PATH}`,
    standard,
  )

export const text = (accepts: string, pattern: string, standard?: string) =>
  accepted(Type.String({ pattern }), accepts, standard)

/** A path of this machine, absolute or relative to the working directory. */
export const path = (standard?: string) => text('a path', PATH, standard)

/** Without credentials, query and fragment. Slashes at its end are removed. */
export const baseUrl = () =>
  accepted(
    Type.String({ format: 'base-url' }),
    'an http or https URL without a name and password, a query and a fragment',
  )

export const postgresUrl = () =>
  accepted(Type.String({ format: 'postgres-url' }), 'a URL such as postgres://user:password@host:port/database')

/** Texts separated by commas. None of them can contain a comma. */
const listOf = (items: { readonly format: string } | { readonly pattern: string }, accepts: string, standard?: []) =>
  accepted(Type.Array(Type.String(items)), `${accepts}, separated by commas`, standard)

export const httpUrls = (standard?: []) => listOf({ format: 'http-url' }, 'http or https URLs', standard)

/** As a browser writes them in `Origin`. */
export const origins = () => listOf({ format: 'origin' }, 'origins such as https://app.example', [])

export const paths = () => listOf({ pattern: PATH }, 'paths', [])

export const policies = () =>
  listOf({ pattern: '^$|^[0-2](\\.\\d+)+$' }, 'dotted object identifiers (or empty: the authority chooses)', [])

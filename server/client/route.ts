/** An endpoint as the table of endpoints describes it. */
export interface Route {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters as `{name}`. */
  readonly path: string
  /** Whether it needs an API key. */
  readonly keyed?: true
  /** Whether its path is relative to the root of the service, not to the base path. */
  readonly root?: true
  /** Fields that are files. */
  readonly files?: readonly string[]
  /** Whether it can be repeated: always, with an idempotency key, or never. */
  readonly repeat: 'safe' | 'idempotent' | 'never'
  /** How a success is returned: parsed JSON, a text, or the response with its stream. */
  readonly result: 'json' | 'text' | 'response'
}

/** The parameters and fields of a request, by name. */
export type Fields = Readonly<Record<string, unknown>>

/** A value as a parameter or form field: texts as they are, other values as JSON. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const HAS_BODY: ReadonlySet<Route['method']> = new Set(['POST', 'PUT', 'PATCH'])
/** The path of a tile contains slashes. */
const MANY_SEGMENTS = 'tile'

/** A request's path with its query, and the fields of its body. Fields that are `undefined` are left out. */
export function splitRequest({ method, path }: Route, request: Fields): { target: string; body: Fields } {
  const rest = new Map(Object.entries(request).filter(([, value]) => value !== undefined))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name)
    rest.delete(name)
    return pathSegment(name, value)
  })
  if (HAS_BODY.has(method)) return { target: filled, body: Object.fromEntries(rest) }
  const query = new URLSearchParams(
    Array.from(rest, ([name, value]): [string, string] => [name, textOf(value)]),
  ).toString()
  return { target: query === '' ? filled : `${filled}?${query}`, body: {} }
}

/** Throws for a value that would change the path: an empty one, `.` and `..`. */
function pathSegment(name: string, value: unknown): string {
  if (value === undefined || value === '') throw new TypeError(`${name} is missing`)
  const segments = name === MANY_SEGMENTS ? textOf(value).split('/') : [textOf(value)]
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw new TypeError(`${name} must not be . or .., because a path cannot contain them`)
  return segments.map(encodeURIComponent).join('/')
}

import type { Context } from 'koa'
import { documentPath, parametersOf, type Endpoint } from '../contract/endpoint.ts'

/** The values of a path's parameters, decoded. */
export type PathParameters = Readonly<Record<string, string>>

/** A route as it is added to a section. */
export interface RouteOptions {
  readonly method: Endpoint['method']
  /** With parameters as in `Endpoint.path`. */
  readonly path: string
  /** For an endpoint: which of its requests read much. */
  readonly reads?: Pick<Endpoint, 'workClass' | 'isHeavy'>
  /** Sets the response. */
  readonly run: (ctx: Context, parameters: PathParameters) => void | Promise<void>
}

/** A method, the paths that it is for, and what runs for such requests. A route for GET is also one for HEAD. */
export class Route {
  readonly methods: readonly string[]
  /** With parameters as `{NAME}`, as the OpenAPI document, the log and the metrics show it. */
  readonly path: string
  readonly reads: NonNullable<RouteOptions['reads']>
  readonly run: RouteOptions['run']
  readonly #pattern: RegExp
  readonly #parameters: readonly string[]

  constructor({ method, path, reads = {}, run }: RouteOptions) {
    this.methods = method === 'GET' ? ['HEAD', 'GET'] : [method]
    this.path = documentPath(path)
    this.reads = reads
    this.run = run
    this.#pattern = patternOf(path)
    this.#parameters = parametersOf(path)
  }

  /** Whether a path is one of this route. */
  hasPath(path: string): boolean {
    return this.#pattern.test(path)
  }

  /** The path's parameters. Requires `hasPath`, and that its percent-escapes are valid. */
  parametersOf(path: string): PathParameters {
    const [, ...values] = this.#pattern.exec(path) ?? []
    const parameters: Record<string, string> = {}
    for (const [i, name] of this.#parameters.entries()) parameters[name] = decodeURIComponent(values[i] ?? '')
    return parameters
  }
}

const PARAMETER_OR_SYNTAX = /\{[A-Za-z_]+(\*?)\}|[.*+?^$()[\]\\|]/g

/** Matches the paths that a path with parameters describes, and captures the parameters' values. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path.replaceAll(PARAMETER_OR_SYNTAX, (part, rest: string | undefined) =>
      rest === undefined ? `\\${part}` : rest === '' ? '([^/]+)' : '(.+)',
    )}$`,
  )

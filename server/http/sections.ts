import type { Context, Middleware } from 'koa'
import type { Endpoint } from '../contract/endpoint.ts'
import type { WorkClass } from './admission.ts'
import { essence } from './body.ts'
import type { ErrorShape } from './errors.ts'
import { Route, type RouteOptions } from './route.ts'

/**
 * The paths with one first segment: their routes, and what holds for all of them, also for a path that no endpoint has.
 */
export class Section {
  readonly #routes: Route[] = []
  readonly #isBelowBase: boolean
  #isPublic = false
  #errorShape: ErrorShape = 'operation'

  /** `isBelowBase`: whether it is of the API, whose requests have limits. Others are for operators and browsers. */
  constructor(isBelowBase: boolean) {
    this.#isBelowBase = isBelowBase
  }

  get routes(): readonly Route[] {
    return this.#routes
  }

  /** Whether its endpoints are public ones of the API, which scripts of any origin may read. */
  get isPublic(): boolean {
    return this.#isPublic
  }

  /** The body that its errors have. */
  get errorShape(): ErrorShape {
    return this.#errorShape
  }

  /** Adds a route. Of several that a request fits, the first one runs. */
  add(route: RouteOptions): void {
    this.#routes.push(new Route(route))
  }

  /** Notes what an endpoint means for the section. */
  describe({ access }: Endpoint, errorShape: ErrorShape): void {
    if (access === 'public') this.#isPublic = this.#isBelowBase
    if (errorShape === 'verification') this.#errorShape = errorShape
  }

  /** The route of a request, `undefined` if it has none. */
  routeOf(method: string, path: string): Route | undefined {
    return this.#routes.find((route) => route.methods.includes(method) && route.hasPath(path))
  }

  /** The methods with which a path has a route, sorted. */
  methodsOf(path: string): readonly string[] {
    const routes = this.#routes.filter((route) => route.hasPath(path))
    return [...new Set(routes.flatMap(({ methods }) => methods))].sort()
  }

  /** The class of a request. `undefined`: no limit. */
  workClassOf(ctx: Context): WorkClass | undefined {
    if (!this.#isBelowBase) return undefined
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    const keyless = isRead || ctx.method === 'OPTIONS' ? 'public' : 'validations'
    if (this.#isPublic) return keyless
    const special = isRead ? heavyClassOf(ctx) : undefined
    // A download can have a token instead of a key.
    if (ctx.get('X-API-Key') === '') return special === 'downloads' ? special : keyless
    if (isRead) return special ?? 'reads'
    return essence(ctx.get('Content-Type')) === 'multipart/form-data' ? 'uploads' : 'writes'
  }
}

/** The class of a request that reads more than a few records, `undefined` for others. */
function heavyClassOf({ state, querystring }: Context): WorkClass | undefined {
  const { workClass, isHeavy } = state.route?.reads ?? {}
  return isHeavy === undefined || isHeavy(new URLSearchParams(querystring)) ? workClass : undefined
}

/**
 * Finds the section of a path. So a request is compared with the routes of its section only, and each of its rules is
 * looked up once.
 */
export class Sections {
  readonly #base: string
  readonly #sections = new Map<string, Section>()
  readonly #unknown = new Section(false)
  /** For paths below the base without any endpoint. */
  readonly #unknownBelowBase = new Section(true)

  /** `base`: below it the second segment decides, and the limits hold. */
  constructor(base: string) {
    this.#base = `${base}/`
  }

  get all(): readonly Section[] {
    return [...this.#sections.values()]
  }

  /** The section of a path that a request has. */
  of(path: string): Section {
    const isBelowBase = path.startsWith(this.#base)
    return this.#sections.get(this.#keyOf(path, isBelowBase)) ?? (isBelowBase ? this.#unknownBelowBase : this.#unknown)
  }

  /** The section to which a route with this path is added. */
  for(path: string): Section {
    const isBelowBase = path.startsWith(this.#base)
    const key = this.#keyOf(path, isBelowBase)
    const section = this.#sections.get(key) ?? new Section(isBelowBase)
    this.#sections.set(key, section)
    return section
  }

  /** Adds a route to the section of its path. */
  add(route: RouteOptions): void {
    this.for(route.path).add(route)
  }

  #keyOf(path: string, isBelowBase: boolean): string {
    const end = path.indexOf('/', isBelowBase ? this.#base.length : 1)
    return end === -1 ? path : path.slice(0, end)
  }
}

/** Notes the section of each request, and its route. Comes before all middleware that uses them. */
export const findRoute =
  (sections: Sections): Middleware =>
  (ctx, next) => {
    if (!hasPath(ctx)) {
      ctx.state.hasInvalidTarget = true
      ctx.url = '/'
    }
    const { method, path } = ctx
    const section = sections.of(path)
    ctx.state.section = section
    ctx.state.route = section.routeOf(method, path)
    return next()
  }

/** Whether the request has a path. The target can also be a whole URL, with a host that cannot be parsed. */
function hasPath(ctx: Context): boolean {
  try {
    return ctx.path !== null
  } catch {
    return false
  }
}

export const sectionOf = (ctx: Context): Section => ctx.state.section

/** Runs the route of a request. Comes after `rejectInvalidPaths`. */
export const runRoute: Middleware = (ctx, next) => {
  const { route } = ctx.state
  return route === undefined ? next() : route.run(ctx, route.parametersOf(ctx.path))
}

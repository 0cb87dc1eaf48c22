import Router, { type RouterMiddleware } from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { Endpoint } from '../contract/endpoint.ts'
import type { WorkClass } from './admission.ts'
import { essence } from './body.ts'
import type { ErrorShape } from './errors.ts'

/** A pattern of paths whose GET reads more than a few records, with its class. */
interface ReadClass {
  readonly pattern: RegExp
  readonly workClass: WorkClass
  readonly isHeavy: (query: URLSearchParams) => boolean
}

/**
 * The paths with one first segment: their routes, and what holds for all of them, also for a path that no endpoint has.
 */
export class Section {
  readonly router = new Router({ strict: true, sensitive: true })
  readonly dispatch: RouterMiddleware = this.router.routes()
  readonly #isBelowBase: boolean
  readonly #readClasses: ReadClass[] = []
  #isPublic = false
  #errorShape: ErrorShape = 'operation'

  /** `isBelowBase`: whether it is of the API, whose requests have limits. Others are for operators and browsers. */
  constructor(isBelowBase: boolean) {
    this.#isBelowBase = isBelowBase
  }

  /** Whether its endpoints are public ones of the API, which scripts of any origin may read. */
  get isPublic(): boolean {
    return this.#isPublic
  }

  /** The body that its errors have. */
  get errorShape(): ErrorShape {
    return this.#errorShape
  }

  /** Notes what an endpoint at `fullPath` means for the section. */
  describe(endpoint: Endpoint, fullPath: string, errorShape: ErrorShape): void {
    const { access, method, workClass, isHeavy = () => true } = endpoint
    if (access === 'public') this.#isPublic = this.#isBelowBase
    if (errorShape === 'verification') this.#errorShape = errorShape
    if (method === 'GET' && workClass !== undefined)
      this.#readClasses.push({ pattern: patternOf(fullPath), workClass, isHeavy })
  }

  /** The class of a request. `undefined`: no limit. */
  workClassOf(ctx: Context): WorkClass | undefined {
    if (!this.#isBelowBase) return undefined
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    const keyless = isRead || ctx.method === 'OPTIONS' ? 'public' : 'validations'
    if (this.#isPublic) return keyless
    const special = isRead ? this.#readClassOf(ctx) : undefined
    // A download can have a token instead of a key.
    if (ctx.get('X-API-Key') === '') return special === 'downloads' ? special : keyless
    if (isRead) return special ?? 'reads'
    return essence(ctx.get('Content-Type')) === 'multipart/form-data' ? 'uploads' : 'writes'
  }

  #readClassOf({ path, querystring }: Context): WorkClass | undefined {
    const found = this.#readClasses.find(({ pattern }) => pattern.test(path))
    return found?.isHeavy(new URLSearchParams(querystring)) === true ? found.workClass : undefined
  }
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)

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

  #keyOf(path: string, isBelowBase: boolean): string {
    const end = path.indexOf('/', isBelowBase ? this.#base.length : 1)
    return end === -1 ? path : path.slice(0, end)
  }
}

/** Notes the section of each request. Comes before all middleware that uses `sectionOf`. */
export const findSection =
  (sections: Sections): Middleware =>
  (ctx, next) => {
    if (!hasPath(ctx)) {
      ctx.state.hasInvalidTarget = true
      ctx.url = '/'
    }
    ctx.state.section = sections.of(ctx.path)
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

/** Runs the route of a request. */
export const dispatch: RouterMiddleware = (ctx, next) => sectionOf(ctx).dispatch(ctx, next)

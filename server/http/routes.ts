import Router from '@koa/router'
import type { Context } from 'koa'
import { HttpError } from '../contract/errors.ts'
import { segmentOf } from './segments.ts'

/** A method and a path that have a route. Parameters of the path are written as `{NAME}`. */
export interface MethodAndPath {
  readonly method: string
  readonly path: string
}

/** Handles a request of one route. */
export type RouteHandler = (ctx: Context) => void | Promise<void>

/**
 * The routes of a listener, with a router for each first segment of a path: a request is compared only with the routes
 * of its own segment.
 */
export class Routes {
  readonly #routers = new Map<string, Router>()
  readonly #handlers = new Map<object, RouteHandler>()
  readonly #hint: string

  /** `hint` ends the text of a 404: where the endpoints are. */
  constructor(hint = '') {
    this.#hint = hint
  }

  /** Every route. */
  get all(): readonly MethodAndPath[] {
    const layers = Array.from(this.#routers.values(), ({ stack }) => stack).flat()
    return layers.flatMap(({ methods, name = '' }) => methods.map((method) => ({ method, path: name })))
  }

  /**
   * Adds a route for GET and HEAD, or another method. `path`: as `@koa/router` writes it. `name`: shown by the log and
   * the metrics.
   */
  add(method: string, path: string, handle: RouteHandler, name = path): void {
    const segment = segmentOf(path)
    const router = this.#routers.get(segment) ?? new Router({ sensitive: true, strict: true })
    this.#routers.set(segment, router)
    router.register(path, [method], NOT_CALLED, { name })
    const layer = router.stack.at(-1)
    if (layer !== undefined) this.#handlers.set(layer, handle)
  }

  /**
   * Runs the handler of a request, with `ctx.params` and `ctx.routerName`.
   *
   * @throws `NOT_FOUND`, `METHOD_NOT_ALLOWED`, and what the handler throws
   */
  handle(ctx: Context): void | Promise<void> {
    const { path, method } = ctx
    const layers = this.#routers.get(segmentOf(path))?.stack ?? []
    // Those of other methods are not compared with the path, and none behind the one that fits.
    const layer = layers.find((each) => each.methods.includes(method) && each.match(path))
    const handle = layer && this.#handlers.get(layer)
    if (layer === undefined || handle === undefined) return this.#reject(ctx, layers)
    ctx['routerName'] = layer.name
    ctx['params'] = layer.params(path, layer.captures(path))
    return handle(ctx)
  }

  /** 405 if the path has other methods, else 404. */
  #reject(ctx: Context, layers: Router['stack']): never {
    const fitting = layers.filter((layer) => layer.match(ctx.path))
    const methods = [...new Set(fitting.flatMap((layer) => layer.methods))].sort()
    if (methods.length === 0) throw new HttpError('NOT_FOUND', `There is nothing at this path${this.#hint}`)
    ctx.state.head.set('Allow', methods.join(', '))
    throw new HttpError('METHOD_NOT_ALLOWED', `This path only supports ${methods.join(', ')}`)
  }
}

/** The routers only match. */
const NOT_CALLED = (): void => undefined

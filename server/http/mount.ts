import { documentPath, type Endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { withWireNames } from '../contract/field-names.ts'
import type { EndpointServices } from './endpoint-services.ts'
import type { RouteHandler, Routes } from './routes.ts'
import { serve } from './serve.ts'

/** What comes before the handler of an endpoint. */
export type RouteGuard = (endpoint: Endpoint, handle: RouteHandler) => RouteHandler

interface MountOptions {
  readonly base: string
  readonly services: EndpointServices
  readonly guard?: RouteGuard
}

/** Routes each endpoint of a group, below `base`, to `serve`. */
export function mount(
  routes: Routes,
  { endpoints }: Pick<EndpointGroup, 'endpoints'>,
  { base, services, guard = (_, handle) => handle }: MountOptions,
): void {
  for (const endpoint of endpoints) {
    const path = base + endpoint.path
    const handle: RouteHandler = async (ctx) => {
      try {
        await serve(ctx, endpoint, services)
      } catch (error) {
        throw withWireNames(error, endpoint.query?.properties)
      }
    }
    routes.add(endpoint.method, routerPath(path), guard(endpoint, handle), documentPath(path))
  }
}

/** A path with parameters as the router writes them. */
const routerPath = (path: string): string =>
  path.replaceAll(/\{([A-Za-z_]+)(\*?)\}/g, (_, name: string, rest: string) => (rest === '' ? `:${name}` : `*${name}`))

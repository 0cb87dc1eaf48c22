import type Router from '@koa/router'
import type { Context } from 'koa'
import { documentPath, type EndpointGroup } from '../contract/endpoint.ts'
import { withWireNames } from '../contract/field-names.ts'
import type { EndpointServices } from './endpoint-services.ts'
import { serve } from './serve.ts'

/** Routes each endpoint of a group, below `base`, to `serve`. */
export function mount(
  router: Router,
  { endpoints }: Pick<EndpointGroup, 'endpoints'>,
  { base, services }: { readonly base: string; readonly services: EndpointServices },
): void {
  for (const endpoint of endpoints) {
    const path = base + endpoint.path
    const handle = async (ctx: Context): Promise<void> => {
      try {
        await serve(ctx, endpoint, services)
      } catch (error) {
        throw withWireNames(error, endpoint.query?.properties)
      }
    }
    // The name is shown by the log and the metrics.
    router.register(routerPath(path), [endpoint.method], handle, { name: documentPath(path) })
  }
}

/** A path with parameters as the router writes them. */
const routerPath = (path: string): string =>
  path.replaceAll(/\{([A-Za-z_]+)(\*?)\}/g, (_, name: string, rest: string) => (rest === '' ? `:${name}` : `*${name}`))

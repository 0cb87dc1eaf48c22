import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import Router from '@koa/router'

/**
 * The API's page, from the npm package rapidoc: one script from here and the document; nothing from anywhere else. Its
 * addresses are relative, so that it works below a proxy's prefix.
 */
const page = (specUrl: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <title>Evidence Registry API</title>
    <script type="module" src="docs/rapidoc.js"></script>
  </head>
  <body>
    <rapi-doc spec-url="${specUrl}" render-style="read" load-fonts="false" show-header="false" allow-spec-url-load="false"
      allow-spec-file-load="false" regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace"></rapi-doc>
    <noscript>The page needs JavaScript; the document itself is at <a href="${specUrl}">${specUrl}</a>.</noscript>
  </body>
</html>
`

// The component writes its styles inline.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** `/docs` and its script. `specPath` is the document's path without a leading slash. */
export function docsRouter(specPath: string): Router {
  const router = new Router({ strict: true, sensitive: true })
  router.get('/docs', (ctx) => {
    ctx.state['route'] = '/docs'
    ctx.set('Content-Security-Policy', POLICY)
    ctx.type = 'html'
    ctx.body = page(specPath)
  })
  router.get('/docs/rapidoc.js', async (ctx) => {
    ctx.state['route'] = '/docs/rapidoc.js'
    const file = createRequire(import.meta.url).resolve('rapidoc/dist/rapidoc-min.js')
    ctx.length = (await stat(file)).size
    ctx.set('Content-Type', 'text/javascript; charset=utf-8')
    ctx.set('Cache-Control', 'public, max-age=3600')
    ctx.body = createReadStream(file)
  })
  return router
}

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { HEAD_BADGE } from '../contract/openapi.ts'
import { keptResult } from './kept-result.ts'
import type { Sections } from './sections.ts'

/** The viewer's single file, which the build copies into `dist`. */
const VIEWER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/server/http/rapidoc.js' : './rapidoc.js', import.meta.url),
)

/**
 * The page that shows the API. It loads one script and the OpenAPI document, both from this server. Its URLs are
 * relative, so it also works below a path prefix of a reverse proxy.
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
      allow-spec-file-load="false" remove-endpoints-with-badge-label-as="${HEAD_BADGE}" regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace"></rapi-doc>
    <noscript>This page needs JavaScript. The OpenAPI document is at <a href="${specUrl}">${specUrl}</a>.</noscript>
  </body>
</html>
`

// The viewer uses inline styles.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * Adds the routes for `/docs` and its script. `/` redirects browsers to the dashboard, other clients to `/docs`.
 * `specPath` is the path of the OpenAPI document, without a leading slash.
 */
export function addDocs(sections: Sections, specPath: string): void {
  sections.add({
    method: 'GET',
    path: '/',
    run: (ctx) => {
      // Relative, like all links of the page. 302: a later version may show something else here.
      ctx.status = 302
      // Browsers name HTML in `Accept`. Tools such as curl accept anything.
      ctx.vary('Accept')
      ctx.set('Location', ctx.get('Accept').includes('text/html') ? 'ui/' : 'docs')
    },
  })
  sections.add({
    method: 'GET',
    path: '/docs',
    run: (ctx) => {
      ctx.set('Content-Security-Policy', POLICY)
      ctx.type = 'html'
      ctx.body = page(specPath)
    },
  })
  // Kept in memory: a stream would hold a descriptor for each client that does not read.
  const readViewer = keptResult(() => readFile(VIEWER))
  sections.add({
    method: 'GET',
    path: '/docs/rapidoc.js',
    run: async (ctx) => {
      ctx.set('Content-Type', 'text/javascript; charset=utf-8')
      ctx.set('Cache-Control', 'public, max-age=3600')
      ctx.body = await readViewer()
    },
  })
}

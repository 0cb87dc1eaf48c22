import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'koa'
import { ifExists } from '../../adapters/files/index.ts'
import { HttpError } from '../contract/errors.ts'
import { HEAD_BADGE } from '../contract/openapi.ts'
import { isFresh, sendNotModified } from './headers.ts'
import type { RouteHandler, Routes } from './routes.ts'
import { send } from './send.ts'
import { BUILT_SERVER } from '../version.ts'

/** The dashboard and the page that shows the API. */

/** What the build puts into `dist`, each file also compressed. */
const BUILT = fileURLToPath(BUILT_SERVER)
const FOLDERS = { ui: join(BUILT, 'ui'), docs: join(BUILT, 'http') }

/**
 * The page runs only its own files, sends requests only to its own server, and cannot put text into HTML (Trusted
 * Types). Images of evidences are fetched with the key and shown as `blob:`.
 */
const UI_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // Of the verification page: it names the address of its worker, and nothing else.
  'trusted-types verifier',
].join('; ')

// The viewer uses inline styles.
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src " +
  "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const PAGE = 'ui/index.html'
/** The page to keep as a file. Its own policy allows its inline script, which the policy of this server does not. */
const SAVED_PAGE = 'ui/verify.html'

/** A file that is served, ready to be sent. */
interface StaticFile {
  readonly type: string
  readonly content: Buffer
  readonly compressed: Buffer | undefined
  readonly etag: string
}

/** What the dashboard is told about its server: see `AppOptions`. */
type PageData = Readonly<{ publicUrl?: string | undefined; maxFileBytes: number }>

/**
 * Adds `/ui/`, `/docs` and `/`. The files are few and small, so they are kept in memory: a stream would hold a
 * descriptor for each client that does not read. A path is looked up by its name and never joined to a folder.
 *
 * `specPath`: of the OpenAPI document, without a leading slash.
 */
export function addPages(routes: Routes, { specPath, ...data }: PageData & { readonly specPath: string }): void {
  // Relative, so that it also works below a path prefix of a proxy. 302: a later version may show something else.
  const redirect = (ctx: Context, to: string): void => {
    ctx.state.head.set('Location', to)
    send(ctx, 302, { type: 'text/plain; charset=utf-8', data: 'Found' })
  }
  const add = (path: string, handle: RouteHandler, name = path): void => routes.add('GET', path, handle, name)
  add('/', (ctx) => {
    // Browsers name HTML in `Accept`. Tools such as curl accept anything.
    ctx.state.head.append('Vary', 'Accept')
    redirect(ctx, ctx.get('Accept').includes('text/html') ? 'ui/' : 'docs')
  })
  add('/ui', (ctx) => redirect(ctx, 'ui/'))
  add('/docs', (ctx) => {
    ctx.state.head.set('Content-Security-Policy', DOCS_POLICY)
    send(ctx, 200, { type: HTML_TYPE, data: apiPage(specPath) })
  })
  const files = staticFiles(data)
  for (const path of ['/ui/', '/ui/*path', '/docs/rapidoc.js'])
    add(path, async (ctx) => sendStatic(ctx, await files()), path.replace('*path', '{path}'))
}

/** Sends a file from memory. The ETag is a hash of its content. */
function sendStatic(ctx: Context, files: StaticFiles): void {
  const name = ctx.path === '/ui/' ? PAGE : ctx.path.slice(1)
  const file = files.get(name)
  if (file === undefined) throw new HttpError('NOT_FOUND', missingText(name))
  const { head } = ctx.state
  head.append('Vary', 'Accept-Encoding')
  if (name.startsWith('ui/')) head.set('Content-Security-Policy', UI_POLICY)
  // The names of the assets contain a hash of their content.
  head.set('Cache-Control', name.startsWith('ui/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
  if (name === SAVED_PAGE) head.set('Content-Disposition', 'attachment; filename="verify.html"')
  if (isFresh(ctx, file.etag)) return sendNotModified(ctx, file.etag)
  head.set('ETag', file.etag)
  const isCompressed = file.compressed !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
  if (isCompressed) head.set('Content-Encoding', 'gzip')
  send(ctx, 200, { type: file.type, data: (isCompressed && file.compressed) || file.content })
}

const missingText = (name: string): string =>
  name === PAGE ? 'The dashboard is not built: run `npm run build`' : 'There is nothing at this path'

const HTML_TYPE = 'text/html; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  html: HTML_TYPE,
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
}

type StaticFiles = ReadonlyMap<string, StaticFile>

/** Returns a function that reads all files at its first call. If that fails, the next call tries again. */
function staticFiles(data: PageData): () => Promise<StaticFiles> {
  let files: Promise<StaticFiles> | undefined
  return () =>
    (files ??= readStatics(data).catch((error: unknown) => {
      files = undefined
      throw error
    }))
}

/** Every file by its path in the URL. */
async function readStatics(data: PageData): Promise<StaticFiles> {
  const entries = (await ifExists(readdir(FOLDERS.ui, { recursive: true, withFileTypes: true }))) ?? []
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const named = paths.map((path) => [`ui/${relative(FOLDERS.ui, path).replaceAll(sep, '/')}`, path] as const)
  const files = new Map<string, StaticFile>()
  for (const [name, path] of [...named, ['docs/rapidoc.js', join(FOLDERS.docs, 'rapidoc.js')] as const]) {
    const file = await readStatic(path)
    if (file !== undefined) files.set(name, file)
  }
  const page = files.get(PAGE)
  if (page !== undefined) files.set(PAGE, await withData(page, data))
  return files
}

/** Which files are too large, and the address of links and codes, also if the page was opened at another one. */
async function withData({ type, content }: StaticFile, { publicUrl, maxFileBytes }: PageData): Promise<StaticFile> {
  const metaOf = (name: string, text = ''): string =>
    `<meta name="${name}" content="${text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" />`
  const metas = metaOf('max-file-bytes', `${maxFileBytes}`) + metaOf('public-url', publicUrl)
  const changed = Buffer.from(content.toString().replace('</head>', () => `${metas}</head>`))
  return { type, content: changed, compressed: await promisify(gzip)(changed), etag: etagOf(changed) }
}

/** `undefined` if it does not exist, or is not one that is served. */
async function readStatic(path: string): Promise<StaticFile | undefined> {
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
  const content = type === undefined ? undefined : await ifExists(readFile(path))
  if (type === undefined || content === undefined) return undefined
  return { type, content, compressed: await ifExists(readFile(`${path}.gz`)), etag: etagOf(content) }
}

const etagOf = (content: Buffer): string => `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`

/**
 * The page that shows the API. It loads one script and the OpenAPI document, both from this server. Its URLs are
 * relative, so it also works below a path prefix of a reverse proxy.
 */
const apiPage = (specUrl: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <meta name="color-scheme" content="light dark" />
    <title>API · Evidence Registry</title>
    <style>
      /* The viewer has one theme at a time, so the dark one is the light one turned round. */
      @media (prefers-color-scheme: dark) {
        rapi-doc { filter: invert(0.93) hue-rotate(180deg); }
      }
    </style>
    <script type="module" src="docs/rapidoc.js"></script>
  </head>
  <body>
    <rapi-doc spec-url="${specUrl}" render-style="read" load-fonts="false" show-header="false"
      allow-spec-url-load="false" allow-spec-file-load="false" remove-endpoints-with-badge-label-as="${HEAD_BADGE}"
      bg-color="#f4f5f6" text-color="#14191d" primary-color="#1b4f9c" nav-bg-color="#ffffff" nav-text-color="#535d66"
      nav-hover-bg-color="#eceef0" nav-hover-text-color="#14191d" nav-accent-color="#1b4f9c"
      regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace">
      <a slot="nav-logo" href="ui/">‹ Evidence Registry</a>
    </rapi-doc>
    <noscript>This page needs JavaScript. The OpenAPI document is at <a href="${specUrl}">${specUrl}</a>.</noscript>
  </body>
</html>
`

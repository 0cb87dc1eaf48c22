import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip, type ZlibOptions } from 'node:zlib'
import type { Context } from 'koa'
import { ifExists } from '../../adapters/files/index.ts'
import { matchesEtag } from './conditional.ts'
import { HttpError } from './errors.ts'
import { keptResult } from './kept-result.ts'
import type { Sections } from './sections.ts'

/** The dashboard's files, which the build puts into `dist`. */
const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/server/ui/' : '../ui/', import.meta.url),
)

/**
 * The page runs only its own files, sends requests only to its own server, and cannot put text into HTML (Trusted
 * Types). Images of evidences are fetched with the key and shown as `blob:`.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** The names of these files contain a hash of their content. */
const HASHED = 'assets/'
const INDEX = 'index.html'
/** The page to keep as a file. Its own policy allows its inline script, which the policy of this server does not. */
const SAVED_PAGE = 'verify.html'

interface StaticFile {
  readonly type: string
  readonly content: Buffer
  readonly compressed: Buffer
  readonly etag: string
}

/**
 * Adds the routes for the dashboard at `/ui/`. The files are few and small, so they are kept in memory, also
 * compressed. Only files of the folder have a route: a path is looked up by its name and never joined to the folder.
 */
export function addUi(sections: Sections): void {
  const allFiles = keptResult(readFiles)
  sections.add({
    method: 'GET',
    path: '/ui',
    run: (ctx) => {
      // Relative, so that it also works below a path prefix of a reverse proxy.
      ctx.status = 302
      ctx.set('Location', 'ui/')
    },
  })
  const sendFile = async (ctx: Context): Promise<void> => {
    const path = ctx.path.slice('/ui/'.length)
    const file = (await allFiles()).get(path === '' ? INDEX : path)
    if (file === undefined) throw new HttpError('NOT_FOUND', missingText(path))
    ctx.vary('Accept-Encoding')
    ctx.set('Content-Type', file.type)
    ctx.set('Content-Security-Policy', POLICY)
    ctx.set('Cache-Control', path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache')
    if (path === SAVED_PAGE) ctx.set('Content-Disposition', `attachment; filename="${SAVED_PAGE}"`)
    ctx.set('ETag', file.etag)
    if (matchesEtag(ctx.get('If-None-Match'), file.etag)) {
      ctx.status = 304
      return
    }
    const isCompressed = ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    if (isCompressed) ctx.set('Content-Encoding', 'gzip')
    ctx.body = isCompressed ? file.compressed : file.content
  }
  for (const path of ['/ui/', '/ui/{path*}']) sections.add({ method: 'GET', path, run: sendFile })
}

const missingText = (path: string): string =>
  path === '' ? 'The dashboard is not built: run `npm run build`' : 'There is nothing at this path'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** Returns every file of the folder by its path with `/`. A missing folder has no files. */
async function readFiles(): Promise<ReadonlyMap<string, StaticFile>> {
  const entries = (await ifExists(readdir(FOLDER, { recursive: true, withFileTypes: true }))) ?? []
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }): Promise<readonly (readonly [string, StaticFile])[]> => {
        const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
        if (type === undefined) return []
        const path = join(parentPath, name)
        return [[relative(FOLDER, path).replaceAll(sep, '/'), await fileOf(type, await readFile(path))]]
      }),
  )
  return new Map(files.flat())
}

/** Compresses in the thread pool, so that the event loop serves other requests meanwhile. */
const compress = promisify<Buffer, ZlibOptions, Buffer>(gzip)

const fileOf = async (type: string, content: Buffer): Promise<StaticFile> => ({
  type,
  content,
  compressed: await compress(content, { level: 9 }),
  etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
})

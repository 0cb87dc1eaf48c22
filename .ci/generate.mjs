// Makes what the program needs beside its sources, each part only if an input is newer than it: the types of the
// client, the API viewer, and the dashboard. Both the sources and the build use them. `npm run generate`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const viewer = 'node_modules/rapidoc/dist/rapidoc-min.js'

/** In the order in which they are made: the dashboard contains the client. */
const PARTS = [
  {
    inputs: ['.ci/emit-client-types.mjs', 'server/contract', 'server/routes', 'core/api', 'core/schemas'],
    output: 'server/client/types.ts',
    make: writeClientTypes,
  },
  { inputs: [viewer], output: 'dist/server/http/rapidoc.js.gz', make: copyViewer },
  // The saved page is written last.
  {
    inputs: ['server/ui', 'server/client', 'core', 'package.json'],
    output: 'dist/server/ui/verify.html.gz',
    make: bundleDashboard,
  },
]

/** Returns the path, relative to `root`, of a file or of every file below a folder. */
export function filesBelow(path) {
  if (!existsSync(join(root, path))) return []
  if (statSync(join(root, path)).isFile()) return [path]
  return readdirSync(join(root, path), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** Whether an output is missing or older than one of its inputs. */
function isStale(output, inputs) {
  if (!existsSync(join(root, output))) return true
  const madeAt = statSync(join(root, output)).mtimeMs
  return inputs.flatMap(filesBelow).some((path) => statSync(join(root, path)).mtimeMs > madeAt)
}

/** Runs from the sources, because the build needs its result. */
async function writeClientTypes() {
  const flags = ['--conditions=source', '--import', import.meta.resolve('tsx')]
  const { status } = spawnSync(process.execPath, [...flags, join(root, '.ci/emit-client-types.mjs')], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('The types of the client could not be written')
}

/**
 * Copies the single-file build of RapiDoc, the viewer behind /docs, and puts its licences at the top of the file. The
 * npm package is a development dependency: the file contains everything it needs. Its dependency openapi-parser brings
 * 100 packages and is not used here, so `overrides` in package.json replaces it.
 */
async function copyViewer({ output }) {
  const target = join(root, output.replace(/\.gz$/, ''))
  mkdirSync(dirname(target), { recursive: true })
  const source = createRequire(import.meta.url).resolve('rapidoc/dist/rapidoc-min.js')
  writeFileSync(target, [`${source}.LICENSE.txt`, source].map((path) => readFileSync(path, 'utf8')).join('\n'))
  compress(target)
}

/** The server sends these files as they are. */
function compress(path) {
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
}

/** Bundles the dashboard with Vite, and its verification page as a single file. */
async function bundleDashboard({ output }) {
  const { build: bundle } = await import('vite')
  await bundle({ configFile: join(root, 'server/ui/vite.config.mjs'), logLevel: 'warn' })
  const { buildSavedPage } = await import('../server/ui/saved-page.mjs')
  const { page, licenses } = await buildSavedPage()
  writeFileSync(join(root, output.replace(/\.gz$/, '')), page)
  // Vite leaves out what only the worker of the verification page contains. The saved page contains the same.
  const list = join(root, dirname(output), 'licenses.txt')
  const sections = [readFileSync(list, 'utf8'), licenses].flatMap((text) => text.trimEnd().split(/\n+(?=## )/))
  writeFileSync(list, `${[...new Set(sections)].join('\n\n')}\n`)
  for (const path of filesBelow(dirname(output))) if (/\.(?:html|js|css)$/.test(path)) compress(join(root, path))
}

export const isAnyStale = () => PARTS.some(({ inputs, output }) => isStale(output, inputs))

export async function generate() {
  for (const part of PARTS) if (isStale(part.output, part.inputs)) await part.make(part)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generate()

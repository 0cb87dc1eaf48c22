// The package has neither sources nor the tools of development. `before` removes what package.json says of them, such
// as `prepare`, of which npm would warn each user. `after` puts package.json back, with its time, so that no build
// becomes stale.
import { cpSync, existsSync, readFileSync, renameSync, utimesSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const manifest = join(root, 'package.json')
const kept = join(root, '.package.json')
/** `source` is a condition of `exports`; the others are members of package.json. */
const DEVELOPMENT = ['source', 'scripts', 'devDependencies', 'workspaces', 'overrides', 'allowScripts']

// Also what an interrupted run left.
if (existsSync(kept)) renameSync(kept, manifest)
if (process.argv[2] === 'before') {
  const { atime, mtime } = statSync(manifest)
  cpSync(manifest, kept, { preserveTimestamps: true })
  const withoutTools = (name, value) => (DEVELOPMENT.includes(name) ? undefined : value)
  writeFileSync(manifest, `${JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8')), withoutTools, 2)}\n`)
  utimesSync(manifest, atime, mtime)
}

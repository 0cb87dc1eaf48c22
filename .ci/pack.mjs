// The condition `source` of package.json names sources, which the package does not contain. `before` removes it, and
// `after` puts package.json back, with its time, so that no build becomes stale.
import { cpSync, existsSync, readFileSync, renameSync, utimesSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const manifest = join(root, 'package.json')
const kept = join(root, 'node_modules/.package.json')

// Also what an interrupted run left.
if (existsSync(kept)) renameSync(kept, manifest)
if (process.argv[2] === 'before') {
  const { atime, mtime } = statSync(manifest)
  cpSync(manifest, kept, { preserveTimestamps: true })
  const withoutSource = (name, value) => (name === 'source' ? undefined : value)
  writeFileSync(manifest, `${JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8')), withoutSource, 2)}\n`)
  utimesSync(manifest, atime, mtime)
}

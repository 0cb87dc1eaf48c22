// Builds dist/ with tsc, assembles the hashing kernel, and removes what no source stands behind any more: nothing stale is ever run or shipped.
// `--if-stale`: does nothing where no source is newer than the last build, so that a start costs nothing.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const stamp = join(dist, '.tsbuildinfo')
const SOURCES = ['core', 'sealer', 'adapters', 'server', 'bench', 'test']

/** Every file below a folder, by its path from `root`. */
function filesBelow(folder) {
  const path = join(root, folder)
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function isStale() {
  if (!existsSync(stamp) || !existsSync(join(dist, 'server/main.js'))) return true
  const builtAt = statSync(stamp).mtimeMs
  const inputs = [
    'package.json',
    'tsconfig.json',
    ...SOURCES.flatMap(filesBelow).filter((path) => path.endsWith('.ts')),
  ]
  return inputs.some((path) => statSync(join(root, path)).mtimeMs > builtAt)
}

function findCompiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  } catch {
    return undefined
  }
}

function prune() {
  for (const path of filesBelow('dist')) {
    const source = path.slice('dist/'.length).replace(/\.(?:d\.ts|js\.map|js)$/, '.ts')
    if (source.endsWith('.ts') && !existsSync(join(root, source))) rmSync(join(root, path))
  }
}

/** tsc has compiled the kernel's generator: its bytes take the place of the module that would run it. */
function assembleKernel() {
  const { status } = spawnSync(process.execPath, [join(dist, 'sealer/kernel/wat/build.js')], { stdio: 'inherit' })
  if (status !== 0) rmSync(stamp, { force: true })
  return status ?? 1
}

function build() {
  if (SOURCES.every((folder) => !existsSync(join(root, folder)))) return 0
  const compiler = findCompiler()
  if (compiler === undefined) {
    // An install without development dependencies runs what was built before.
    if (existsSync(join(dist, 'server/main.js'))) return 0
    process.stderr.write(
      'There is no build in dist/ and no compiler: run `npm install` with development dependencies\n',
    )
    return 1
  }
  const { status } = spawnSync(process.execPath, [compiler, '-p', root], { stdio: 'inherit', cwd: root })
  if (status !== 0) return status ?? 1
  prune()
  return assembleKernel()
}

if (!process.argv.includes('--if-stale') || isStale()) process.exitCode = build()

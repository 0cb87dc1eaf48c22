// Writes server/image/package-lock.json: the versions of package-lock.json, for the packages of the image. Run it when
// a dependency has changed: `npm run generate:image`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const image = join(root, 'server/image')
const lock = join(image, 'package-lock.json')
const OURS = 'node_modules/evidence-registry'
const tarball = join(image, 'evidence-registry.tgz')

const npm = (cwd, ...args) => execFileSync('npm', [...args, '--ignore-scripts', '--silent'], { cwd, encoding: 'utf8' })

// Of the package, only package.json matters here, so it is not built.
renameSync(join(image, npm(root, 'pack', '--pack-destination', image).trim()), tarball)
copyFileSync(join(root, 'package-lock.json'), lock)
npm(image, 'install', '--package-lock-only')
rmSync(tarball)
// Each version of the package has another hash, and none has workspaces.
const content = JSON.parse(readFileSync(lock, 'utf8'))
const { integrity: _, workspaces: __, ...ours } = content.packages[OURS]
content.packages[OURS] = ours
writeFileSync(lock, `${JSON.stringify(content, null, 2)}\n`)

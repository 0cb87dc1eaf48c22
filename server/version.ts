import { createRequire } from 'node:module'

interface Manifest {
  readonly name: string
  readonly version: string
}

/** `undefined` in a program that was bundled to CommonJS. */
const ownUrl: string | undefined = import.meta.url
const root = ownUrl?.endsWith('.ts') ? '../' : '../../'

/** Of this package. A bundle has none, or that of the program. */
function readManifest(): Manifest | undefined {
  try {
    return createRequire(import.meta.url)(`${root}package.json`)
  } catch {
    return undefined
  }
}

const manifest = readManifest()
if (manifest?.name !== 'evidence-registry')
  throw new Error('evidence-registry/server needs the files of its package: mark evidence-registry as external')

/** The version of the package, such as `0.1.0`. Requests and logs show which one runs. */
export const VERSION = manifest.version

/** The folder of what the build makes for the server. */
export const BUILT_SERVER = new URL(`${root}dist/server/`, import.meta.url)

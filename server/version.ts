import { createRequire } from 'node:module'

const root = import.meta.url.endsWith('.ts') ? '../' : '../../'

/** The version of the package, such as `0.1.0`. Requests and logs show which one runs. */
export const { version: VERSION }: { readonly version: string } = createRequire(import.meta.url)(`${root}package.json`)

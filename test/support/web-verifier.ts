import { build, type BuildResult } from 'esbuild'
import { conditions, root } from './repository.ts'

/** How a page uses the verifier: it loads the token checks only if it needs them. */
const PAGE = `
import { holdsTokens, parsePolicy, verifyBundle, verifyEvent } from 'evidence-registry/verify'

globalThis.verify = async (text, policy) => {
  const tokens = holdsTokens(text) ? (await import('evidence-registry/verify/tokens')).tokens : undefined
  return verifyBundle(text, { tokens, ...(policy && { policy: parsePolicy(policy) }) })
}
globalThis.verifyEvent = verifyEvent
`

export type WebFiles = BuildResult<{ write: false; metafile: true }>

/** The verifier as ES modules for a browser, minified. The entry is `page.js`. */
export const buildWebVerifier = (): Promise<WebFiles> =>
  build({
    stdin: { contents: PAGE, resolveDir: root, sourcefile: 'page.js' },
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    outdir: '/',
    entryNames: 'page',
    absWorkingDir: root,
    conditions,
    metafile: true,
    write: false,
  })

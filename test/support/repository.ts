import { fileURLToPath, pathToFileURL } from 'node:url'

/** Whether the tests run from the sources. Otherwise they run from the build in dist/. */
const isSource = import.meta.url.endsWith('.ts')

/** The path of the repository, which ends with a separator. */
export const root = fileURLToPath(new URL(isSource ? '../../' : '../../../', import.meta.url))

/** The conditions under which package.json names the sources instead of the build. */
export const conditions = isSource ? ['source'] : []

/** Flags with which node runs sources. */
export const sourceFlags: readonly string[] = ['--conditions=source', '--import', import.meta.resolve('tsx')]

/** Flags of node for a separate process that imports what the tests run. */
export const nodeFlags: readonly string[] = isSource ? sourceFlags : []

/**
 * Returns the URL of a module for a separate process or worker: the source, or the compiled file if the tests run from
 * the build. `path` is the path of the source in the repository.
 */
export const moduleUrl = (path: string): URL =>
  pathToFileURL(root + (isSource ? path : `dist/${path.replace(/\.ts$/, '.js')}`))

/** Returns the arguments with which node runs that module. */
export const programArgs = (path: string): string[] => [...nodeFlags, fileURLToPath(moduleUrl(path))]

import { fileURLToPath } from 'node:url'

/**
 * Returns the URL of a module for a separate process or worker: the source if the tests run from source, else the
 * compiled file. `from` is the caller's `import.meta.url`, `path` ends in `.ts`.
 */
export const moduleUrl = (from: string, path: string): URL =>
  new URL(from.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), from)

/** Returns the arguments with which node runs that module. */
export function programArgs(from: string, path: string): string[] {
  const flags = from.endsWith('.ts') ? ['--import', 'tsx'] : []
  return [...flags, fileURLToPath(moduleUrl(from, path))]
}

import { fileURLToPath } from 'node:url'

/**
 * A module of this tree for a process or worker of its own: the source while tests run from source, else what the build
 * made of it. `from` is the caller's `import.meta.url`, `path` ends in `.ts`.
 */
export const moduleUrl = (from: string, path: string): URL =>
  new URL(from.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), from)

/** The arguments with which node runs that module. */
export function programArgs(from: string, path: string): string[] {
  const flags = from.endsWith('.ts') ? ['--import', 'tsx'] : []
  return [...flags, fileURLToPath(moduleUrl(from, path))]
}

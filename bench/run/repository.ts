import { fileURLToPath } from 'node:url'

/** True if the benchmark runs from TypeScript sources and not from `dist/`. */
export const isSource = import.meta.url.endsWith('.ts')

/** The absolute path of a file of this repository, given its path from the top. */
export const repositoryPath = (path: string): string =>
  fileURLToPath(new URL((isSource ? '../../' : '../../../') + path, import.meta.url))

/** The absolute path of a compiled or source module, given the path of its source from `bench/`. */
export const modulePath = (source: string): string =>
  fileURLToPath(new URL(`../${isSource ? source : source.replace(/\.ts$/, '.js')}`, import.meta.url))

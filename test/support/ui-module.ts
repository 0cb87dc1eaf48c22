import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './repository.ts'

/** Modules of the dashboard as one: they are bundled for browsers and not compiled for Node. */
export async function uiModule<T>(...paths: readonly string[]): Promise<T> {
  const contents = paths.map((path) => `export * from './${path}'\n`).join('')
  const stdin = { contents, resolveDir: join(root, 'server/ui') }
  const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false })
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  return (await import(`data:text/javascript;base64,${code}`)) as T
}

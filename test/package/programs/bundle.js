// Bundles or traces bundled.js, with the settings of core/README.md: node bundle.js TOOL whole|external FOLDER
import { cpSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [, , tool, extent, folder] = process.argv
const isExternal = extent === 'external'
const tools = {
  async esbuild() {
    const { build } = await import('esbuild')
    await build({
      entryPoints: ['bundled.js'],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      outfile: join(folder, 'program.cjs'),
      external: isExternal ? ['evidence-registry'] : [],
      logLevel: 'error',
    })
  },
  async webpack() {
    const { default: webpack } = await import('webpack')
    const compiler = webpack({
      mode: 'none',
      target: 'node',
      entry: './bundled.js',
      output: { path: resolve(folder), filename: 'program.cjs' },
      ...(isExternal && { externalsType: 'commonjs', externals: [/^evidence-registry(\/|$)/] }),
    })
    await new Promise((done, failed) =>
      compiler.run((error, stats) =>
        error || stats.hasErrors() ? failed(error ?? new Error(stats.toString())) : done(),
      ),
    )
  },
  async trace() {
    const { nodeFileTrace } = await import('@vercel/nft')
    for (const path of (await nodeFileTrace(['bundled.js'])).fileList) cpSync(path, join(folder, path))
  },
}
await tools[tool]()

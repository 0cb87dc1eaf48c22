// Builds the dashboard into dist/server/ui. `.ci/build.mjs` runs this after tsc.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const { version } = JSON.parse(readFileSync(path('../../package.json'), 'utf8'))

export default defineConfig({
  root: path('.'),
  // Relative, so that the page also works below a path prefix of a reverse proxy.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  define: { VERSION: JSON.stringify(version) },
  resolve: {
    // The verifier's parts that differ between Node and browsers (`imports` in package.json), from their sources.
    alias: {
      '#platform': path('../../core/platform/web.ts'),
      '#certificate-crypto': path('../../core/verify/certificate-crypto/web.ts'),
    },
  },
  // The libraries for tokens are loaded on demand, also by the worker of the verification page.
  worker: { format: 'es' },
  build: {
    outDir: path('../../dist/server/ui'),
    emptyOutDir: true,
    target: 'es2022',
    // The polyfill is an inline script, which the CSP of the page forbids.
    modulePreload: { polyfill: false },
    // No file becomes a data: URL inside a stylesheet or script.
    assetsInlineLimit: 0,
    // The licences of what is bundled: the page links to them.
    license: { fileName: 'licenses.txt' },
    reportCompressedSize: false,
    // Together the texts compress better than spread over the files of their pages.
    rollupOptions: { output: { codeSplitting: { groups: [{ name: 'texts', test: /\/ui\/texts\// }] } } },
  },
})

import assert from 'node:assert/strict'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { root } from '../../support/repository.ts'

const MAX_GZIP_BYTES = 10 * 1024

describe('the bundle of the client', () => {
  it('is small, and contains nothing outside of its folder', async (t) => {
    const { outputFiles, metafile } = await build({
      entryPoints: [join(root, 'server/client/index.ts')],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      external: [...builtinModules],
      metafile: true,
      write: false,
    })
    const inputs = Object.keys(metafile?.inputs ?? {}).map((path) =>
      dirname(path).replace(/^.*server\/client$/, 'server/client'),
    )
    assert.deepEqual([...new Set(inputs)], ['server/client'])
    const bytes = gzipSync(outputFiles?.[0]?.contents ?? new Uint8Array()).length
    t.diagnostic(`${bytes} bytes gzip`)
    assert.ok(bytes < MAX_GZIP_BYTES, `${bytes} bytes`)
  })
})

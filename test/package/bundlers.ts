import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Programs that the check of the package runs. */
export interface Runner {
  /** Returns what the program wrote. Throws with all of it if the program fails. */
  readonly run: (folder: string, command: string, args: readonly string[]) => string
  readonly install: (packages: readonly string[]) => void
}

/**
 * Bundles and traces a program as core/README.md describes. Bundles of everything run in a folder without packages.
 * webpack and the tracer are installed here, and not in the repository: nothing else needs their 30 MB. Next.js traces
 * with the same tracer.
 */
export function tryBundlers(app: string, esbuild: string, { run, install }: Runner): void {
  install(['--ignore-scripts', `esbuild@${esbuild}`, 'webpack@^5.112.2', '@vercel/nft@^1.11.5'])
  const away = mkdtempSync(join(tmpdir(), 'evidence-bundle-'))
  try {
    const bundle = (tool: string, extent: string, folder: string): string => {
      run(app, process.execPath, ['bundle.js', tool, extent, folder])
      return folder
    }
    for (const tool of ['esbuild', 'webpack']) {
      const whole = bundle(tool, 'whole', join(away, tool))
      assert.equal(run(whole, process.execPath, ['program.cjs']), '300 ok, no workers\n')
      assert.throws(() => run(whole, process.execPath, ['program.cjs', 'data']), /mark evidence-registry as external/)
      const external = bundle(tool, 'external', join(app, tool))
      assert.equal(run(external, process.execPath, ['program.cjs', 'data']), '300 ok, workers\n')
    }
    const traced = join(away, 'traced')
    mkdirSync(traced)
    bundle('trace', 'whole', traced)
    assert.equal(run(traced, process.execPath, ['bundled.js', 'data']), '300 ok, workers\n')
  } finally {
    rmSync(away, { recursive: true })
  }
}

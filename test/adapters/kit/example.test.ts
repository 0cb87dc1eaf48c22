// Own process: sets the folder of temporary files for all that the example's test makes.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../../support/repository.ts'

/**
 * Runs the record store that adapters/README.md shows, and its test: the whole suite. The programs are written below
 * this folder, so that the package's own entries resolve.
 */
const [, example = ''] = readFileSync(join(root, 'adapters/README.md'), 'utf8').split(
  '### Example: a record store in one file',
)
const [store, contract] = [...example.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code)
assert.ok(store && contract, 'adapters/README.md has no example')

const folder = mkdtempSync(join(import.meta.dirname, 'example-'))
after(() => rmSync(folder, { recursive: true }))
process.env['TMPDIR'] = folder
writeFileSync(join(folder, 'file-records.js'), store)
writeFileSync(join(folder, 'test.js'), contract)
await import(pathToFileURL(join(folder, 'test.js')).href)

// Runs every test of dist/test (or those whose path holds an argument) with node:test, in processes of their own.
// Where CI is set, a skipped test is a failure: nothing passes there without having run.
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const wanted = process.argv.slice(2)
// A list, because Node 20 expands no patterns and later ones take no folders.
const files = readdirSync(join(root, 'dist/test'), { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.test.js'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => wanted.length === 0 || wanted.some((part) => relative(root, path).includes(part)))
  .sort()

/** A file that hangs is one that failed. */
const FILE_MS = 180_000

const skipped = []
let failed = 0
const begun = performance.now()
const events = run({ files, concurrency: Math.max(2, availableParallelism() - 1), timeout: FILE_MS })
  .on('test:fail', () => (failed += 1))
  .on('test:pass', ({ name, skip }) => {
    if (skip !== undefined && skip !== false) skipped.push(`${name}: ${skip}`)
  })
const report = events.compose(new spec())
report.pipe(process.stdout)
report.once('end', () => {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  for (const line of skipped) process.stdout.write(`skipped: ${line}\n`)
  const isFailed = failed > 0 || files.length === 0 || (Boolean(process.env['CI']) && skipped.length > 0)
  process.stdout.write(`${files.length} test files in ${seconds} s: ${isFailed ? 'FAILED' : 'passed'}\n`)
  process.exitCode = isFailed ? 1 : 0
})

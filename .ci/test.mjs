// Runs every test of dist/test, or those whose path contains one of the arguments, with node:test in separate
// processes. `--without PART` leaves out those whose path contains the part. If the variable CI is set, a skipped test
// is a failure: there everything must have run.
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const {
  values: { without },
  positionals: parts,
} = parseArgs({
  options: { without: { type: 'string', multiple: true, default: [] } },
  allowPositionals: true,
})
/** The files that take longest run first, so that none of them runs alone at the end. Longest first. */
const LONG = [
  'server/backup/backup',
  'server/ui/dashboard',
  'core/verify/bundle-mutations',
  'adapters/s3/faults',
  'server/s3',
  'server/main',
  'adapters/evm/anchoring',
  'server/commands/import',
  'docs/operations',
  'bench/command-line',
  'core/copy/records',
  'server/commands/upgrade',
  'server/http/streams',
  'server/backup/shared-stores',
  'server/cluster',
  'adapters/s3/service',
  'server/commands/migrate',
  'server/commands/running',
  'server/startup/folder-markers',
  'server/startup/signed-head',
  'server/commands/fsck',
  'independent/verify',
  'adapters/rfc3161/authority',
]
const rankOf = (path) => {
  const rank = LONG.findIndex((text) => relative(join(root, 'dist/test'), path).startsWith(text))
  return rank === -1 ? LONG.length : rank
}
const contains = (path, texts) => texts.some((text) => relative(root, path).includes(text))
// A list of files, because Node 20 does not expand patterns and later versions do not accept folders.
const files = readdirSync(join(root, 'dist/test'), { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.test.js'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => parts.length === 0 || contains(path, parts))
  .filter((path) => !contains(path, without))
  .sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))

/** Only ends a file that hangs: a slow machine must not fail a test. */
const FILE_TIMEOUT_MS = 900_000

const skipped = []
let failed = 0
const startedAt = performance.now()
/** One more than cores, because many tests wait: for a server, a disk, a retry. */
const concurrency = availableParallelism() + 1
const events = run({ files, concurrency, timeout: FILE_TIMEOUT_MS })
  .on('test:fail', () => (failed += 1))
  .on('test:pass', ({ name, skip }) => {
    if (skip !== undefined && skip !== false) skipped.push(`${name}: ${skip}`)
  })
const report = events.compose(new spec())
report.pipe(process.stdout)
report.once('end', () => {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  for (const line of skipped) process.stdout.write(`skipped: ${line}\n`)
  const isFailed = failed > 0 || files.length === 0 || (Boolean(process.env['CI']) && skipped.length > 0)
  process.stdout.write(
    `${files.length} test files in ${seconds} s on Node ${process.version}: ${isFailed ? 'FAILED' : 'passed'}\n`,
  )
  process.exitCode = isFailed ? 1 : 0
})

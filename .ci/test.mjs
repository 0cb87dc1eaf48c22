// Builds what is stale, and runs the tests of dist/ with node:test. The folder of a test says when it runs:
//
//   test/services/   needs a service, a browser, another program, or processes of the server: `npm run test:services`
//   elsewhere        needs only Node and this repository: `npm test`
//
// A process runs all tests of a folder, because loading the product takes longer than most tests; several share a large
// folder with services. A file that changes what its process shares, measures it, or takes long says so in its first
// line ("// Own process: ...") and gets one of its own, which begins first.
//
//   node .ci/test.mjs [--services] [--source] [PART...]
//
// PART: runs only the files whose path contains one of these texts. --source: runs the sources through tsx, which
// compiles them again in each process: the tests, and the servers, commands and workers that they start.
// If the variable CI is set, a skipped test is a failure, unless an adapter does not offer what a contract would test.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: flags, positionals: parts } = parseArgs({
  options: { services: { type: 'boolean', default: false }, source: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const folder = join(root, flags.source ? 'test' : 'dist/test')
const ending = flags.source ? '.test.ts' : '.test.js'
/** Folders with fewer files run in the process of the folder above them. */
const MIN_FILES = 6
/** Bytes of tests after which a folder with services has another process, so that none runs alone at the end. */
const MAX_BYTES = flags.services ? 30_000 : Infinity
/** Only ends a process that hangs: a slow machine must not fail a test. */
const TIMEOUT_MS = 1_800_000
/** One more than cores, because many tests wait: for a server, a disk, a retry. */
const concurrency = availableParallelism() + 1
const LEFT_OUT = flags.services
  ? []
  : [
      'PostgreSQL, S3, EVM chains, openssl, Chromium, server processes: npm run test:services',
      'crashes, lost power, failing system calls, damage, hostile requests: npm run test:faults',
      'the packed package: npm run check:package',
    ]

const program = flags.source && !flags.services ? 'generate.mjs' : 'build.mjs'
const { status } = spawnSync(process.execPath, [join(root, '.ci', program), '--if-stale'], { stdio: 'inherit' })
if (status !== 0) process.exit(1)

const isService = (path) => path.startsWith(`services${sep}`)
const all = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(ending))
const isNamed = (path) => parts.length === 0 || parts.some((part) => `test/${path}`.includes(part))
const paths = all.filter((path) => isService(path) === flags.services && isNamed(path)).sort((a, b) => (a < b ? -1 : 1))

const sizeOf = (group) => group.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)
const bySize = (a, b) => sizeOf(b) - sizeOf(a)

/** Divides a list of files into the processes that its size needs, evenly. */
function divide(group) {
  const lists = Array.from({ length: Math.ceil(sizeOf(group) / MAX_BYTES) || 1 }, () => [])
  for (const path of group.toSorted((a, b) => bySize([a], [b]))) lists.toSorted(bySize).at(-1).push(path)
  return lists
}

/** Returns lists of files that run in one process each: those with a process of their own, then the largest first. */
function groupsOf(files) {
  // The compiler can put a function of its own above the first line.
  const own = files.filter((path) => /^\/\/ Own process:/m.test(readFileSync(join(folder, path), 'utf8')))
  const shared = files.filter((path) => !own.includes(path))
  const topOf = (path) =>
    path
      .split(sep)
      .slice(0, flags.services ? 2 : 1)
      .join(sep)
  const countOf = (path) => shared.filter((each) => dirname(each) === dirname(path)).length
  const nameOf = (path) => (countOf(path) < MIN_FILES ? topOf(path) : dirname(path))
  const groups = shared.reduce((map, path) => {
    const name = nameOf(path)
    return map.set(name, [...(map.get(name) ?? []), path])
  }, new Map())
  return [...own.map((path) => [path]), ...[...groups.values()].flatMap(divide).toSorted(bySize)]
}

const entries = mkdtempSync(join(tmpdir(), 'evidence-tests-'))
const files = groupsOf(paths).map((group, i) => {
  const entry = join(entries, `${i}.mjs`)
  writeFileSync(
    entry,
    group.map((path) => `import ${JSON.stringify(pathToFileURL(join(folder, path)).href)}\n`).join(''),
  )
  return entry
})

// The processes of the tests get the flags of this one.
if (flags.source) process.execArgv.push('--conditions=source', '--import', import.meta.resolve('tsx'))
const skipped = []
const isMissing = (line) => !line.includes(': not offered: ')
let failed = 0
const startedAt = performance.now()
const events = run({ files, concurrency, timeout: TIMEOUT_MS })
  .on('test:fail', () => (failed += 1))
  .on('test:pass', ({ name, skip }) => {
    if (skip !== undefined && skip !== false) skipped.push(`${name}: ${skip}`)
  })
const report = events.compose(new spec())
report.pipe(process.stdout)
report.once('end', () => {
  rmSync(entries, { recursive: true })
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  for (const line of skipped) process.stdout.write(`skipped: ${line}\n`)
  for (const line of LEFT_OUT) process.stdout.write(`not part of this run: ${line}\n`)
  const isFailed = failed > 0 || files.length === 0 || (Boolean(process.env['CI']) && skipped.some(isMissing))
  process.stdout.write(
    `${paths.length} test files in ${files.length} processes in ${seconds} s on Node ${process.version}: ` +
      `${isFailed ? 'FAILED' : 'passed'}\n`,
  )
  process.exitCode = isFailed ? 1 : 0
})

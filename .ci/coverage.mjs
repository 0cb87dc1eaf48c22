// Measures which lines and branches the tests run: `npm run coverage` those of `npm test`, over what they are about;
// `-- --services` also those of `npm run test:services`, over everything. A file that no test loads counts as not run.
// Fails below the thresholds. Its figures are those of dist/, because tsx adds code of its own to a source.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const isWhole = process.argv.includes('--services')
const records = 'coverage/tmp'
const adapters = ['level', 'files', 'memory', 'local-ledger', 'local-tsa', 'kit'].map((name) => `adapters/${name}`)
const server = ['http', 'contract', 'routes', 'settings', 'client'].map((name) => `server/${name}`)
const folders = isWhole ? ['core', 'sealer', 'adapters', 'server'] : ['core', 'sealer', ...adapters, ...server]
const least = isWhole ? { lines: 97, branches: 94 } : { lines: 97, branches: 95 }
// What runs when the project is built.
const excluded = ['sealer/kernel/wat', 'server/ui']

/** Modules of types alone: nothing of them can run. */
const typesOnly = readdirSync('dist', { recursive: true })
  .filter((path) => path.endsWith('.js') && readFileSync(join('dist', path), 'utf8').startsWith('export {};\n//#'))
  .map((path) => join('dist', path))

function run(args, env = {}) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) process.exit(status ?? 1)
}

rmSync('coverage', { recursive: true, force: true })
const whatToRun = isWhole ? [[], ['--services']] : [[]]
for (const flags of whatToRun) run(['.ci/test.mjs', ...flags], { NODE_V8_COVERAGE: records })
const c8 = join(dirname(createRequire(import.meta.url).resolve('c8/package.json')), 'bin/c8.js')
run([
  c8,
  'report',
  `--temp-directory=${records}`,
  '--all',
  ...folders.map((folder) => `--include=dist/${folder}/**/*.js`),
  ...excluded.map((folder) => `--exclude=dist/${folder}/**`),
  ...typesOnly.map((path) => `--exclude=${path}`),
  ...['text-summary', 'lcovonly', 'json-summary'].map((name) => `--reporter=${name}`),
  '--check-coverage',
  `--lines=${least.lines}`,
  `--branches=${least.branches}`,
  '--functions=0',
  '--statements=0',
])

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `npm run check:package`: packs the package, installs it into an empty folder, and embeds it there in JavaScript and in TypeScript. Needs the npm
 * registry for the package's dependencies.
 */
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const programs = join(root, 'test/package/programs')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}
const installed = (name: string): string =>
  (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version

/** What embedding must never load; a pool only starts when a batch is large. */
const SERVER_ONLY = [
  'koa',
  '@koa/',
  'koa-body',
  'formidable',
  'koa-helmet',
  'pino',
  'prom-client',
  'rate-limiter-flexible',
  'close-with-grace',
  '@aws-sdk',
  '@redocly',
]
const TOKENS_ONLY = ['pkijs', 'asn1js']
const STORES_ONLY = ['level', 'abstract-level', 'classic-level', 'piscina']

const directory = mkdtempSync(join(tmpdir(), 'evidence-package-'))
try {
  const tarball = step('npm pack', pack)
  const app = join(directory, 'app')
  step('npm install into an empty folder', () => install(app, tarball))
  step('embed in JavaScript', () => {
    const answers = run(app, process.execPath, ['--import', './record.js', 'embed.js'])
    writeFileSync(join(app, 'answers.json'), answers)
    assertLoaded(app, ['level', 'ajv', 'typebox'], [...SERVER_ONLY, ...TOKENS_ONLY])
  })
  step('verify its answers in JavaScript, offline', () => {
    process.stdout.write(run(app, process.execPath, ['--import', './record.js', 'verify.js']))
    assertLoaded(app, ['pkijs'], [...SERVER_ONLY, ...STORES_ONLY])
  })
  step('embed in TypeScript: strict, NodeNext, every declaration checked', () => {
    run(app, process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'])
    process.stdout.write(run(app, process.execPath, ['built/typed.js']))
  })
  step('run the program that the README shows', () => {
    const [, program = ''] = /```js\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
    const shown = join(app, 'shown')
    mkdirSync(shown)
    writeFileSync(join(shown, 'program.mjs'), program)
    assert.match(run(shown, process.execPath, ['program.mjs']), /^[0-9a-f]{64} ok [0-9a-f]{64}$/m)
  })
  step('run a published contract suite', () => {
    assert.match(run(app, process.execPath, ['--test', '--test-reporter=tap', 'contract.test.js']), /^# fail 0$/m)
  })
  step('run the command', () => {
    assert.match(run(app, join(app, 'node_modules/.bin/evidence-registry'), ['--help']), /^Usage: /)
    assert.match(
      run(app, join(app, 'node_modules/.bin/evidence-registry'), ['fsck', '--data-dir', 'data']),
      /nothing differs/,
    )
  })
  process.stdout.write('packed package: all of it works\n')
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function step<T>(name: string, work: () => T): T {
  const begun = performance.now()
  const value = work()
  process.stdout.write(`ok: ${name} (${((performance.now() - begun) / 1_000).toFixed(1)} s)\n`)
  return value
}

/** Packs, and looks at what is in it: every entry point, and no source or test but the contract suites. */
function pack(): string {
  // Without scripts: the build was made just before.
  const [packed] = JSON.parse(
    run(root, 'npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory]),
  ) as [{ readonly filename: string; readonly size: number; readonly files: readonly { readonly path: string }[] }]
  const paths = new Set(packed.files.map(({ path }) => path))
  for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json'])
    assert.ok(paths.has(path), `${path} is missing`)
  const targets = [
    ...Object.values(manifest.bin),
    ...Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    ),
  ]
  for (const target of targets) {
    const pattern = target.slice('./'.length).split('*')
    assert.ok(
      [...paths].some((path) => path.startsWith(pattern[0] ?? '') && path.endsWith(pattern[1] ?? '')),
      `${target} is missing`,
    )
  }
  const foreign = [...paths].filter(
    (path) =>
      path.startsWith('dist/') &&
      (path.startsWith('dist/sealer/kernel/wat/') ||
        !/\.(?:js|d\.ts)$/.test(path) ||
        /\.test\./.test(path) ||
        /^dist\/(?:test\/(?!contract\/)|bench\/|server\/demo\/)/.test(path)),
  )
  assert.deepEqual(foreign, [], 'files that shall not ship')
  process.stdout.write(`${paths.size} files, ${(packed.size / 1024).toFixed(0)} KiB packed\n`)
  return join(directory, packed.filename)
}

function install(app: string, tarball: string): void {
  cpSync(programs, app, { recursive: true })
  // Under its own name, this project's compiler would take it for one of its sources.
  renameSync(join(app, 'typed.ts.txt'), join(app, 'typed.ts'))
  // fast-check is the contract suites' own need: an optional peer.
  const tools = ['typescript', '@types/node', 'fast-check'].map((name) => `${name}@${installed(name)}`)
  run(app, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, ...tools])
}

/** What the last run loaded, by package. */
function assertLoaded(app: string, some: readonly string[], none: readonly string[]): void {
  const loaded = readFileSync(join(app, 'loaded.txt'), 'utf8')
  rmSync(join(app, 'loaded.txt'))
  const isLoaded = (name: string): boolean => loaded.includes(`/node_modules/${name}${name.endsWith('/') ? '' : '/'}`)
  // The recorder records, or nothing that it does not see means anything.
  for (const name of some) assert.ok(isLoaded(name), `${name} was not loaded`)
  for (const name of none) assert.ok(!isLoaded(name), `${name} was loaded`)
}

function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    // What this process was told by npm and c8 is not for the programs.
    env: Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(?:npm_package_|npm_lifecycle_|NODE_V8_COVERAGE|NODE_OPTIONS|EVIDENCE_)/.test(name),
      ),
    ),
  })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}:\n${stdout}\n${stderr}`)
}

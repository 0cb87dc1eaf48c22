import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryBundlers } from './bundlers.ts'

/**
 * `npm run check:package [-- NODE_VERSION...]`: packs the package, installs it into an empty folder, measures that, and
 * embeds the package there in JavaScript and in TypeScript, and in JavaScript on other versions of Node. Needs the npm
 * registry for the package's dependencies.
 */
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const programs = join(root, 'test/package/programs')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<
    Record<string, string | { readonly source: string; readonly types: string; readonly default: string }>
  >
  readonly bin: Readonly<Record<string, string>>
}
const installed = (name: string): string =>
  (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version

/** Packages that an embedding program must never load. */
const SERVER_ONLY =
  'koa @koa/ koa-body formidable papaparse zod ipaddr.js lru-cache pino prom-client @aws-sdk pg @redocly'.split(' ')
const TOKENS_ONLY = ['pkijs', 'asn1js']
/** Single files that verify without an installation. */
const VERIFIERS = ['dist/verify.mjs', 'dist/verify.py']
const STORES_ONLY = ['level', 'abstract-level', 'classic-level', 'piscina']

/** What the README says about an installation without optional packages holds to one part in so many. */
const TOLERANCE = 20
/** In which `stat` counts. */
const BLOCK_BYTES = 512
/** The only package that may run a script when it is installed: it builds LevelDB where there is no prebuilt binary. */
const INSTALL_SCRIPTS = ['node_modules/classic-level']

const directory = mkdtempSync(join(tmpdir(), 'evidence-package-'))
try {
  const tarball = step('npm pack', pack)
  const app = join(directory, 'app')
  step('entries and types, as publint and attw see them', () => {
    run(root, 'node_modules/.bin/publint', ['run', tarball, '--strict'])
    // The package has only ES modules, and needs a `moduleResolution` that reads `exports`.
    run(root, 'node_modules/.bin/attw', [tarball, '--profile', 'esm-only'])
  })
  step('npm install into an empty folder', () => install(app, tarball))
  step('measure the installation', () => measure(app))
  step('npm install of what the programs need', () => installTools(app))
  step('embed in JavaScript', () => {
    const proofs = run(app, process.execPath, ['--import', './record.js', 'embed.js'])
    writeFileSync(join(app, 'proofs.json'), proofs)
    assertLoaded(app, ['level', 'ajv'], [...SERVER_ONLY, ...TOKENS_ONLY, 'typebox'])
  })
  step('verify its proofs in JavaScript, offline', () => {
    process.stdout.write(run(app, process.execPath, ['--import', './record.js', 'verify.js']))
    assertLoaded(app, ['evidence-registry'], [...SERVER_ONLY, ...TOKENS_ONLY, ...STORES_ONLY])
  })
  step('verify them with the single files, in an empty folder', () => {
    const folder = join(directory, 'stranger')
    mkdirSync(folder)
    const { policy, bundles } = JSON.parse(readFileSync(join(app, 'proofs.json'), 'utf8')) as {
      readonly policy: object
      readonly bundles: readonly object[]
    }
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy))
    writeFileSync(join(folder, 'bundle.json'), JSON.stringify(bundles[0]))
    for (const [program, path] of [
      [process.execPath, 'verify.mjs'],
      ['python3', 'verify.py'],
    ] as const) {
      cpSync(join(app, 'node_modules/evidence-registry/dist', path), join(folder, path))
      assert.match(run(folder, program, [path, 'bundle.json', '--policy', 'policy.json']), /proven/i)
    }
  })
  step('use the log by itself, as its documentation shows', () => {
    const [, example = ''] = /```ts\n([^]*?) \* ```/.exec(readFileSync(join(root, 'core/log/index.ts'), 'utf8')) ?? []
    writeFileSync(join(app, 'log.js'), example.replaceAll(/^ \* ?/gm, ''))
    run(app, process.execPath, ['--import', './record.js', 'log.js'])
    assertLoaded(app, [], [...SERVER_ONLY, ...TOKENS_ONLY, ...STORES_ONLY, 'ajv', 'typebox'])
  })
  step('use the client alone', () => {
    run(app, process.execPath, ['--import', './record.js', 'client.js'])
    assertLoaded(app, [], [...SERVER_ONLY, ...TOKENS_ONLY, ...STORES_ONLY, 'ajv', 'typebox'])
  })
  step('embed in TypeScript: strict, NodeNext, every declaration of every entry checked', () => {
    const entries = Object.keys(manifest.exports).filter((entry) => !/\*|json$/.test(entry))
    const imports = entries.map((entry, i) => `export * as entry${i} from 'evidence-registry${entry.slice(1)}'\n`)
    writeFileSync(join(app, 'entries.ts'), imports.join(''))
    // The README's program must compile as it is.
    writeFileSync(join(app, 'readme.ts'), readmeProgram())
    run(app, process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'])
    process.stdout.write(run(app, process.execPath, ['built/typed.js']))
  })
  step('run the program that the README shows', () => {
    const folder = join(app, 'readme')
    mkdirSync(folder)
    writeFileSync(join(folder, 'program.mjs'), readmeProgram())
    for (let i = 0; i < 2; i++)
      assert.match(run(folder, process.execPath, ['program.mjs']), /^[0-9a-f]{64} ok [0-9a-f]{64}$/m)
  })
  step('follow the links of its documents', () => {
    const installedAt = join(app, 'node_modules/evidence-registry')
    const documents = readdirSync(installedAt, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.md') && !path.startsWith('dist'),
    )
    assert.ok(documents.length > 10, documents.join())
    for (const path of documents)
      for (const [, target = ''] of readFileSync(join(installedAt, path), 'utf8').matchAll(
        /(?:\]\(|src=")([^)#"\s]+)/g,
      ))
        if (!/^[a-z]+:/.test(target))
          assert.ok(existsSync(join(installedAt, dirname(path), target)), `${path} links to ${target}`)
  })
  step('run a published contract suite', () => {
    assert.match(run(app, process.execPath, ['--test', '--test-reporter=tap', 'contract.test.js']), /^# fail 0$/m)
  })
  step('run the record store of adapters/README.md through its suite', () => {
    const folder = join(app, 'adapter')
    mkdirSync(folder)
    for (const [name, program] of adapterPrograms()) writeFileSync(join(folder, name), program)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const report = run(folder, process.execPath, ['--test', '--test-reporter=tap', 'file-records.test.js'])
    assert.match(report, /^# pass [1-9][0-9]+$/m)
    assert.match(report, /^# fail 0$/m)
    writeFileSync(join(folder, 'load.js'), "import './file-records.js'\n")
    run(folder, process.execPath, ['--import', '../record.js', 'load.js'])
    assertLoaded(folder, [], [...SERVER_ONLY, ...TOKENS_ONLY, ...STORES_ONLY, 'ajv', 'typebox', 'fast-check'])
  })
  step('run the command', () => {
    const command = join(app, 'node_modules/.bin/evidence-registry')
    assert.match(run(app, command, ['--help']), /^Usage: /)
    assert.match(run(app, command, ['fsck', '--data-dir', 'data']), /nothing differs/)
    const migrate = ['migrate', '--from', 'level:data', '--to', 'postgres://127.0.0.1:1/x']
    assert.throws(() => run(app, command, migrate), /ended with 2:[^]*npm install pg/)
  })
  step('start what is in the image, as a user without rights', () => {
    const image = join(directory, 'image')
    cpSync(join(root, 'server/image'), image, { recursive: true })
    cpSync(tarball, join(image, 'evidence-registry.tgz'))
    run(image, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'])
    chmodSync(directory, 0o755)
    run(image, process.execPath, [join(programs, 'image.js'), join(root, 'server/Dockerfile')])
  })
  step('bundle and trace a program', () =>
    tryBundlers(app, installed('esbuild'), { run, install: (packages) => npmInstall(app, packages) }),
  )
  for (const version of process.argv.slice(2))
    step(`embed, seal, verify, a contract suite and the server on Node ${version}`, () => smoke(app, version))
  process.stdout.write('packed package: all of it works\n')
} finally {
  rmSync(directory, { recursive: true, force: true })
}

/** Runs the programs with another version of Node, which is an npm package. */
function smoke(app: string, version: string): void {
  const program = 'process.stdout.write(process.execPath)'
  const node = run(root, 'npm', ['exec', '--yes', `--package=node@${version}`, '--', 'node', '-e', program])
  assert.match(run(app, node, ['--version']), new RegExp(`^v${version}\\.`))
  rmSync(join(app, 'data'), { recursive: true })
  writeFileSync(join(app, 'proofs.json'), run(app, node, ['embed.js']))
  run(app, node, ['verify.js'])
  assert.match(run(app, node, ['--test', '--test-reporter=tap', 'contract.test.js']), /^# fail 0$/m)
  run(app, node, ['server.js'])
}

/** The first program in the README. */
function readmeProgram(): string {
  const [, program] = /```js\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  assert.ok(program, 'the README has no program')
  return program
}

/** The record store that adapters/README.md shows, and its test. */
function adapterPrograms(): readonly (readonly [name: string, program: string])[] {
  const [, example = ''] = readFileSync(join(root, 'adapters/README.md'), 'utf8').split('### Example: a record store')
  const [store, contract] = [...example.matchAll(/```js\n([^]*?)```/g)].map(([, program]) => program)
  assert.ok(store && contract, 'adapters/README.md has no example')
  return [
    ['file-records.js', store],
    ['file-records.test.js', contract],
  ]
}

function step<T>(name: string, work: () => T): T {
  const startedAt = performance.now()
  const value = work()
  process.stdout.write(`ok: ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)\n`)
  return value
}

/** The bundled dashboard: pages, scripts, styles, and the licences of what is in the bundle. */
function isDashboard(path: string): boolean {
  return /^dist\/server\/ui\/(?:(?:index|verify)\.html|licenses\.txt|assets\/[\w.-]+\.(?:js|css))$/.test(path)
}

/** Packs, and checks the content: every entry point is in it, and no source or test. */
function pack(): string {
  const [packed] = JSON.parse(run(root, 'npm', ['pack', '--json', '--pack-destination', directory])) as [
    { readonly filename: string; readonly size: number; readonly files: readonly { readonly path: string }[] },
  ]
  const paths = new Set(packed.files.map(({ path }) => path))
  for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json'])
    assert.ok(paths.has(path), `${path} is missing`)
  const targets = [
    ...Object.values(manifest.bin),
    ...Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : [target.types, target.default],
    ),
  ]
  for (const path of ['dist/server/ui/index.html', 'dist/server/ui/verify.html', ...VERIFIERS])
    assert.ok(paths.has(path), `${path} is missing`)
  for (const target of targets) {
    const pattern = target.slice('./'.length).split('*')
    assert.ok(
      [...paths].some((path) => path.startsWith(pattern[0] ?? '') && path.endsWith(pattern[1] ?? '')),
      `${target} is missing`,
    )
  }
  const manifestText = packedManifest(join(directory, packed.filename))
  for (const name of ['source', 'scripts', 'devDependencies'])
    assert.ok(!manifestText.includes(`"${name}":`), `${name} is in the packed package.json`)
  const unexpected = [...paths].filter(
    (path) =>
      path.startsWith('dist/') &&
      (path.startsWith('dist/sealer/kernel/wat/') ||
        !(isDashboard(path.replace(/\.gz$/, '')) || /\.(?:js|js\.gz|d\.ts)$/.test(path) || VERIFIERS.includes(path)) ||
        /\.test\./.test(path) ||
        /^dist\/(?:test\/(?!contract\/)|bench\/)/.test(path)),
  )
  assert.deepEqual(unexpected, [], 'files that must not be in the package')
  process.stdout.write(`${paths.size} files, ${(packed.size / 1024).toFixed(0)} KiB packed\n`)
  return join(directory, packed.filename)
}

/** The package.json inside the package. */
function packedManifest(tarball: string): string {
  return run(root, 'tar', ['-xzOf', tarball, 'package/package.json'])
}

function install(app: string, tarball: string): void {
  cpSync(programs, app, { recursive: true })
  // Under the name typed.ts, this project's compiler would treat it as one of its sources.
  renameSync(join(app, 'typed.ts.txt'), join(app, 'typed.ts'))
  npmInstall(app, [tarball])
}

/** Checks number, size on the disk and install scripts of the packages, this one included. */
function measure(app: string): void {
  const modules = join(app, 'node_modules')
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>
  }
  const names = Object.keys(packages)
  const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * BLOCK_BYTES, 0)
  const counted = [names.length, bytes / 1e6].map(Math.round)
  process.stdout.write(`${counted.join(' packages, ')} MB on the disk\n`)
  const withScript = names.filter((name) => packages[name]?.hasInstallScript === true)
  assert.deepEqual(withScript, INSTALL_SCRIPTS, 'packages with an install script')
  const said = /brings (\d+) packages, (\d+) MB/
    .exec(readFileSync(join(root, 'README.md'), 'utf8'))
    ?.slice(1)
    .map(Number)
  assert.ok(
    said?.every((figure, i) => Math.abs((counted[i] ?? 0) - figure) <= figure / TOLERANCE),
    `the README says ${said?.join(' packages, ')} MB`,
  )
}

/** The contract suites need fast-check, which is an optional peer. */
function installTools(app: string): void {
  const names = ['typescript', '@types/node', 'fast-check']
  npmInstall(
    app,
    names.map((name) => `${name}@${installed(name)}`),
  )
}

function npmInstall(app: string, packages: readonly string[]): void {
  run(app, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages])
}

/** Checks which packages the last program loaded. */
function assertLoaded(app: string, expected: readonly string[], excluded: readonly string[]): void {
  const loaded = readFileSync(join(app, 'loaded.txt'), 'utf8')
  rmSync(join(app, 'loaded.txt'))
  const isLoaded = (name: string): boolean => loaded.includes(`/node_modules/${name}${name.endsWith('/') ? '' : '/'}`)
  // Also proves that the recording works.
  for (const name of expected) assert.ok(isLoaded(name), `${name} was not loaded`)
  for (const name of excluded) assert.ok(!isLoaded(name), `${name} was loaded`)
}

function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    // Without the variables that npm and c8 set for this process.
    env: Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(?:npm_package_|npm_lifecycle_|NODE_V8_COVERAGE|NODE_OPTIONS|EVIDENCE_)/.test(name),
      ),
    ),
  })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}:\n${stdout}\n${stderr}`)
}

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

/** Imports run one way: server → sealer → core ← adapters. The sources are scanned, also if this file runs compiled. */
const root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '..' : '../..', import.meta.url))

interface Import {
  readonly specifier: string
  readonly isTypeOnly: boolean
}

/** Returns every import and re-export. A dynamic import of something else than a literal is marked as computed. */
function importsOf(source: string): readonly Import[] {
  const code = withoutComments(source)
  const imports: Import[] = []
  for (const [, kind, type, specifier] of code.matchAll(
    /^\s*(import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]/gm,
  ))
    imports.push({ specifier: specifier as string, isTypeOnly: kind !== undefined && type !== undefined })
  for (const [, argument] of code.matchAll(/\b(?:import|require)\s*\(\s*([^)]*?)\s*\)/g)) {
    const literal = /^['"]([^'"]+)['"]$/.exec(argument ?? '')
    imports.push({ specifier: literal?.[1] ?? `computed: ${argument}`, isTypeOnly: false })
  }
  // The pattern also matches `import('…').Type` in a type position, which counts as an import.
  return imports
}

/** Strings are kept, because the `//` of a URL does not begin a comment. */
const withoutComments = (source: string): string =>
  source.replaceAll(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (_, string: string | undefined) => string ?? '',
  )

interface Package {
  readonly dependencies: ReadonlySet<string>
  readonly devDependencies: ReadonlySet<string>
  /** Optional packages: only adapters may load them. */
  readonly peerDependencies: ReadonlySet<string>
  /** Sources of the package's entries. */
  readonly entries: ReadonlySet<string>
  /** Names of package `imports`. */
  readonly imports: ReadonlySet<string>
}

const PRODUCT = ['core', 'sealer', 'adapters', 'server']
const REACHES: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  sealer: ['sealer', 'core'],
  adapters: ['adapters', 'core'],
  server: PRODUCT,
  bench: ['bench', 'test', ...PRODUCT],
  test: ['test', ...PRODUCT],
}
/** The modules of Node that core may import: none that reads, writes, connects or starts anything. */
const PURE_BUILTINS = new Set(['node:crypto', 'node:buffer', 'node:util', 'node:assert', 'node:zlib'])
const VERIFY_ONLY = new Set(['pkijs', 'asn1js'])
/** What these import is replaced outside Node, so that the verifier also runs in browsers. */
const PLATFORMS = ['core/platform/', 'core/verify/certificate-crypto/']
/** Folders that run in browsers. They reach Node only by package `imports`. */
const PORTABLE = ['core/commitment/', 'core/log/tree/', 'core/log/note.ts', 'core/verify/', 'core/bytes.ts']
const CORE_PACKAGES = new Set(['ajv'])
/** The build makes one file of it, because its package is slow to load. */
const TYPEBOX = '#typebox'
/** All adapters are built with the entries of the kit, so that the kit stays sufficient for an adapter of others. */
const KIT = 'adapters/kit/index.ts'
const SUITES = 'test/contract/index.ts'
/** Generates code at build time. It is not in the package. */
const BUILD_ONLY = 'sealer/kernel/wat/'

const PACKAGE_NAME = 'evidence-registry'
/** Bundled for the browser, so what it imports is a development dependency. */
const UI = 'server/ui/'
const UI_PACKAGES = new Set(['preact', 'uqr', '@noble/hashes'])
const UI_ENTRIES = new Set(['server/client/index.ts', 'core/verify/index.ts', 'core/verify/tokens.ts'])
const isForServer = (path: string): boolean => path.startsWith('server/')
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
const isBuiltin = (specifier: string): boolean => specifier.startsWith('node:') || builtinModules.includes(specifier)

/** Returns the wrong imports of one source file. `path` is relative to the project, with `/`. */
function violationsOf(path: string, source: string, known: Package): readonly string[] {
  return importsOf(source).flatMap((each) => {
    const why = each.specifier.startsWith('.')
      ? wrongReach(path, each.specifier, known)
      : wrongModule(path, each, known)
    return why === undefined ? [] : [`${path} imports ${each.specifier}: ${why}`]
  })
}

function wrongReach(path: string, specifier: string, known: Package): string | undefined {
  const target = normalize(join(dirname(path), specifier))
  if (path.startsWith(UI)) return wrongUiReach(target)
  if (!specifier.endsWith('.ts')) return 'relative imports end in .ts'
  if (target.startsWith(UI)) return 'only the dashboard itself imports its modules'
  const [from, to] = [path.split('/')[0] as string, target.split('/')[0] as string]
  if (path.startsWith('server/client/') && !target.startsWith('server/client/'))
    return 'the client imports nothing outside of its folder, so that it stays small'
  const isForDemo = to === 'core' || target.startsWith('server/demo/') || target === 'server/client/index.ts'
  if (path.startsWith('server/demo/') && !isForDemo)
    return 'the demo may import core and the client, and nothing else of the server'
  if (!(REACHES[from] ?? []).includes(to)) return `${from} must not import ${to}`
  const kitUse = wrongKitUse(path, target)
  if (kitUse !== undefined) return kitUse
  if (from === 'server' && to !== 'server' && !known.entries.has(target))
    return 'the server uses the library by its public entries only'
  return undefined
}

function wrongUiReach(target: string): string | undefined {
  if (!/\.tsx?$/.test(target)) return 'relative imports of the dashboard end in .ts or .tsx'
  if (target.startsWith(UI) || UI_ENTRIES.has(target)) return undefined
  return 'the dashboard uses the client and the verifier only'
}

function wrongKitUse(path: string, target: string): string | undefined {
  const [isAdapter, isSuite] = [path.startsWith('adapters/') && path !== KIT, path.startsWith(dirname(SUITES))]
  if ((isAdapter || isSuite) && target.startsWith('core/') && !target.startsWith('core/verify/'))
    return 'an adapter and the contract suites import from core only by the kit, and core/verify'
  if (isSuite)
    return target.startsWith('test/') && !target.startsWith(dirname(SUITES))
      ? 'the package contains no other file of test'
      : undefined
  return path.startsWith('test/adapters/') && target.startsWith(dirname(SUITES)) && target !== SUITES
    ? 'tests of adapters use the published entry of the suites'
    : undefined
}

function wrongModule(path: string, { specifier, isTypeOnly }: Import, known: Package): string | undefined {
  const isProduct = PRODUCT.includes(path.split('/')[0] as string)
  if (path.startsWith(UI))
    return UI_PACKAGES.has(packageOf(specifier)) ? undefined : 'the dashboard bundles no other package'
  const isCore = path.startsWith('core/')
  if (specifier.startsWith('computed: ')) return isProduct ? 'a computed import cannot be checked' : undefined
  if (path.startsWith('server/client/')) return 'the client also runs in browsers, without any package'
  const isPlatform = PLATFORMS.some((folder) => path.startsWith(folder))
  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return 'builtin modules have the prefix node:'
    if (PORTABLE.some((start) => path.startsWith(start)) && !(isPlatform && path.endsWith('node.ts')))
      return 'the verifier also runs in browsers'
    return isCore && !PURE_BUILTINS.has(specifier) ? 'core does no I/O' : undefined
  }
  if (specifier.startsWith('#'))
    return known.imports.has(specifier) && (specifier === TYPEBOX || !isForServer(path))
      ? undefined
      : 'not listed in imports'
  const name = packageOf(specifier)
  if (name === PACKAGE_NAME && !isProduct) return undefined
  if (`#${name}` === TYPEBOX && isProduct) return `import it from ${TYPEBOX}`
  if (path.startsWith('server/demo/')) return 'the demo imports core and builtin modules only'
  if (name === 'fast-check' && isProduct && !path.startsWith(dirname(SUITES))) return 'fast-check is for tests'
  if (VERIFY_ONLY.has(name) && isProduct && !path.startsWith('core/verify/') && !path.startsWith('adapters/local-tsa/'))
    return 'ASN.1 is for core/verify and the authorities'
  if (name.startsWith('@noble/') && isProduct)
    return isPlatform && path.endsWith('web.ts') ? undefined : 'noble is for what runs outside Node'
  if (isCore && !CORE_PACKAGES.has(name) && !VERIFY_ONLY.has(name)) return 'core may import schemas only'
  const isListed =
    known.dependencies.has(name) ||
    (path.startsWith('adapters/') && known.peerDependencies.has(name)) ||
    ((!isProduct || isTypeOnly || path.startsWith(BUILD_ONLY)) && known.devDependencies.has(name))
  // Types of a package whose declarations are a package of their own.
  const isTyped = isTypeOnly && known.devDependencies.has(`@types/${name}`)
  return isListed || isTyped ? undefined : 'package.json does not list it'
}

function sourcesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly imports: Readonly<Record<string, unknown>>
}

function readPackage(): Package {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default],
  )
  return {
    dependencies: new Set(Object.keys(manifest.dependencies)),
    devDependencies: new Set(Object.keys(manifest.devDependencies)),
    peerDependencies: new Set(Object.keys(manifest.peerDependencies)),
    imports: new Set(Object.keys(manifest.imports)),
    entries: new Set(targets.map((target) => target.replace(/^\.\/dist\/(.*)\.js$/, '$1.ts'))),
  }
}

describe('the architecture', () => {
  const known = readPackage()
  for (const folder of [...PRODUCT, 'bench', 'test'])
    it(`holds in ${folder}`, () => {
      // This file contains examples of wrong imports.
      const paths = sourcesBelow(folder).filter((path) => path !== 'test/architecture.test.ts')
      assert.ok(paths.length > 0)
      const found = paths.flatMap((path) => violationsOf(path, readFileSync(join(root, path), 'utf8'), known))
      assert.deepEqual(found, [])
    })

  it('has no cycles, not even of types', () => {
    const graph = new Map<string, readonly string[]>()
    for (const path of PRODUCT.flatMap(sourcesBelow))
      graph.set(
        path,
        importsOf(readFileSync(join(root, path), 'utf8'))
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => normalize(join(dirname(path), specifier))),
      )
    assert.deepEqual(cyclesOf(graph), [])
  })
})

/** Returns each cycle once, as `a → b → a`, beginning with the module whose name sorts first. */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const cycles = new Set<string>()
  const done = new Set<string>()
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at !== -1) {
      const cycle = trail.slice(at)
      const first = cycle.indexOf(cycle.toSorted()[0] as string)
      const turned = [...cycle.slice(first), ...cycle.slice(0, first)]
      cycles.add([...turned, turned[0]].join(' → '))
      return
    }
    if (done.has(path)) return
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) walk(path, [])
  return [...cycles].sort()
}

describe('the check of the architecture', () => {
  const known: Package = {
    dependencies: new Set(['koa', 'typebox', 'pkijs']),
    devDependencies: new Set(['fast-check', '@types/estree', 'pg']),
    peerDependencies: new Set(['pg', 'fast-check']),
    entries: new Set(['core/index.ts', 'core/verify/index.ts', 'adapters/memory/index.ts']),
    imports: new Set(['#platform', '#typebox']),
  }
  const wrong: readonly [string, string][] = [
    ['core/a.ts', "import { x } from '../sealer/x.ts'"],
    ['core/a.ts', "export * from '../server/x.ts'"],
    ['core/a.ts', "import type { X } from '../adapters/x.ts'"],
    ['core/log/a.ts', "import {\n  x,\n  y,\n} from '../../sealer/x.ts'"],
    ['core/a.ts', "const x = await import('../sealer/x.ts')"],
    ['core/a.ts', "import '../sealer/x.ts'"],
    ['core/a.ts', "import x, { type Y } from 'node:fs'"],
    ['core/a.ts', "import { Worker } from 'node:worker_threads'"],
    ['core/a.ts', "import { request } from 'node:http'"],
    ['core/a.ts', "import { readFile } from 'fs/promises'"],
    ['core/a.ts', "import Koa from 'koa'"],
    ['core/a.ts', "import Type from 'typebox'"],
    ['server/a.ts', "import type { Static } from 'typebox'"],
    ['core/a.ts', "import { Certificate } from 'pkijs'"],
    ['sealer/a.ts', "import x from '../server/x.ts'"],
    ['server/a.ts', "import { x } from '#platform'"],
    ['core/a.ts', "import { x } from '#other'"],
    ['core/verify/a.ts', "import { x } from 'node:crypto'"],
    ['core/a.ts', "import { x } from '@noble/hashes/sha2.js'"],
    ['core/platform/node.ts', "import { x } from '@noble/hashes/sha2.js'"],
    ['sealer/a.ts', "import x from '../adapters/x.ts'"],
    ['adapters/level/a.ts', "import x from '../../sealer/x.ts'"],
    ['adapters/level/a.ts', "import x from '../../test/support/x.ts'"],
    ['adapters/level/a.ts', "import type { Key } from '../../core/ports/index.ts'"],
    ['test/contract/a.ts', "import { sha256 } from '../../core/bytes.ts'"],
    ['test/contract/a.ts', "import { x } from '../support/x.ts'"],
    ['adapters/level/a.ts', "import { recordStoreContract } from '../../test/contract/index.ts'"],
    ['adapters/level/a.ts', "import fc from 'fast-check'"],
    ['adapters/kit/index.ts', "import { recordStoreContract } from '../../test/contract/index.ts'"],
    ['test/adapters/level/a.test.ts', "import { bytes } from '../../contract/record-store-pair.ts'"],
    ['server/a.ts', "import x from '../test/x.ts'"],
    ['server/a.ts', "import x from './ui/session.ts'"],
    ['server/ui/a.tsx', "import x from 'koa'"],
    ['server/ui/a.tsx', "import fs from 'node:fs'"],
    ['server/ui/a.tsx', "import x from '../../core/index.ts'"],
    ['server/ui/a.tsx', "import x from '../http/app.ts'"],
    ['server/ui/a.tsx', "import x from '../client/send.ts'"],
    ['sealer/kernel/a.ts', "import x from 'fast-check'"],
    ['server/a.ts', "import x from '../bench/x.ts'"],
    ['server/a.ts', "import { x } from '../core/x.ts'"],
    ['server/a.ts', "import type { X } from '../adapters/memory/x.ts'"],
    ['server/demo/a.ts', "import { x } from '../../core/x.ts'"],
    ['server/a.ts', "import fc from 'fast-check'"],
    ['server/a.ts', "import { Pool } from 'pg'"],
    ['sealer/a.ts', "import { Pool } from 'pg'"],
    ['server/a.ts', "import x from 'left-pad'"],
    ['server/a.ts', "import x from '@koa/router/deep'"],
    ['server/a.ts', "import { x } from './x.js'"],
    ['server/a.ts', "import { x } from './x'"],
    ['server/a.ts', "import { readFile } from 'fs'"],
    ['server/a.ts', 'const x = await import(name)'],
    ['server/a.ts', 'const x = require("left-pad")'],
    ['server/demo/a.ts', "import x from '../app.ts'"],
    ['server/demo/a.ts', "import x from '../client/send.ts'"],
    ['server/client/a.ts', "import x from '../app.ts'"],
    ['server/client/a.ts', "import x from '../../core/index.ts'"],
    ['server/client/a.ts', "import fs from 'node:fs'"],
    ['server/client/a.ts', "import x from 'koa'"],
    ['server/demo/a.ts', "import x from '../../adapters/memory/index.ts'"],
    ['server/demo/a.ts', "import Koa from 'koa'"],
    ['test/a.ts', "import x from '../bench/x.ts'"],
    ['test/a.ts', "import x from 'left-pad'"],
  ]
  for (const [path, source] of wrong)
    it(`finds ${JSON.stringify(source)} in ${path}`, () => {
      assert.equal(violationsOf(path, `const a = 1\n${source}\nconst b = 2\n`, known).length, 1)
    })

  const right: readonly [string, string][] = [
    [
      'core/a.ts',
      "import { createHash } from 'node:crypto'\nimport Type from '#typebox'\nimport { x } from './b/x.ts'",
    ],
    ['core/verify/a.ts', "import * as pkijs from 'pkijs'\nimport { x } from '#platform'"],
    ['core/platform/web.ts', "import { x } from '@noble/hashes/sha2.js'"],
    ['core/verify/certificate-crypto/node.ts', "import { x } from 'node:crypto'"],
    ['adapters/postgres/a.ts', "import { Pool } from 'pg'"],
    ['adapters/kit/index.ts', "export { planGroup } from '../../core/store/commit-plan.ts'"],
    ['test/contract/a.ts', "import fc from 'fast-check'\nimport { sha256 } from '../../adapters/kit/index.ts'"],
    [
      'adapters/evm/a.ts',
      "import { hexOf } from '../../core/verify/chain/rlp.ts'\nimport { u64 } from '../kit/index.ts'",
    ],
    ['test/adapters/level/a.test.ts', "import { collect } from '../../contract/index.ts'"],
    [
      'adapters/local-tsa/a.ts',
      "import { Certificate } from 'pkijs'\nimport { x } from '../files/x.ts'\nimport fs from 'node:fs'",
    ],
    [
      'server/a.ts',
      "import { x } from '../core/index.ts'\nimport type { N } from 'estree'\nimport '../adapters/memory/index.ts'",
    ],
    [
      'server/demo/a.ts',
      "import { x } from '../../core/verify/index.ts'\nimport { y } from './y.ts'\nimport http from 'node:http'",
    ],
    ['server/demo/a.ts', "import { x } from '../client/index.ts'"],
    [
      'server/ui/pages/a.tsx',
      "import { x } from 'preact'\nimport { y } from '../../client/index.ts'\nimport { B } from './b.tsx'",
    ],
    ['server/ui/a.tsx', "import x from './a.ts'\nimport { x } from '../../core/verify/index.ts'"],
    ['server/client/a.ts', "import { x } from './b.ts'"],
    [
      'core/a.ts',
      "// import x from '../server/x.ts'\n/* import y from 'koa' */\nconst address = 'https://x' // import('fs')",
    ],
    ['core/a.ts', "export const from = 'server'\nexport type X = 'fs'\nexport { from as y }"],
    ['test/a.ts', "import fc from 'fast-check'\nimport { x } from '../server/x.ts'\nconst y = await import(name)"],
  ]
  for (const [path, source] of right)
    it(`accepts ${JSON.stringify(source)} in ${path}`, () => {
      assert.deepEqual(violationsOf(path, source, known), [])
    })

  it('finds cycles', () => {
    const graph = new Map([
      ['a', ['b', 'c']],
      ['b', ['c']],
      ['c', ['d', 'b']],
      ['d', []],
      ['e', ['e']],
    ])
    assert.deepEqual(cyclesOf(graph), ['b → c → b', 'e → e'])
  })
})

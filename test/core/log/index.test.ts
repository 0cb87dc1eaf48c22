import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'
import { moduleUrl, root } from '../../support/repository.ts'

/** The sources are read, also if this test runs compiled. */
const sourceOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The specifiers of all imports and re-exports, types included. */
const importsOf = (path: string): readonly string[] =>
  Array.from(
    sourceOf(path).matchAll(/^(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*'([^']+)'/gm),
    ([, specifier = '']) => specifier,
  )

/** Every module that can be reached from one, and every package or builtin module that one of them imports. */
function moduleGraph(start: string): { readonly modules: ReadonlySet<string>; readonly packages: ReadonlySet<string> } {
  const [modules, packages] = [new Set([start]), new Set<string>()]
  for (const path of modules)
    for (const specifier of importsOf(path))
      if (specifier.startsWith('.')) modules.add(normalize(join(dirname(path), specifier)))
      else packages.add(specifier)
  return { modules, packages }
}

describe('evidence-registry/log', () => {
  it('consists of modules of the log, bytes, errors and rules, and needs only what each platform has', () => {
    const { modules, packages } = moduleGraph('core/log/index.ts')
    const others = [...modules].filter((path) => !path.startsWith('core/log/'))
    assert.deepEqual(others.sort(), ['core/bytes.ts', 'core/errors.ts', 'core/rules.ts'])
    assert.ok(modules.size > 8, [...modules].join())
    assert.deepEqual([...packages], ['#platform'])
  })

  it('is exported by the package', () => {
    const { exports } = JSON.parse(sourceOf('package.json')) as { exports: Record<string, unknown> }
    assert.deepEqual(exports['./log'], {
      source: './core/log/index.ts',
      types: './dist/core/log/index.d.ts',
      default: './dist/core/log/index.js',
    })
  })

  it('runs the example of its documentation', async () => {
    const comment = /```ts\n([\s\S]*?) \* ```/.exec(sourceOf('core/log/index.ts'))?.[1] ?? ''
    const program = comment.replaceAll(/^ \* ?/gm, '')
    assert.match(program, /verifyInclusion\(/)
    const run = (text: string): Promise<unknown> => {
      const code = text.replace("'evidence-registry/log'", `'${moduleUrl('core/log/index.ts').href}'`)
      return import(`data:text/javascript,${encodeURIComponent(code)}`)
    }
    await run(program)
    await assert.rejects(run(program.replace('leafHash(entry)', 'leafHash(new Uint8Array())')), {
      code: 'VERIFICATION_FAILED',
    })
  })
})

describe('core/log', () => {
  it('does not import modules that know evidences', () => {
    const store = 'bounded-map|codec|entries|keys|read'
    const files = String.raw`bytes|errors|rules|platform\/node|store\/(${store})|commitment\/log-entry`
    const allowed = new RegExp(String.raw`^core\/(log\/.*|ports\/.*|(${files})\.ts)$`)
    const paths = readdirSync(join(root, 'core/log'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `core/log/${path.replaceAll('\\', '/')}`)
    assert.ok(paths.length > 15)
    for (const path of paths)
      for (const specifier of importsOf(path))
        if (specifier.startsWith('.')) {
          const target = normalize(join(dirname(path), specifier))
          assert.match(target, allowed, `${path} imports ${target}`)
        }
  })
})

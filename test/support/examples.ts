import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { isRegistryError } from '../../core/index.ts'
import { isObject } from '../../core/verify/untrusted.ts'
import { root } from './repository.ts'

/** The code of an `@example` of the product. */
export interface Example {
  /** The path of its file in the repository. */
  readonly path: string
  readonly code: string
}

const FOLDERS = ['core', 'adapters', 'sealer', 'server']
const DOCSTRING = /\/\*\*(?:(?!\*\/)[^])*@example\s(?:(?!\*\/)[^])*\*\//g

/** Every `@example` of the product, in the order of the paths. */
export const examples = (): readonly Example[] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
    .filter((path) => /\.tsx?$/.test(path))
    .toSorted()
    .flatMap((path) => (readFileSync(join(root, path), 'utf8').match(DOCSTRING) ?? []).map((text) => [path, text]))
    .map(([path = '', text = '']) => {
      const [, code = ''] = /@example\s([^]*?)(?:\n *\* @|\s*\*\/)/.exec(text) ?? []
      return { path, code: code.replaceAll(/^ *\* ?/gm, '').replaceAll(/^```.*\n?/gm, '') }
    })

/** Whether an example connects to another program: `test/services` runs these. */
export const needsService = ({ code }: Example): boolean => /await open(?:Postgres|S3)/.test(code)

const load = (entry: string): Promise<object> => import(entry)

/**
 * Runs an example as it is printed. A line that ends with `// throws CODE` must throw, and another one that ends with
 * `// value` must return that value.
 *
 * @param given - what the example uses and does not declare
 */
export async function runExample({ code }: Example, given: Readonly<Record<string, unknown>>): Promise<void> {
  const names = Object.keys(given)
  const statements = code
    .replaceAll(/^import (\{.*\}) from ('.*')$/gm, 'const $1 = await load($2)')
    .replaceAll('await import(', 'await load(')
    .replaceAll(/^(?!const)(.+\)) \/\/ (?!throws)(.*)$/gm, 'assert.deepEqual($1, $2)')
  const declared = Array.from(code.matchAll(/^const (\w+) =/gm), ([, name]) => name).join()
  const module = `run = async (assert, load, ${names.join()}) => {{\n${statements}\n;return [${declared}]\n}}`
  const { code: script } = await transform(module, { loader: 'ts', target: 'node20' })
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the example is code of this repository
  const run = new Function(`let run; ${script}; return run`)() as (
    ...values: readonly unknown[]
  ) => Promise<readonly unknown[]>
  const done = run(assert, load, ...names.map((name) => given[name]))
  const [, expected] = /\/\/ throws ([A-Z_]+)/.exec(code) ?? []
  if (expected !== undefined) return assert.rejects(done, (error) => isRegistryError(error) && error.code === expected)
  const closable = (await done).filter((each) => isObject(each) && typeof each['close'] === 'function')
  for (const each of closable as readonly { close(): Promise<void> }[]) await each.close()
}

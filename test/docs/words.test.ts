import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { root } from '../support/repository.ts'

const DECLARED = /^export (?:async )?(const|function\*?|class|interface|type) +([A-Za-z0-9_]+)/gm

/** A name that a module of the core or the sealer exports. Names of types and of values are apart, as in TypeScript. */
interface Exported {
  readonly name: string
  readonly isType: boolean
  readonly path: string
}

/** The same for Node and for browsers; and the assembler, which contains the text of the module that it writes. */
const PAIRS = ['core/platform/', 'core/verify/certificate-crypto/', 'sealer/kernel/wat/']
/** JSON Schemas have the names of the types that they describe, and a type each. */
const isLeftOut = (path: string): boolean => PAIRS.some((folder) => path.startsWith(folder))
const SCHEMAS = 'core/schemas/'

const exported: readonly Exported[] = ['core', 'sealer'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .filter((path) => !isLeftOut(path))
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(DECLARED)].map(([, kind, name = '']) => ({
        name,
        isType: kind === 'type' || kind === 'interface',
        path,
      })),
    ),
)

/** The words of a name: `readTreeHead` has read, tree and head. */
const wordsOf = (name: string): readonly string[] =>
  name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase())

describe('the words of the code', () => {
  it('each name has one meaning: no two modules export it', () => {
    const found = exported.filter(({ path }) => !path.startsWith(SCHEMAS))
    const places = new Map<string, Set<string>>()
    for (const { name, isType, path } of found) {
      const key = `${isType ? 'type ' : ''}${name}`
      places.set(key, (places.get(key) ?? new Set()).add(path))
    }
    assert.ok(places.size > 500)
    const shown = [...places]
      .filter(([, paths]) => paths.size > 1)
      .map(([name, paths]) => `${name}: ${[...paths].join(', ')}`)
    assert.deepEqual(shown, [])
  })

  it('each word of the glossary is one of an exported name', () => {
    const [, table = ''] = readFileSync(join(root, 'core/README.md'), 'utf8').split('### Words')
    const glossary = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| ([a-zA-Z, ]+) \|/gm)]
      .map(([, words = '']) => words)
      .filter((words) => words !== 'word')
    assert.ok(glossary.length >= 12 && glossary.length <= 30, String(glossary.length))
    const used = new Set(
      exported.flatMap(({ name }) => wordsOf(name)).flatMap((word) => [word, word.replace(/s$/, '')]),
    )
    // States of a batch, written as the contract writes them.
    const isUsed = (word: string): boolean => word.length === 1 || word.split(' ').every((part) => used.has(part))
    const unexpected = glossary.flatMap((words) => words.split(', ')).filter((word) => !isUsed(word))
    assert.deepEqual(unexpected, [])
  })
})

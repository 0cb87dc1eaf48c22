import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildWebVerifier, type WebFiles } from '../../support/web-verifier.ts'

const KIB = 1024
const MAX_BYTES = 47 * KIB
const MAX_BYTES_WITH_TOKENS = 140 * KIB

describe('the verifier for browsers', () => {
  let files: WebFiles
  before(async () => {
    files = await buildWebVerifier()
  })

  const sizeOf = (names: readonly string[]): number =>
    files.outputFiles
      .filter(({ path }) => names.includes(basename(path)))
      .reduce((size, { contents }) => size + gzipSync(contents, { level: 9 }).length, 0)

  /** The files that a page loads at once: the entry, and what it imports. */
  function initialFiles(): readonly string[] {
    const outputs = Object.entries(files.metafile.outputs)
    const importsOf = (name: string): readonly string[] =>
      (outputs.find(([path]) => basename(path) === name)?.[1].imports ?? [])
        .filter(({ kind }) => kind === 'import-statement')
        .map(({ path }) => basename(path))
    const names = new Set(['page.js'])
    for (const name of names) for (const next of importsOf(name)) names.add(next)
    return [...names]
  }

  it('imports nothing of Node', () => {
    const external = Object.values(files.metafile.outputs).flatMap(({ imports }) => imports)
    const unexpected = external.filter((each) => each.external === true)
    assert.deepEqual(unexpected, [])
    assert.deepEqual(
      Object.keys(files.metafile.inputs).filter((path) => path.endsWith('node.js')),
      [],
    )
  })

  it('has at most 47 KiB with gzip, and 140 KiB with the token checks', () => {
    const names = files.outputFiles.map(({ path }) => basename(path))
    const [initial, all] = [sizeOf(initialFiles()), sizeOf(names)]
    assert.ok(initial > 20 * KIB && initial <= MAX_BYTES, `${initial} bytes`)
    assert.ok(all > initial && all <= MAX_BYTES_WITH_TOKENS, `${all} bytes`)
  })

  it('loads ASN.1 libraries only with the token checks', () => {
    const initial = initialFiles()
    for (const [path, { inputs }] of Object.entries(files.metafile.outputs))
      if (initial.includes(basename(path)))
        assert.deepEqual(
          Object.keys(inputs).filter((name) => /pkijs|asn1js/.test(name)),
          [],
        )
  })
})

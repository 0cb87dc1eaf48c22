import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

/**
 * While package.json is private, the name on the npm registry is not ours: npm would run, as root, what a stranger
 * publishes under it.
 */
const { name, version, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly private?: true
}

/** A line that makes a package manager ask the registry for the package. A file of it, and `--no-install`, are fine. */
const MANAGERS = 'npm (?:install|i|add|exec|x|update)|npx(?! --no-install )|pnpm|yarn|bunx?'
const ASKS = new RegExp(`\\b(?:${MANAGERS})\\b[^\\n\`;&|]*\\s["']?${name}(?:@[^\\s]*)?["']?(?=[\\s\`)]|$)`, 'm')

const FOLDERS = ['.', '.ci', 'core', 'sealer', 'adapters', 'server', 'bench', 'test']
const files = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: folder !== '.', withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name)),
).filter((path) => /\.(?:md|ts|tsx|mjs|js|yaml|service|timer)$|Dockerfile$|\.ci\/run$/.test(path))

describe('the name of the package', () => {
  it('is seen in lines that ask the registry for it', () => {
    for (const line of [`npx ${name} verify`, `npm install --prefix /opt/${name} ${name}`, `npm i ${name}@latest &&`])
      assert.match(line, ASKS)
    for (const line of [`npx --no-install ${name} verify`, `npm install --prefix /opt/${name} /root/${name}-1.0.0.tgz`])
      assert.doesNotMatch(line, ASKS)
  })

  it('is in no line of a document, a unit or a text that does so', () => {
    assert.ok(files.length > 900 && files.includes('server/evidence-registry.service'), `${files.length} files`)
    const textOf = (path: string): string => readFileSync(path, 'utf8').replaceAll(/\\\n\s*#?/g, ' ')
    const lines = files.flatMap((path) => ASKS.exec(textOf(path))?.[0].concat(` (${path})`) ?? [])
    if (manifest.private === true) assert.deepEqual(lines, [])
  })

  it('is followed by the version in the names of packed files', () => {
    for (const path of files.filter((each) => !each.startsWith('test/')))
      for (const [, shown] of readFileSync(path, 'utf8').matchAll(new RegExp(`${name}-(\\d[^\\s"]*)\\.tgz`, 'g')))
        assert.equal(shown, version, path)
  })
})

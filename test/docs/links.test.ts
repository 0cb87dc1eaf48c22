import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'

/** Every Markdown file of the project. */
const documents = ['.', 'core', 'sealer', 'adapters', 'server', 'bench', 'test']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: folder !== '.', encoding: 'utf8' }).map((path) => normalize(join(folder, path))),
  )
  .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const withoutCode = (text: string): string => text.replaceAll(/```[^]*?```/g, '').replaceAll(/`[^`\n]*`/g, '')

const anchorsIn = (path: string): readonly string[] =>
  [
    ...readFileSync(path, 'utf8')
      .replaceAll(/```[^]*?```/g, '')
      .matchAll(/^#+ (.+)$/gm),
  ].map(([, heading = '']) => anchorOf(heading))

describe('links in the documentation', () => {
  it('finds the documents', () => {
    for (const path of ['README.md', 'CONTRIBUTING.md', 'core/README.md', 'core/verify/README.md'])
      assert.ok(documents.includes(path), path)
  })

  for (const document of documents)
    it(`of ${document} lead to files and headings that exist`, () => {
      const links = [...withoutCode(readFileSync(document, 'utf8')).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
      for (const [, link = ''] of links) {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? document : normalize(join(dirname(document), path))
        assert.ok(existsSync(target), `${link}: ${target} is missing`)
        if (anchor !== undefined) assert.ok(anchorsIn(target).includes(anchor), `${link}: no such heading`)
      }
    })
})

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { saveBundle } from '../../../server/commands/save-bundle.ts'
import { present } from '../../support/present.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const directory = temporaryOfSuite()

/** A bundle of three events. `trees`: by event; `tokens`: of each tree. */
const bundleOf = (trees: readonly (readonly number[])[], tokens: readonly string[], anchors: readonly string[] = []) =>
  JSON.stringify({
    events: trees.map((sizes, i) => ({
      opening: `${i}`,
      inclusion: sizes.map((treeSize) => ({ treeSize, path: [] })),
    })),
    checkpoints: [...new Set(trees.flat())].map((size) => ({ note: `origin\n${size}\nroot\n`, tokens, anchors })),
  })

it('a saved bundle is replaced by one with more tokens, anchors and receipts, in however few trees', async () => {
  const path = join(directory, 'a.evidence.json')
  const better = [
    bundleOf([[], [], []], []),
    bundleOf([[2], [3], [4]], []),
    bundleOf([[5], [5], [5]], ['of one authority']),
    bundleOf(
      [
        [5, 6],
        [5, 6],
        [5, 6],
      ],
      ['of one authority'],
    ),
    bundleOf([[9], [9], [9]], ['of one authority', 'of another one'], ['in a block']),
  ]
  better.push(present(better.at(-1)).replace(/\}$/, ',"receipts":[{"inclusion":[{"treeSize":9,"path":[]}]}]}'))
  for (const [i, text] of better.entries()) {
    for (const each of better.slice(0, i + 1)) assert.equal(await saveBundle(path, each), path)
    // The second one has as many tokens as the first, which stays.
    for (const each of [text, text.replace('of one', 'of a third')]) assert.equal(await saveBundle(path, each), path)
    assert.equal(await readFile(path, 'utf8'), text)
  }
})

it('a file of other events stays, and one that is not a bundle: the name then gets a number', async () => {
  const path = join(directory, 'b.evidence.json')
  await writeFile(path, 'a text')
  const [one, other] = [bundleOf([[2]], ['of one authority']), bundleOf([[2], [3]], [])]
  for (const _ of [1, 2]) assert.equal(await saveBundle(path, one), join(directory, 'b~2.evidence.json'))
  assert.equal(await saveBundle(path, other), join(directory, 'b~3.evidence.json'))
  assert.equal(await readFile(path, 'utf8'), 'a text')
  assert.equal(await readFile(join(directory, 'b~2.evidence.json'), 'utf8'), one)
})

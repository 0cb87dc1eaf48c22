import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SealedTree } from '../../../core/log/sealed-tree.ts'
import { openBundleRegistry, type BundleRegistry } from '../../support/bundle-fixture.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

/** More than two tiles of the log. */
const COUNT = 600

const linesOf = (text: string): readonly string[] => text.split('\n').slice(1, -2)

/** The text of the lines that an export of these evidences has, each bundle made by itself. */
async function expectedLines(registry: BundleRegistry, externalIds: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  for (const [i, externalId] of externalIds.entries())
    lines.push(JSON.stringify({ n: i + 1, bundle: await registry.history('all', 'all', externalId) }))
  return lines
}

/** Exports the company. `onPart` is called after each part. */
async function exported({ registry, scope }: BundleRegistry, onPart?: (parts: number) => Promise<unknown>) {
  let [text, parts] = ['', 0]
  for await (const part of registry.proofs.exportCompany(scope)) {
    text += part
    await onPart?.(++parts)
  }
  return linesOf(text)
}

describe('an export', () => {
  const directory = temporaryOfSuite()

  /** Evidences with files, updates and deletions under several stamps, anchors and keys; the last is not sealed. */
  async function openMixed(): Promise<{ registry: BundleRegistry; externalIds: readonly string[] }> {
    const registry = await openBundleRegistry({ directory, intervalMs: 60_000 })
    const { evidences, files, categories } = registry.registry
    await registry.evidence({ externalId: 'first', files: [await registry.stage('text', 'a.txt')] })
    await registry.settle()
    const [category] = await categories.list(registry.scope)
    const [subcategory] = category?.subcategories ?? []
    assert.ok(category && subcategory)
    const numbered = Array.from({ length: COUNT }, (_, i) => `n-${i}`)
    for (let from = 0; from < COUNT; from += 200) {
      const named = numbered.slice(from, from + 200).map((externalId) => ({ externalId, name: 'One of many' }))
      const place = { categoryId: category.id, subcategoryId: subcategory.id }
      await evidences.createMany(registry.scope, { ...place, evidences: named })
      await registry.registry.sealNow()
      if (from === 200) await registry.settle()
    }
    for (let i = 0; i < COUNT; i += 97) await evidences.update(registry.scope, `n-${i}`, { owner: 'Grace' })
    await registry.rotate()
    await registry.settle()
    const [file] = (await evidences.files(registry.scope, 'first')).evidence
    assert.ok(file)
    await files.delete(registry.scope, { fileId: file.id, externalId: 'first' })
    for (let i = 5; i < COUNT; i += 89) await evidences.update(registry.scope, `n-${i}`, { summary: 'Checked' })
    await registry.registry.sealNow()
    await registry.evidence({ externalId: 'last' })
    return { registry, externalIds: ['first', ...numbered, 'last'] }
  }

  it('has the same bytes as bundles that are made one by one, most without a proof of their own', async (t) => {
    const { registry, externalIds } = await openMixed()
    const expected = await expectedLines(registry, externalIds)
    const single = t.mock.method(SealedTree.prototype, 'proveInclusion').mock
    assert.deepEqual(await exported(registry), expected)
    const proofs = expected.flatMap((line) => line.match(/"inclusion":\[\{/g) ?? []).length
    assert.ok(single.callCount() < proofs / 4, `${single.callCount()} of ${proofs} proofs were made one by one`)
    await registry.close()
  })

  it('shows a stamp that arrives while it is made', async () => {
    const registry = await openBundleRegistry({ directory, anchor: 'none' })
    const externalIds = Array.from({ length: 100 }, (_, i) => `e-${i}`)
    for (const externalId of externalIds) await registry.evidence({ externalId })
    await registry.settle()
    const before = (await expectedLines(registry, externalIds)).at(-1)
    const lines = await exported(registry, async (parts) => {
      if (parts > 1) return
      await registry.evidence({ externalId: 'later' })
      await registry.settle()
    })
    assert.notEqual(lines.at(-1), before)
    assert.equal(lines.at(-1), (await expectedLines(registry, externalIds)).at(-1))
    await registry.close()
  })
})

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { EvidenceQuery, EvidenceSummary } from '../../../core/index.ts'
import { fillRegistry, openSealedRegistry, type SealedRegistry } from '../../support/sealed-registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

async function openFilled(t: TestContext): Promise<SealedRegistry> {
  const sealed = await openSealedRegistry(await temporaryFor(t))
  t.after(() => sealed.registry.close())
  await fillRegistry(sealed)
  return sealed
}

/** Renders summaries as JSON and remembers which. */
function countingRender() {
  const rendered: string[] = []
  const render = (summary: EvidenceSummary): string => {
    rendered.push(summary.externalId)
    return JSON.stringify(summary)
  }
  return { rendered, render }
}

describe('a list of texts', () => {
  it('has what the list of summaries has, after every change', async (t) => {
    const { registry, scope, settle } = await openFilled(t)
    const listTexts = registry.evidences.texts(JSON.stringify)
    const queries: readonly EvidenceQuery[] = [
      {},
      { limit: 1 },
      { status: 'stolen' },
      { sort: 'updated' },
      { owner: 'x' },
    ]
    const compare = async (): Promise<void> => {
      for (const query of queries) {
        const { items, ...page } = await registry.evidences.list(scope, query)
        const texts = await listTexts(scope, query)
        assert.deepEqual(texts, { ...page, items: items.map((item) => ({ id: item.id, text: JSON.stringify(item) })) })
      }
    }
    await compare()
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    await compare()
    await registry.evidences.update(scope, 'plain', { owner: 'x' })
    await compare()
    await registry.sealNow()
    await compare()
    await settle()
    await compare()
  })

  it('renders an evidence again only if its record or an anchor changed', async (t) => {
    const { registry, scope, settle } = await openFilled(t)
    const { rendered, render } = countingRender()
    const listTexts = registry.evidences.texts(render)
    const renderedFor = async (query?: EvidenceQuery): Promise<readonly string[]> => {
      rendered.length = 0
      await listTexts(scope, query)
      return rendered.toSorted()
    }
    assert.deepEqual(await renderedFor(), ['drill/4711', 'plain'])
    assert.deepEqual(await renderedFor(), [])
    assert.deepEqual(await renderedFor({ limit: 1 }), [])
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.deepEqual(await renderedFor(), ['plain'])
    await settle()
    assert.deepEqual(await renderedFor(), ['drill/4711', 'plain'], 'an anchor was confirmed')
    assert.deepEqual(await renderedFor(), [])
  })

  it('keeps no more than it may', async (t) => {
    const { registry, scope } = await openFilled(t)
    const { rendered, render } = countingRender()
    const listTexts = registry.evidences.texts(render, { maxKeptChars: 10 })
    await listTexts(scope)
    await listTexts(scope)
    assert.equal(rendered.length, 4)
  })

  it('requires the level of a list', async (t) => {
    const { registry } = await openFilled(t)
    const listTexts = registry.evidences.texts(JSON.stringify)
    const stranger = { companyId: 'acme', principal: { kind: 'anonymous' } } as const
    await assert.rejects(listTexts(stranger), { message: 'This operation requires level R' })
  })

  it('rejects an option that is not valid', async (t) => {
    const { registry } = await openFilled(t)
    for (const maxKeptChars of [1, -1, 2.5, Number.NaN, '9'])
      assert.throws(() => registry.evidences.texts(JSON.stringify, { maxKeptChars: maxKeptChars as number }), {
        code: 'VALIDATION_ERROR',
        message: /^maxKeptChars must be an integer of at least 2/,
      })
  })
})

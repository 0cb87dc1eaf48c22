import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { EvidenceQuery, EvidenceSummary, HistoryPage, HistoryQuery } from '../../../core/index.ts'
import { fromHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { putRecord } from '../../../core/store/read.ts'
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

  it('has the blocks of events all over the log', async (t) => {
    const { registry, scope, records, settle } = await openFilled(t)
    const { evidence } = await registry.evidences.get(scope, 'plain')
    const subcategory = { categoryId: evidence.categoryId, subcategoryId: evidence.subcategoryId }
    const createMany = (name: string, count: number) => {
      const evidences = Array.from({ length: count }, (_, i) => ({ externalId: `${name} ${i}`, name }))
      return registry.evidences.createMany(scope, { ...subcategory, evidences })
    }
    await createMany('early', 150)
    await settle()
    await createMany('late', 200)
    for (const i of [3, 90, 149]) await registry.evidences.update(scope, `early ${i}`, { name: 'Renamed' })
    await settle()
    await createMany('unsealed', 40)
    await registry.evidences.update(scope, 'early 5', { name: 'Renamed' })

    const listTexts = registry.evidences.texts(JSON.stringify)
    const log = new LogReader(records)
    const blocks = new Set<number | undefined>()
    for (const limit of [1_000, 60, 20]) {
      const { items } = await registry.evidences.list(scope, { limit })
      for (const { txId, blockNumber } of items.flatMap((item) => [item, item.lastEvent])) {
        const [position = NaN] = await records.positionsOf([fromHex(txId) ?? new Uint8Array()])
        const [expected] = await (await log.anchors()).blocksOf([position])
        assert.equal(blockNumber, expected)
        blocks.add(expected)
      }
      const texts = (await listTexts(scope, { limit })).items.map(({ text }) => text)
      assert.deepEqual(
        texts,
        items.map((item) => JSON.stringify(item)),
      )
    }
    assert.ok(blocks.has(undefined) && blocks.size > 2, 'events in several blocks and in none')
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

/** Renders pages as JSON and remembers how many. */
function countingPageRender() {
  const calls = { count: 0 }
  const render = (page: HistoryPage) => {
    calls.count++
    return { text: JSON.stringify(page) }
  }
  return { calls, render }
}

describe('an evidence as a text', () => {
  it('has what the evidence has, after every change', async (t) => {
    const { registry, scope, settle } = await openFilled(t)
    const getText = registry.evidences.pages((page) => ({ text: JSON.stringify(page) }))
    const queries: readonly HistoryQuery[] = [{}, { limit: 1 }, { after: 1 }, { disclose: true }]
    const compare = async (): Promise<void> => {
      // Three times, because the third text may be a kept one.
      for (const query of [...queries, ...queries, ...queries])
        for (const externalId of ['plain', 'drill/4711']) {
          const page = await registry.evidences.get(scope, externalId, query)
          assert.deepEqual(await getText(scope, externalId, query), { text: JSON.stringify(page) })
        }
    }
    await compare()
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    await compare()
    await registry.sealNow()
    await compare()
    await settle()
    await compare()
  })

  it('is rendered again only if the evidence or the status of an event changed, or one is not sealed', async (t) => {
    const { registry, records, scope, settle } = await openFilled(t)
    await settle()
    const { calls, render } = countingPageRender()
    const getText = registry.evidences.pages(render)
    const rendersOf = async (times: number, query?: HistoryQuery): Promise<number> => {
      calls.count = 0
      for (let i = 0; i < times; i++) await getText(scope, 'plain', query)
      return calls.count
    }
    assert.equal(await rendersOf(3), 2, 'kept from the second time on')
    assert.equal(await rendersOf(2), 0)
    assert.equal(await rendersOf(2, { limit: 1 }), 2, 'only the first page is kept')
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.equal(await rendersOf(2), 2, 'not sealed')
    await registry.sealNow()
    assert.equal(await rendersOf(2), 1, 'kept while it waits for its anchor')
    await settle()
    assert.equal(await rendersOf(2), 1)
    const head = await new LogReader(records).anchorHead()
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), { ...head, confirmedSize: 0 })] })
    assert.equal(await rendersOf(2), 1, 'the chain has dropped the anchor')
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), { ...head, confirmedSize: 0, sentSize: 0 })] })
    assert.equal(await rendersOf(2), 1, 'nothing is sent any more')
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), head)] })
    assert.equal(await rendersOf(2), 1, 'it is confirmed again')
  })

  it('is kept only within the limit', async (t) => {
    const { registry, scope, settle } = await openFilled(t)
    await settle()
    const { calls, render } = countingPageRender()
    const getText = registry.evidences.pages(render, { maxKeptChars: 10 })
    for (let i = 0; i < 3; i++) await getText(scope, 'plain')
    assert.equal(calls.count, 3)
  })

  it('requires the level of an evidence', async (t) => {
    const { registry } = await openFilled(t)
    const getText = registry.evidences.pages(() => ({ text: '' }))
    const stranger = { companyId: 'acme', principal: { kind: 'anonymous' } } as const
    await assert.rejects(getText(stranger, 'plain'), { message: 'This operation requires level R' })
  })
})

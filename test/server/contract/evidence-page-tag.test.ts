import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HistoryPage, HistoryQuery } from '../../../core/index.ts'
import { evidencePage, evidencePageTag } from '../../../server/contract/evidence-responses.ts'
import { present } from '../../support/present.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'

const QUERIES: readonly HistoryQuery[] = [
  {},
  { limit: 1 },
  { limit: 2 },
  { after: 1 },
  { after: 1, limit: 1 },
  { after: 99 },
  { disclose: true },
  { disclose: true, limit: 1 },
  { disclose: true, after: 1, limit: 2 },
]

describe('the ETag of an evidence', () => {
  it('is that of one text only, through all changes and queries', async (t) => {
    const { registry, scope, settle, stage, filled } = await openFilledRegistry(t)
    const { evidences, files } = registry
    const { drill } = filled
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => undefined,
      () => evidences.update(scope, drill, { updateType: 'repair' }),
      () => registry.sealNow(),
      settle,
      async () => evidences.update(scope, drill, { files: [await stage('a', 'a.txt')] }),
      () => files.delete(scope, { fileId: filled.keptFile }),
      () => files.delete(scope, { fileId: filled.imageFile }),
      settle,
      () => evidences.erase(scope, drill, { fields: ['owner'], versions: [1], reason: 'request' }),
      () => evidences.erase(scope, drill, { fields: ['name', 'owner'], reason: 'request' }),
    ]
    const texts = new Map<string, string>()
    for (const change of changes) {
      await change()
      for (const externalId of [drill, filled.plain])
        for (const query of QUERIES) {
          const page = await evidences.get(scope, externalId, query)
          const [tag, text] = [evidencePageTag(page), evidencePage(page)]
          assert.match(tag, new RegExp(`^"${page.evidence.version}-[0-9a-f]{16}"$`))
          assert.equal(texts.get(tag) ?? text, text, tag)
          texts.set(tag, text)
        }
    }
    assert.ok(texts.size > 2 * QUERIES.length, 'the changes change the tags')
  })

  it('changes with each part of what it is made of', async (t) => {
    const { registry, scope, filled } = await openFilledRegistry(t)
    const get = (query: HistoryQuery) => registry.evidences.get(scope, filled.drill, query)
    const page = await get({ disclose: true, limit: 2 })
    const { evidence, events } = page
    const [first, second] = [present(events[0]), present(events[1])]
    const disclosure = present(first.disclosure)
    const batch = present(first.batch ?? undefined)
    const { image: _, ...withoutImage } = evidence
    const erased = { field: 'name', at: new Date(1) }
    const withFirst = (change: Partial<typeof first>): HistoryPage => ({
      ...page,
      events: [{ ...first, ...change }, second],
    })
    const others: Readonly<Record<string, HistoryPage>> = {
      version: { ...page, evidence: { ...evidence, version: evidence.version + 1 } },
      'last txId': { ...page, evidence: { ...evidence, lastTxId: evidence.txId } },
      image: { ...page, evidence: withoutImage },
      'another image': {
        ...page,
        evidence: { ...evidence, image: { id: filled.billFile as never, mimeType: '', size: 1 } },
      },
      last: await get({ disclose: true, limit: 2, after: 1 }),
      len: await get({ disclose: true, limit: 1 }),
      disclose: await get({ limit: 2 }),
      'not sealed': withFirst({ batch: null }),
      'another batch': withFirst({ batch: { ...batch, id: 'another' as never } }),
      'not anchored': withFirst({ batch: { ...batch, sendStatus: 'P' } }),
      'an anchor that is sent': withFirst({ batch: { ...batch, sendStatus: 'S' } }),
      'an erased value': { ...page, evidence: { ...evidence, erased: [erased] } },
      'an erased value of an event': withFirst({ erased: [erased] }),
      'an erased field': withFirst({ disclosure: { ...disclosure, fields: {} } }),
      'an erased file': withFirst({ disclosure: { ...disclosure, files: {} } }),
    }
    const tags = Object.values(others).map((other) => evidencePageTag(other))
    assert.equal(new Set([evidencePageTag(page), evidencePageTag(page, '9.9.9'), ...tags]).size, tags.length + 2)
    assert.equal(evidencePageTag(await get({ disclose: true, limit: 2 })), evidencePageTag(page))
  })
})

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createClient, type Client, type ClientOptions } from '../../../server/client/index.ts'
import { newestId, sendRows, type ImportRow } from '../../../server/import/send.ts'
import { findSubcategory } from '../../../server/import/subcategories.ts'
import { CompanyRequests, of } from '../../support/company-requests.ts'

describe('rows that are sent', () => {
  const acme = new CompanyRequests()
  let drills: Omit<ImportRow, 'number' | 'evidence'>
  let saws: typeof drills
  beforeEach(async () => {
    const create = { subcategoryName: 'Drills', name: 'first', categoryName: 'Tools' }
    await acme.call('createEvidence', { json: { ...create, externalId: 'a drill' } })
    await acme.call('createEvidence', { json: { ...create, subcategoryName: 'Saws', externalId: 'a saw' } })
    const categories = await clientWith().listCategories()
    const pathOf = (name: string) => {
      const path = findSubcategory(categories, { name: ' Tools ' }, { name })
      assert.ok(path)
      return path
    }
    drills = pathOf('Drills')
    saws = pathOf('Saws')
  })

  const clientWith = (options: Partial<ClientOptions> = {}): Client =>
    createClient({ baseUrl: `${acme.service.url}/api/v1`, companyId: 'acme', apiKey: acme.company.keys.I, ...options })

  const rowOf = (externalId: string, more: Partial<ImportRow['evidence']> = {}, path = drills): ImportRow => ({
    number: 1,
    ...path,
    evidence: { externalId, name: `Name of ${externalId}`, ...more },
  })

  /** What became of the rows. */
  async function send(rows: readonly ImportRow[], client = clientWith()) {
    const counts = { created: 0, present: 0 }
    const refused: string[] = []
    await sendRows(rows, {
      client,
      since: await newestId(client),
      onDone: (count, outcome) => void (counts[outcome] += count),
      onRefused: ({ evidence }, { code }) => refused.push(`${evidence.externalId} ${code}`),
    })
    return { ...counts, refused: refused.toSorted() }
  }

  it('go in groups of one subcategory, at most 1,000 rows and two requests at a time', async () => {
    let [running, most] = [0, 0]
    const sizes: string[] = []
    const client = clientWith({
      async fetch(url, init) {
        if (init.method !== 'POST') return fetch(url, init)
        assert.ok(typeof init.body === 'string')
        const { evidences } = JSON.parse(init.body) as { readonly evidences: readonly unknown[] }
        sizes.push(`${url.includes(drills.subcategoryId) ? 'drills' : 'saws'} ${evidences.length}`)
        most = Math.max(most, ++running)
        return fetch(url, init).finally(() => running--)
      },
    })
    const rows = Array.from({ length: 2_100 }, (_, i) => rowOf(`many-${i}`, {}, i % 3 === 0 ? saws : drills))
    assert.deepEqual(await send(rows, client), { created: 2_100, present: 0, refused: [] })
    assert.deepEqual(sizes.toSorted(), ['drills 1000', 'drills 400', 'saws 700'])
    assert.equal(most, 2)
  })

  it('go in groups of at most 4 MiB', async () => {
    const description = 'é'.repeat(8_000)
    const rows = Array.from({ length: 300 }, (_, i) => rowOf(`large-${i}`, { description }))
    assert.deepEqual(await send(rows), { created: 300, present: 0, refused: [] })
  })

  it('are present if they are sent again, in the same groups or in others, also after a change', async () => {
    const rows = Array.from({ length: 20 }, (_, i) => rowOf(`again-${i}`, { meta: { b: 1, a: ['x'] }, owner: 'Ada' }))
    assert.deepEqual(await send(rows), { created: 20, present: 0, refused: [] })
    const requests: (string | undefined)[] = []
    const client = clientWith({ fetch: (url, init) => (requests.push(init.method), fetch(url, init)) })
    assert.deepEqual(await send(rows, client), { created: 0, present: 20, refused: [] })
    // Beside the newest id: the service remembers the group, so no row is looked up.
    assert.deepEqual(requests, ['GET', 'POST'])
    await acme.ok('updateEvidence', { ...of('again-3'), json: { owner: 'Grace' } })
    const more = await send([rowOf('again-new'), ...rows])
    assert.deepEqual(more, { created: 1, present: 20, refused: [] })
  })

  it('are refused if their id is in use with other values, and the others are created', async () => {
    await send([rowOf('used')])
    const rows = [
      rowOf('free-1'),
      rowOf('used', { owner: 'Eve' }),
      rowOf('used', {}, saws),
      rowOf('free-2', {}, saws),
      // Twice in the file: the second one is another evidence.
      rowOf('twice'),
      rowOf('twice', { summary: 'another' }),
    ]
    const { refused, ...counts } = await send(rows)
    assert.deepEqual(counts, { created: 3, present: 0 })
    assert.deepEqual(refused, ['twice EXTERNAL_ID_EXISTS', 'used EXTERNAL_ID_EXISTS', 'used EXTERNAL_ID_EXISTS'])
  })

  it('are refused one by one if the service does not accept them', async () => {
    const rows = Array.from({ length: 9 }, (_, i) => rowOf(`part-${i}`, i % 4 === 1 ? { owner: ' ' } : {}))
    const { refused, ...counts } = await send(rows)
    assert.deepEqual(counts, { created: 7, present: 0 })
    assert.deepEqual(refused, ['part-1 VALIDATION_ERROR', 'part-5 VALIDATION_ERROR'])
  })

  it('are all refused at once if their subcategory is gone', async () => {
    const gone = { ...drills, subcategoryId: saws.categoryId }
    const posts: string[] = []
    const client = clientWith({
      fetch(url, init) {
        if (init.method === 'POST') posts.push(url)
        return fetch(url, init)
      },
    })
    const { refused } = await send([rowOf('gone-1', {}, gone), rowOf('gone-2', {}, gone)], client)
    assert.deepEqual([refused.length, posts.length], [2, 1])
  })

  it('stop at an error that is not about them', async () => {
    const client = clientWith({ apiKey: acme.company.keys.R })
    await assert.rejects(send([rowOf('forbidden')], client), { status: 403 })
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { decorateRecords } from '../../../adapters/kit/index.ts'
import type { Stored } from '../../../core/ports/index.ts'
import { OPERATOR, type RecordStore } from '../../../core/index.ts'
import { isKeyless } from '../../../server/contract/endpoint.ts'
import { formOf } from '../../support/form.ts'
import { createMany, numbered } from '../../support/many-evidences.ts'
import { ENDPOINTS, type Company, type Service, type ServiceResponse, serviceFor } from '../../support/service.ts'

/** Their ids sort before and after the company's own. */
const RIVALS = ['aaa-rival', 'zzz-rival']
/** One more than a page reads of an index. */
const MANY = 10_001
const MINE = ['car-1', 'car-2', 'car-2y', 'boat-1']

it('every keyed read returns the same and reads nothing of others if companies of look-alikes exist', async (t) => {
  const alone = await readAll(await serviceWith(t, []))
  const crowded = await readAll(await serviceWith(t, RIVALS))
  assert.deepEqual([...crowded.keys()], [...alone.keys()])
  for (const [read, text] of alone) assert.equal(crowded.get(read), text, read)
  const keyed = [...ENDPOINTS.values()].filter(
    // The list of companies is over all of them.
    ({ method, access }) => method === 'GET' && !isKeyless(access) && access !== 'operator',
  )
  const missing = keyed.filter(({ id }) => ![...alone.keys()].some((read) => read.split(' ')[0] === id))
  assert.deepEqual(
    missing.map(({ id }) => id),
    [],
  )
})

interface Crowd {
  readonly service: Service
  readonly company: Company
  readonly watch: { foreign: string[] | undefined }
}

/** A service with the same company each time, and with rivals that have everything that it has, and much more. */
async function serviceWith(t: { after(end: () => Promise<void>): void }, rivals: readonly string[]): Promise<Crowd> {
  const watch: Crowd['watch'] = { foreign: undefined }
  const wrapRecords = (records: RecordStore): RecordStore => noticeRivals(records, watch)
  const service = await serviceFor(t, { sealMaxWaitMs: 3_600_000, wrapRecords })
  const { registry } = service
  const companies = new Map<string, Company>()
  for (const id of [...rivals, 'mine']) companies.set(id, await service.company(id))
  const [first] = rivals
  if (first !== undefined) {
    const cars = numbered('car-', MANY, { name: 'Golf', owner: 'Ada' })
    const between = cars.map((car) => ({ ...car, externalId: `${car.externalId}x` }))
    await createMany(registry, { companyId: first, principal: OPERATOR }, between)
  }
  const company = companies.get('mine')
  assert.ok(company)
  for (const each of companies.values()) await useAll(service, each)
  return { service, company, watch }
}

/** Notes every entry of a rival that is read. */
function noticeRivals(records: RecordStore, watch: Crowd['watch']): RecordStore {
  const notice = (entry: Stored | undefined): void => {
    if (entry === undefined || watch.foreign === undefined) return
    const text = `${entry.key} ${Buffer.from(entry.value).toString('latin1')}`
    if (text.includes('rival')) watch.foreign.push(text)
  }
  return decorateRecords(records, {
    async get(keys) {
      const entries = await records.get(keys)
      entries.forEach(notice)
      return entries
    },
    async *list(range) {
      for await (const entry of records.list(range)) {
        notice(entry)
        yield entry
      }
    },
  })
}

async function useAll(service: Service, { id, keys }: Company): Promise<void> {
  const of = { key: keys.A, params: { COMPANY_ID: id }, headers: { 'idempotency-key': 'the same' } }
  for (const externalId of MINE) {
    const fields = { categoryName: 'Vehicles', subcategoryName: 'Cars', externalId, name: 'Golf GTI', owner: 'Ada' }
    const headers = { 'idempotency-key': externalId }
    await service.ok('createEvidence', { ...of, headers, form: formOf(fields, [['image', 'a.png', 'a', 'image/png']]) })
  }
  const params = { ...of.params, EVIDENCE_EXTERNAL_ID: 'car-1' }
  await service.ok('updateEvidence', { ...of, params, json: { owner: 'Grace', actionType: 'stolen' } })
  await service.ok('createShare', { ...of, params, json: { fields: ['name'], files: 'all' } })
  const [category] = (await service.ok('listCategories', of)).categories
  const form = formOf({ description: 'with an image' }, [['file', 'c.png', 'c', 'image/png']])
  await service.ok('updateCategory', { ...of, params: { ...of.params, CATEGORY_ID: category.id }, form })
  const erased = { ...of.params, EVIDENCE_EXTERNAL_ID: 'boat-1' }
  await service.ok('eraseEvidence', {
    ...of,
    headers: {},
    params: erased,
    json: { fields: ['owner'], reason: 'request' },
  })
  await service.fails('getEvidence', 404, 'EVIDENCE_NOT_FOUND', {
    ...of,
    headers: {},
    params: { ...of.params, EVIDENCE_EXTERNAL_ID: 'car-3' },
  })
  assert.equal((await service.call('checkSourceSystem', { ...of, headers: {}, key: 'wrong-key-of-it' })).status, 401)
  // Wrong keys of all companies are written together, once a minute or before a trail is read.
  await service.ok('listAudit', of)
}

/** The responses of every keyed read, without what differs each time. */
async function readAll({ service, company, watch }: Crowd): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const params: Record<string, string> = { COMPANY_ID: company.id, EVIDENCE_EXTERNAL_ID: 'car-1' }
  const read = async (id: string, query: Readonly<Record<string, string>> = {}): Promise<ServiceResponse['body']> => {
    const pages: ServiceResponse['body'][] = []
    for (let position: Record<string, string> | undefined = {}; position !== undefined;) {
      watch.foreign = []
      const { body, text } = await service.call(id, { key: company.keys.A, params, query: { ...query, ...position } })
      assert.deepEqual(watch.foreign.slice(0, 5), [], `${id} ${JSON.stringify(query)} reads entries of others`)
      watch.foreign = undefined
      pages.push(body ?? text)
      position = nextOf(id, body)
    }
    const [first] = pages
    const whole = id === 'listEvents' ? pages.flatMap(({ events }) => events) : pages
    found.set(`${id} ${JSON.stringify(query).replace(UUIDS, 'id')}`, comparable(whole))
    return first
  }
  const { categories } = await read('listCategories')
  const [{ id: categoryId, subcategories }] = categories
  const subcategoryId = subcategories[0].id
  Object.assign(params, { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId, SYSTEM_ID: company.systems.I })
  const { dt } = await read('listEvidenceFiles')
  const lists: readonly Record<string, string>[] = [
    {},
    { externalId: 'car-' },
    { externalId: 'car-2' },
    { externalId: 'car-', owner: 'ada' },
    { q: 'car' },
    { q: 'golf ada' },
    { owner: 'ada' },
    { status: 'stolen' },
    { status: 'active' },
    { sort: 'updated' },
    { createdFrom: '2000-01-01T00:00:00Z' },
    { createdTo: '2100-01-01T00:00:00Z', q: 'gti' },
    { categoryId },
    { subcategoryId: subcategoryId, owner: 'Grace' },
  ]
  for (const list of lists) for (const paged of [{}, { len: '2' }]) await read('listEvidences', { ...list, ...paged })
  for (const id of ['getCategory', 'listSubcategories', 'getSubcategory', 'listSubcategoryFiles']) await read(id)
  for (const id of ['getOverview', 'listEvents', 'getEvidence', 'getBundle', 'exportEvidences', 'listShares'])
    await read(id)
  for (const id of ['listSourceSystems', 'getSourceSystem', 'checkSourceSystem', 'getOwnSourceSystem']) await read(id)
  await read('listAudit')
  const { erasures } = await read('listErasures')
  Object.assign(params, { ERASURE_ID: erasures[0].id })
  await read('getErasure')
  await read('downloadFile', { fileId: dt[0].overlayId, evidenceId: 'car-1' })
  return found
}

/** Where the next page begins: lists that are filtered or sorted end with a `next`, the feed with a `cursor`. */
function nextOf(
  id: string,
  body: { next?: string; cursor?: string; isMore?: boolean },
): Record<string, string> | undefined {
  if (body?.next !== undefined) return { next: body.next }
  return id === 'listEvents' && body.isMore === true ? { after: String(body.cursor) } : undefined
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Ids by the order in which they first occur; no times, hashes, keys, cursors, and nothing of the log as a whole. */
function comparable(value: unknown): string {
  const ids = new Map<string, string>()
  return JSON.stringify(value, (name, each: unknown) =>
    ['next', 'cursor', 'log', 'health'].includes(name) ? undefined : each,
  )
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replace(UUIDS, (id) => ids.get(id) ?? (ids.set(id, `id${ids.size}`), `id${ids.size - 1}`))
    .replace(/\+[0-9a-f]{8}\+[\w+/=]+|-----BEGIN.*?-----END/g, 'key')
    .replace(/[0-9a-f]{32,}/g, 'hex')
}

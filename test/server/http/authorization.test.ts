import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PermissionLevel } from '../../../core/index.ts'
import { isKeyless } from '../../../server/contract/endpoint.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { ENDPOINTS, OPERATOR_KEY, type CallOptions, type ServiceResponse } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'

const NOTHING = '01890a5d-ac96-774b-bcce-b302099a8057'
const PARAMS = {
  CATEGORY_ID: NOTHING,
  SUBCATEGORY_ID: NOTHING,
  EVIDENCE_EXTERNAL_ID: 'none',
  SYSTEM_ID: NOTHING,
  SHARE_ID: NOTHING,
  ERASURE_ID: NOTHING,
}

/** Each level includes those before it. */
const LEVELS = ['R', 'I', 'U', 'A'] as const

/** The level that each keyed endpoint requires, written out here so that a change in the routes is noticed. */
const NEEDED: Readonly<Record<string, PermissionLevel | 'sourceSystem' | 'operator'>> = {
  createCategory: 'I',
  listCategories: 'R',
  getBundle: 'R',
  exportEvidences: 'R',
  getCategory: 'R',
  getSubcategory: 'R',
  updateCategory: 'U',
  createSubcategory: 'I',
  updateSubcategory: 'U',
  listSubcategoryFiles: 'R',
  createEvidence: 'I',
  createEvidences: 'I',
  listEvidences: 'R',
  getEvidence: 'R',
  getOverview: 'R',
  listEvents: 'R',
  listSubcategories: 'R',
  updateEvidence: 'U',
  listEvidenceFiles: 'R',
  downloadFile: 'R',
  deleteFile: 'U',
  createFileToken: 'R',
  createSourceSystem: 'A',
  listSourceSystems: 'A',
  updateSourceSystem: 'A',
  checkSourceSystem: 'sourceSystem',
  getOwnSourceSystem: 'R',
  getSourceSystem: 'A',
  listAudit: 'A',
  listCompanies: 'operator',
  createShare: 'R',
  listShares: 'R',
  endShare: 'R',
  eraseEvidence: 'A',
  eraseSubject: 'A',
  getErasure: 'A',
  listErasures: 'A',
}

describe('authorization: each endpoint with each kind of key', () => {
  const acme = new CompanyRequests()
  const other = ofSuite(() => acme.service.company('other'))

  /** Sends neither body nor query: a request that is authorized succeeds, or fails for that reason. */
  const send = (id: string, options: CallOptions): Promise<ServiceResponse> =>
    acme.service.call(id, { ...options, params: { COMPANY_ID: 'acme', ...PARAMS, ...options.params } })
  const isUnauthorized = ({ status, body }: ServiceResponse): void =>
    assert.deepEqual([status, body], [401, { statusCode: 401, message: 'Unauthorized' }])
  const isForbidden = ({ status, body }: ServiceResponse): void =>
    assert.deepEqual([status, body], [403, { statusCode: 403, message: 'Forbidden resource' }])
  const isAuthorized = ({ status }: ServiceResponse): void => assert.ok(status !== 401 && status !== 403, `${status}`)

  it('knows every keyed endpoint', () => {
    const keyed = [...ENDPOINTS.values()].filter(({ access }) => !isKeyless(access))
    assert.deepEqual(keyed.map(({ id }) => id).sort(), Object.keys(NEEDED).sort())
  })

  for (const [id, needed] of Object.entries(NEEDED)) {
    it(`${id} requires ${needed}`, async () => {
      isUnauthorized(await send(id, {}))
      isUnauthorized(await send(id, { key: '' }))
      isUnauthorized(await send(id, { key: 'a-key-of-no-source-system' }))
      isUnauthorized(await send(id, { key: other().keys.A }))
      isUnauthorized(await send(id, { key: acme.company.keys.A, params: { COMPANY_ID: 'unknown' } }))
      for (const level of LEVELS) {
        const answer = await send(id, { key: acme.company.keys[level] })
        if (needed === 'operator') isUnauthorized(answer)
        else if (needed === 'sourceSystem' || LEVELS.indexOf(level) >= LEVELS.indexOf(needed)) isAuthorized(answer)
        else isForbidden(answer)
      }
      const asOperator = await send(id, { key: OPERATOR_KEY })
      if (needed === 'sourceSystem') isUnauthorized(asOperator)
      else isAuthorized(asOperator)
    })
  }

  it('is decided before the body and the query are read', async () => {
    const broken = { json: '{broken', query: { unknown: '1' } }
    isUnauthorized(await send('createCategory', broken))
    isForbidden(await send('createCategory', { ...broken, key: acme.company.keys.R }))
    await acme.fails('createCategory', 400, 'VALIDATION_ERROR', { ...broken, key: acme.company.keys.I })
  })

  it('public endpoints need no key and ignore one', async () => {
    for (const endpoint of ENDPOINTS.values()) {
      if (endpoint.access !== 'public') continue
      const params = { evidenceId: 'x', fileId: NOTHING, txid: 'ab'.repeat(32), batchId: NOTHING, L: '0', N: '000' }
      for (const key of [undefined, 'a-key-of-no-source-system'])
        isAuthorized(await acme.service.call(endpoint.id, { params, ...(key && { key }) }))
    }
  })
})

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import {
  startService,
  type CallOptions,
  type Company,
  type Service,
  type ServiceOptions,
  type ServiceResponse,
} from './service.ts'

type Body = ServiceResponse['body']

/** The category of the evidences that tests create. */
export const VEHICLE_CATEGORY = { categoryName: 'Vehicles', subcategoryName: 'Cars' }

/** Requests to a service with the company `acme`, with its id and update key unless the options have others. */
export class CompanyRequests {
  #service: Service | undefined
  #company: Company | undefined

  /** To be called in a `describe`: the service runs during its tests. */
  constructor(options: ServiceOptions = {}) {
    before(async () => {
      this.#service = await startService(options)
      this.#company = await this.#service.company('acme')
    })
    after(() => this.#service?.close())
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error('The service runs only during the tests of its describe')
    return this.#service
  }

  get company(): Company {
    if (this.#company === undefined) throw new Error('The company exists only during the tests of its describe')
    return this.#company
  }

  /** The options with the key and the company. */
  with(options: CallOptions = {}): CallOptions {
    return { key: this.company.keys.U, ...options, params: { COMPANY_ID: this.company.id, ...options.params } }
  }

  call(id: string, options?: CallOptions): Promise<ServiceResponse> {
    return this.service.call(id, this.with(options))
  }

  ok(id: string, options?: CallOptions): Promise<Body> {
    return this.service.ok(id, this.with(options))
  }

  fails(id: string, status: number, code: string, options?: CallOptions): Promise<ServiceResponse> {
    return this.service.fails(id, status, code, this.with(options))
  }

  /** Runs a request that must change nothing and leave no file behind. */
  async changesNothing(what: () => Promise<unknown>): Promise<void> {
    const stored = await this.service.snapshot()
    await what()
    assert.deepEqual(await this.service.unfinished(), [])
    assert.equal(await this.service.snapshot(), stored)
  }

  /** Creates an evidence in `VEHICLE_CATEGORY`, unless `more` has another category. */
  create(externalId: string, more: object = {}): Promise<Body> {
    const json = { ...VEHICLE_CATEGORY, externalId, name: `Name of ${externalId}`, ...more }
    return this.ok('createEvidence', { json })
  }

  /** An evidence with its history. */
  page(externalId: string, query?: Readonly<Record<string, string>>): Promise<Body> {
    return this.ok('getEvidence', { ...of(externalId), ...(query && { query }) })
  }

  /** The files of an evidence. */
  async files(externalId: string): Promise<Body> {
    return (await this.ok('listEvidenceFiles', of(externalId))).dt
  }
}

/** The path parameter that names an evidence. */
export const of = (EVIDENCE_EXTERNAL_ID: string) => ({ params: { EVIDENCE_EXTERNAL_ID } })

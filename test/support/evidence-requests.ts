import type { Company, Service, ServiceResponse } from './service.ts'

export interface RequestTarget {
  readonly service: Service
  readonly company: Company
}

/** The category of the evidences that tests create. */
export const VEHICLE_CATEGORY = { categoryName: 'Vehicles', subcategoryName: 'Cars' }

/** Requests about evidences of one company with its update key. `target` is called for each request. */
export const evidenceRequests = (target: () => RequestTarget) => {
  const at = (): { key: string; params: { COMPANY_ID: string } } => {
    const { company } = target()
    return { key: company.keys.U, params: { COMPANY_ID: company.id } }
  }
  const of = (EVIDENCE_EXTERNAL_ID: string) => ({ ...at(), params: { ...at().params, EVIDENCE_EXTERNAL_ID } })
  return {
    of,
    create: (externalId: string, more: object = {}): Promise<ServiceResponse['body']> => {
      const json = { ...VEHICLE_CATEGORY, externalId, name: `Name of ${externalId}`, ...more }
      return target().service.ok('createEvidence', { ...at(), json })
    },
    page: (externalId: string, query?: Record<string, string>): Promise<ServiceResponse['body']> =>
      target().service.ok('getEvidence', { ...of(externalId), ...(query && { query }) }),
  }
}

import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { AuditPage, auditPage, PageQuery } from '../contract/audit.ts'
import { CompanyPage, companyPage } from '../contract/companies.ts'
import * as shapes from '../contract/source-systems.ts'
import { created, json } from '../contract/reply.ts'
import { ok, Ok, pageQuery, withExpiry } from '../contract/values.ts'

const COMPANY = '/sourceSystem/{COMPANY_ID}'

/** Endpoints 16 to 18 of the contract, the lists, and the audit trail. */
export const sourceSystems: EndpointGroup = {
  tag: 'Source systems',
  description: 'The programs that may read and write. Each has its own key',
  endpoints: [
    endpoint({
      id: 'createSourceSystem',
      method: 'POST',
      path: COMPANY,
      access: 'A',
      summary: 'Create a source system',
      description:
        'The operator key creates a company with its first source system. Without `apiKey` the service makes ' +
        'a key and shows it only this once. A key cannot grant a level above its own.',
      body: { schema: shapes.NewSourceSystem, rejectsEmpty: true, example: { name: 'Workshop', permissions: 'U' } },
      idempotent: true,
      response: { status: 201, schema: shapes.CreatedSourceSystem },
      errors: ['NAME_EXISTS', 'KEY_EXISTS'],
      handle: async ({ registry, scope, input, options, path }) =>
        created(await registry.sourceSystems.create(scope, withExpiry(input), options), path),
    }),
    endpoint({
      id: 'listSourceSystems',
      method: 'GET',
      path: COMPANY,
      access: 'A',
      summary: 'List source systems, without their keys',
      description: '`lastUsedAt` is exact to the minute, and may miss the last minute before a server died.',
      response: { schema: shapes.SourceSystemList },
      handle: async ({ registry, scope }) => json(shapes.sourceSystemList(await registry.sourceSystems.list(scope))),
    }),
    endpoint({
      id: 'updateSourceSystem',
      method: 'PATCH',
      path: `${COMPANY}/{SYSTEM_ID}`,
      access: 'A',
      summary: 'Rotate the key, rename, change permissions or expiry, (de)activate',
      description:
        'The previous key stops working at once, or after `graceSeconds`. A rotation without `graceSeconds` ' +
        'also ends every earlier grace period. `expiresAt` stays as it is when the key is replaced; ' +
        '`clear` removes it.',
      body: { schema: shapes.SourceSystemChange, rejectsEmpty: true, example: { active: false } },
      response: { schema: Ok },
      errors: ['SOURCE_SYSTEM_NOT_FOUND', 'NAME_EXISTS', 'KEY_EXISTS'],
      async handle({ registry, scope, param, input }) {
        await registry.sourceSystems.update(scope, param('SYSTEM_ID'), withExpiry(input))
        return json(ok)
      },
    }),
    endpoint({
      id: 'checkSourceSystem',
      method: 'GET',
      path: `${COMPANY}/healthz`,
      access: 'sourceSystem',
      summary: 'Whether the key belongs to an active source system of the company',
      description: 'For the health check of a client. The operator key is not that of a source system.',
      response: { schema: Ok },
      handle: async () => json(ok),
    }),
    endpoint({
      id: 'getOwnSourceSystem',
      method: 'GET',
      path: `${COMPANY}/self`,
      access: 'R',
      summary: 'The source system of the key in the request',
      description: 'Its id, name and permissions.',
      response: { schema: shapes.OwnSourceSystem },
      handle: async ({ registry, scope }) => json(await registry.sourceSystems.self(scope)),
    }),
    endpoint({
      id: 'listAudit',
      method: 'GET',
      path: `${COMPANY}/audit`,
      access: 'A',
      summary: 'Who created, changed and rotated, who used a wrong key, who made file tokens',
      description:
        'Newest first. Changes of source systems are kept for ever; of rejected keys and file tokens the ' +
        'newest 10,000, equal ones of a minute as one entry. These two are written within a minute, so a ' +
        'server that dies may lose some.',
      queue: 'lists',
      query: PageQuery,
      response: { schema: AuditPage },
      handle: async ({ registry, scope, query }) =>
        json(auditPage(await registry.sourceSystems.audit(scope, pageQuery(query)))),
    }),
    // After the paths with a fixed end, which it would match, too.
    endpoint({
      id: 'getSourceSystem',
      method: 'GET',
      path: `${COMPANY}/{SYSTEM_ID}`,
      access: 'A',
      summary: 'Get a source system, without its key',
      description: '`lastUsedAt` is to the minute.',
      response: { schema: shapes.SourceSystem },
      errors: ['SOURCE_SYSTEM_NOT_FOUND'],
      handle: async ({ registry, scope, param }) => json(await registry.sourceSystems.get(scope, param('SYSTEM_ID'))),
    }),
    endpoint({
      id: 'listCompanies',
      method: 'GET',
      path: '/companies',
      access: 'operator',
      summary: 'List companies (only with the operator key)',
      description: 'With the numbers of their source systems, categories and evidences.',
      queue: 'lists',
      query: PageQuery,
      response: { schema: CompanyPage },
      handle: async ({ registry, scope, query }) =>
        json(companyPage(await registry.companies.list(scope.principal, pageQuery(query)))),
    }),
  ],
}

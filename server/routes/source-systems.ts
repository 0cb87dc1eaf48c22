import { NewSourceSystem, SourceSystemChange } from '../../core/registry/schemas.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { CreatedSourceSystem, Ok, SourceSystemList } from '../contract/shapes.ts'

const COMPANY = '/sourceSystem/{COMPANY_ID}'

/** Endpoints 16 to 18 of the contract, and the list. */
export const sourceSystems: EndpointGroup = {
  tag: 'Source systems',
  description: 'Who may write and read: one key each',
  endpoints: [
    endpoint({
      id: 'createSourceSystem',
      method: 'POST',
      path: COMPANY,
      access: 'A',
      summary: 'Create a source system',
      description:
        'The operator key creates a company with its first source system. Without `apiKey` the service makes one and shows it this once. Nobody grants above their own level.',
      body: { schema: NewSourceSystem, example: { name: 'Workshop', permissions: 'U' } },
      idempotent: true,
      answer: { status: 201, schema: CreatedSourceSystem },
      errors: ['NAME_EXISTS', 'KEY_EXISTS'],
      handle: ({ registry, scope, input, options }) => registry.sourceSystems.create(scope, input, options),
    }),
    endpoint({
      id: 'listSourceSystems',
      method: 'GET',
      path: COMPANY,
      access: 'A',
      summary: 'List source systems, without their keys',
      answer: { schema: SourceSystemList },
      async handle({ registry, scope }) {
        const list = await registry.sourceSystems.list(scope)
        return { sourceSystems: list, count: list.length }
      },
    }),
    endpoint({
      id: 'updateSourceSystem',
      method: 'PATCH',
      path: `${COMPANY}/{SYSTEM_ID}`,
      access: 'A',
      summary: 'Rotate the key, rename, change permissions, (de)activate',
      description: 'The key before stops working at once.',
      body: { schema: SourceSystemChange, example: { active: false } },
      answer: { schema: Ok },
      errors: ['SOURCE_SYSTEM_NOT_FOUND', 'NAME_EXISTS', 'KEY_EXISTS'],
      async handle({ registry, scope, param, input }) {
        await registry.sourceSystems.update(scope, param('SYSTEM_ID'), input)
        return { status: 'ok' }
      },
    }),
    endpoint({
      id: 'checkSourceSystem',
      method: 'GET',
      path: `${COMPANY}/healthz`,
      access: 'sourceSystem',
      summary: 'Whether the key belongs to an active source system of the company',
      answer: { schema: Ok },
      handle: async () => ({ status: 'ok' }),
    }),
  ],
}

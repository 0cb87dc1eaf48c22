import { belowRequest, endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import {
  CreatedSourceSystem,
  NewSourceSystem,
  SourceSystemChange,
  SourceSystemList,
  sourceSystemList,
} from '../contract/source-systems.ts'
import { ok, Ok } from '../contract/values.ts'

const COMPANY = '/sourceSystem/{COMPANY_ID}'

/** Endpoints 16 to 18 of the contract, and the list. */
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
        'The operator key creates a company with its first source system. Without `apiKey` the service makes a key and shows it only this once. A key cannot grant a level above its own.',
      body: { schema: NewSourceSystem, rejectsEmpty: true, example: { name: 'Workshop', permissions: 'U' } },
      idempotent: true,
      response: { status: 201, schema: CreatedSourceSystem },
      location: belowRequest,
      errors: ['NAME_EXISTS', 'KEY_EXISTS'],
      handle: ({ registry, scope, input, options }) => registry.sourceSystems.create(scope, input, options),
    }),
    endpoint({
      id: 'listSourceSystems',
      method: 'GET',
      path: COMPANY,
      access: 'A',
      summary: 'List source systems, without their keys',
      response: { schema: SourceSystemList },
      handle: async ({ registry, scope }) => sourceSystemList(await registry.sourceSystems.list(scope)),
    }),
    endpoint({
      id: 'updateSourceSystem',
      method: 'PATCH',
      path: `${COMPANY}/{SYSTEM_ID}`,
      access: 'A',
      summary: 'Rotate the key, rename, change permissions, (de)activate',
      description: 'The previous key stops working at once.',
      body: { schema: SourceSystemChange, rejectsEmpty: true, example: { active: false } },
      response: { schema: Ok },
      errors: ['SOURCE_SYSTEM_NOT_FOUND', 'NAME_EXISTS', 'KEY_EXISTS'],
      async handle({ registry, scope, param, input }) {
        await registry.sourceSystems.update(scope, param('SYSTEM_ID'), input)
        return ok
      },
    }),
    endpoint({
      id: 'checkSourceSystem',
      method: 'GET',
      path: `${COMPANY}/healthz`,
      access: 'sourceSystem',
      summary: 'Whether the key belongs to an active source system of the company',
      response: { schema: Ok },
      handle: async () => ok,
    }),
  ],
}

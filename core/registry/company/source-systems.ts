import type { SourceSystem, SourceSystems } from '../../api/source-systems.ts'
import { keys } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { authorize, type AuthorizedScope } from '../permissions.ts'
import { assertTexts, type ApiKeys } from './api-keys.ts'
import { enterCompany } from './company.ts'
import { createSourceSystem } from './create.ts'
import { updateSourceSystem } from './update.ts'

export const sourceSystemOperations = (context: Context, apiKeys: ApiKeys): SourceSystems => ({
  authenticate: async (credentials) => {
    assertTexts(credentials, 'companyId', 'apiKey')
    return apiKeys.authenticate(credentials.companyId, credentials.apiKey)
  },
  hasOperatorKey: () => apiKeys.hasOperatorKey,
  setOperatorKey: (apiKey, { onlyIfNone = false } = {}) => apiKeys.setOperatorKey(apiKey, onlyIfNone),
  // The operator's first source system creates the company, so the company need not exist.
  create: async (scope, input, options) => createSourceSystem(context, apiKeys, authorize(scope, 'A'), input, options),
  update: async (scope, systemId, change) =>
    updateSourceSystem(context, apiKeys, await enterCompany(context, scope, 'A'), systemId, change),
  list: async (scope) => listSourceSystems(context, await enterCompany(context, scope, 'A')),
})

async function listSourceSystems(
  { records }: Context,
  { companyId }: AuthorizedScope,
): Promise<readonly SourceSystem[]> {
  const entries = await listEntries(records, keys.sourceSystems(companyId))
  return entries.map((entry) => {
    const { id, name, permissions, active, createdAt } = decodeRecord<SourceSystemRecord>(entry)
    return { id, name, permissions, active, createdAt: new Date(createdAt) }
  })
}

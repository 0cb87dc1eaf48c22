import type { OwnSourceSystem, SourceSystem, SourceSystems } from '../../api/source-systems.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { listEntries, readRecord } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { LastUseRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { authorize, type AuthorizedScope } from '../permissions.ts'
import { assertTexts, type ApiKeys } from './api-keys.ts'
import { listAudit } from './audit.ts'
import { enterCompany } from './company.ts'
import { createSourceSystem } from './create.ts'
import { readSystem } from './stored-system.ts'
import { updateSourceSystem } from './update.ts'

export const sourceSystemOperations = (context: Context, apiKeys: ApiKeys): SourceSystems => ({
  authenticate: async (credentials) => {
    assertTexts(credentials, 'companyId', 'apiKey')
    if (credentials.address !== undefined) assertTexts(credentials, 'address')
    return apiKeys.authenticate(credentials)
  },
  hasOperatorKey: () => apiKeys.hasOperatorKey,
  setOperatorKey: (apiKey, { onlyIfNone = false } = {}) => apiKeys.setOperatorKey(apiKey, onlyIfNone),
  // The operator's first source system creates the company, so the company need not exist.
  create: async (scope, input, options) => createSourceSystem(context, apiKeys, authorize(scope, 'A'), input, options),
  update: async (scope, systemId, change) =>
    updateSourceSystem(context, apiKeys, await enterCompany(context, scope, 'A'), systemId, change),
  get: async (scope, systemId) => readSourceSystem(context, await enterCompany(context, scope, 'A'), systemId),
  self: async (scope) => readSelf(context, await enterCompany(context, scope, 'R')),
  audit: async (scope, query) => {
    const authorized = await enterCompany(context, scope, 'A')
    await context.auditLog.flush()
    return listAudit(context, authorized, query)
  },
  list: async (scope) => listSourceSystems(context, await enterCompany(context, scope, 'A')),
})

async function listSourceSystems(context: Context, { companyId }: AuthorizedScope): Promise<readonly SourceSystem[]> {
  const { records, clock, lastUses } = context
  const [systems, uses] = await Promise.all([
    listEntries(records, keys.sourceSystems(companyId)),
    listEntries(records, keys.lastUses(companyId)),
  ])
  const usedAt = new Map(uses.map((entry) => [lastPartOfKey(entry.key), decodeRecord<LastUseRecord>(entry).at]))
  return systems.map((entry) => {
    const record = decodeRecord<SourceSystemRecord>(entry)
    const lastUsedAt = Math.max(usedAt.get(record.id) ?? 0, lastUses.noted(record.id) ?? 0)
    return describe(record, { now: clock.now(), lastUsedAt })
  })
}

async function readSourceSystem(
  { records, clock, lastUses }: Context,
  { companyId }: AuthorizedScope,
  systemId: string,
): Promise<SourceSystem> {
  const { record } = await readSystem(records, companyId, systemId)
  const lastUse = await readRecord<LastUseRecord>(records, keys.lastUse(companyId, record.id))
  const lastUsedAt = Math.max(lastUse?.record.at ?? 0, lastUses.noted(record.id) ?? 0)
  return describe(record, { now: clock.now(), lastUsedAt })
}

/** `lastUsedAt` is 0 if it was never used. */
function describe(
  { id, name, permissions, active, createdAt, expiresAt, replacedKeys = [] }: SourceSystemRecord,
  { now, lastUsedAt }: { readonly now: number; readonly lastUsedAt: number },
): SourceSystem {
  const replacedKeyEndsAt = Math.max(...replacedKeys.map(({ endsAt }) => endsAt))
  return {
    id,
    name,
    permissions,
    active,
    createdAt: new Date(createdAt),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(replacedKeyEndsAt > now && { replacedKeyEndsAt: new Date(replacedKeyEndsAt) }),
    ...(lastUsedAt > 0 && { lastUsedAt: new Date(lastUsedAt) }),
  }
}

async function readSelf({ records }: Context, { companyId, principal }: AuthorizedScope): Promise<OwnSourceSystem> {
  if (principal.kind !== 'sourceSystem') return { name: 'operator', permissions: 'A' }
  const { record } = await readSystem(records, companyId, principal.id)
  const { id, name, permissions, expiresAt } = record
  return { id, name, permissions, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }) }
}

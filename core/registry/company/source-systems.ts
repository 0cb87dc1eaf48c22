import type {
  OwnSourceSystem,
  SourceSystem,
  SourceSystems,
  AuditEntry,
  AuditedChange,
  AuditPage,
  AuditQuery,
} from '../../api/source-systems.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import { listEntries, readRecord, decodeRecord } from '../../store/read.ts'
import type { SourceSystemRecord, AuditedValues, AuditRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { authorize, type AuthorizedScope, enterCompany } from '../permissions.ts'
import { assertTexts, type ApiKeys } from './api-keys.ts'
import { createSourceSystem } from './create.ts'
import { readSystem } from './stored-system.ts'
import { updateSourceSystem } from './update.ts'
import { isId } from '../../ids.ts'
import { uuidInput, invalidInput, validate } from '../../schemas/validation.ts'
import { auditQuerySchema } from './input.ts'

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
  const usedAt = new Map(uses.map((entry) => [lastPartOfKey(entry.key), decodeRecord(entry).at]))
  return systems.map((entry) => {
    const record = decodeRecord(entry)
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
  const lastUse = await readRecord(records, keys.lastUse(companyId, record.id))
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

const DEFAULT_LIMIT = 100

/** One page of the audit trail, newest first: changes and accesses, merged by their ids. */
export async function listAudit(
  { records }: Context,
  { companyId }: AuthorizedScope,
  query: AuditQuery = {},
): Promise<AuditPage> {
  const { limit = DEFAULT_LIMIT, after } = validate(auditQuerySchema, query)
  // The entry itself may be gone: old ones are deleted. A text that is not an id would return the first page for ever.
  const last = after === undefined ? undefined : uuidInput(after)
  if (last !== undefined && !isId(last)) throw invalidInput('after', 'must be the id of an entry of the audit trail')
  const newest = async (kind: 'change' | 'access'): Promise<readonly AuditRecord[]> => {
    const all = keys.auditOf(kind, companyId)
    const lt = last === undefined ? all.lt : keys.audit(kind, companyId, last)
    const entries = await listEntries(records, { ...all, lt, reverse: true, limit: limit + 1 })
    return entries.map((entry) => decodeRecord(entry))
  }
  const [changes, accesses] = await Promise.all([newest('change'), newest('access')])
  const merged = [...changes, ...accesses].sort((a, b) => (a.id < b.id ? 1 : -1))
  return { items: merged.slice(0, limit).map(auditEntry), hasMore: merged.length > limit }
}

function auditEntry(record: AuditRecord): AuditEntry {
  const at = new Date(record.at)
  if (record.type === 'rejected' || record.type === 'fileToken') return { ...record, at }
  const { id, type, actor, systemId, values = {}, replacedKeyEndsAt } = record
  if (type !== 'rotated') return { id, at, type, actor, systemId, values: auditedChange(values) }
  const end = replacedKeyEndsAt === undefined ? {} : { replacedKeyEndsAt: new Date(replacedKeyEndsAt) }
  return { id, at, type, actor, systemId, ...end }
}

const auditedChange = ({ expiresAt, ...values }: AuditedValues): AuditedChange => ({
  ...values,
  ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
})

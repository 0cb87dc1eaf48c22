import type { AuditedChange, AuditEntry, SourceSystem, SourceSystems } from '../../api/source-systems.ts'
import { type AuditKind, keys, lastPartOfKey } from '../../store/keys.ts'
import { listCounted } from '../../store/counted.ts'
import { readCount } from '../../store/counter.ts'
import { decodeRecord } from '../../store/codec.ts'
import { danglingReference, listEntries, readOne } from '../../store/read.ts'
import type { SourceSystemRecord, AuditedValues, AuditRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import type { AuditLog } from './audit.ts'
import type { LastUses } from '../last-uses.ts'
import { assertTexts, type ApiKeys } from './api-keys.ts'
import { createSourceSystem } from './create.ts'
import { readSystem } from './stored-system.ts'
import { updateSourceSystem } from './update.ts'
import { isId } from '../../ids.ts'
import { uuidInput, invalidInput, validate } from '../../schemas/validation.ts'
import { AuditQuery } from '../../schemas/company-inputs.ts'

interface SystemParts {
  readonly apiKeys: ApiKeys
  readonly lastUses: LastUses
  readonly auditLog: AuditLog
}

/** The operations on source systems. Their contract is `SourceSystems`. */
export const sourceSystemOperations = (context: Context, parts: SystemParts): SourceSystems => ({
  authenticate: async (credentials) => {
    assertTexts(credentials, 'companyId', 'apiKey')
    if (credentials.address !== undefined) assertTexts(credentials, 'address')
    return parts.apiKeys.authenticate(credentials)
  },
  hasOperatorKey: () => parts.apiKeys.hasOperatorKey,
  setOperatorKey: (apiKey, { onlyIfNone = false } = {}) => parts.apiKeys.setOperatorKey(apiKey, onlyIfNone),
  create: createSourceSystem(context, parts.apiKeys),
  update: updateSourceSystem(context, parts.apiKeys),
  get: readSourceSystem(context, parts.lastUses),
  self: readSelf(context),
  audit: listAudit(context, parts.auditLog),
  list: listSourceSystems(context, parts.lastUses),
})

/** All source systems of a company. */
const listSourceSystems =
  ({ records, clock }: Context, lastUses: LastUses): SourceSystems['list'] =>
  async (scope) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
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

/** One source system, with its last use, which may not be written yet. */
const readSourceSystem =
  ({ records, clock }: Context, lastUses: LastUses): SourceSystems['get'] =>
  async (scope, systemId) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
    const { record } = await readSystem(records, companyId, systemId)
    const lastUse = await readOne(records, keys.lastUse(companyId, record.id))
    const lastUsedAt = Math.max(lastUse?.at ?? 0, lastUses.noted(record.id) ?? 0)
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

/** The source system that asks. */
const readSelf =
  ({ records }: Context): SourceSystems['self'] =>
  async (scope) => {
    const { companyId, principal } = await enterCompany({ records }, scope, 'R')
    if (principal.kind !== 'sourceSystem') return { name: 'operator', permissions: 'A' }
    const system = await readOne(records, keys.sourceSystem(companyId, principal.id))
    if (system === undefined) throw danglingReference('An API key', `source system ${principal.id}`)
    const { id, name, permissions, expiresAt } = system
    return { id, name, permissions, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }) }
  }

const DEFAULT_LIMIT = 100

/** One page of the audit trail, newest first: changes and accesses, merged by their ids. */
const listAudit =
  ({ records }: Context, auditLog: AuditLog): SourceSystems['audit'] =>
  async (scope, query = {}) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
    await auditLog.flush()
    const { limit = DEFAULT_LIMIT, after } = validate(AuditQuery, query)
    // The entry itself may be gone: old ones are deleted. Any other text would return the first page for ever.
    const last = after === undefined ? undefined : uuidInput(after)
    if (last !== undefined && !isId(last)) throw invalidInput('after', 'must be the id of an entry of the audit trail')
    const newest = async (kind: AuditKind): Promise<readonly AuditRecord[]> => {
      const all = keys.auditOf(kind, companyId)
      const lt = last === undefined ? all.lt : keys.audit(kind, companyId, last)
      const read = () => listEntries(records, { ...all, lt, reverse: true, limit: limit + 1 })
      const count = () => readCount(records, [keys.auditCount(kind, companyId)])
      const source = { name: 'The audit trail', count, read, limit: limit + 1 }
      const entries = last === undefined ? (await listCounted(source)).entries : await read()
      return entries.map((entry) => decodeRecord(entry))
    }
    const kinds = await Promise.all([newest('change'), newest('access'), newest('unknown')])
    const merged = kinds.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
    return { items: merged.slice(0, limit).map(auditEntry), hasMore: merged.length > limit }
  }

function auditEntry(record: AuditRecord): AuditEntry {
  const at = new Date(record.at)
  if ('count' in record || 'shareId' in record) return { ...record, at }
  const { id, type, actor, systemId, values = {}, replacedKeyEndsAt } = record
  if (type !== 'rotated') return { id, at, type, actor, systemId, values: auditedChange(values) }
  const end = replacedKeyEndsAt === undefined ? {} : { replacedKeyEndsAt: new Date(replacedKeyEndsAt) }
  return { id, at, type, actor, systemId, ...end }
}

const auditedChange = ({ expiresAt, ...values }: AuditedValues): AuditedChange => ({
  ...values,
  ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
})

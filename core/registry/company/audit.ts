import type { AuditEntry, AuditedChange, AuditPage, AuditQuery } from '../../api/audit.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { AuditedValues, AuditRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { uuidInput } from '../input-forms.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, validate } from '../../schemas/validation.ts'
import { auditQuerySchema } from './input.ts'

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
    const { gte, lt } = keys.auditOf(kind, companyId)
    const end = last === undefined ? lt : keys.audit(kind, companyId, last)
    const entries = await listEntries(records, { gte, lt: end, reverse: true, limit: limit + 1 })
    return entries.map((entry) => decodeRecord<AuditRecord>(entry))
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

import type { CompanyId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'
import type { RecordStore, Write } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord, type Read } from '../../store/read.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { ApiKeyRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** The writes that store a source system and its keys. */
export const systemWrites = (companyId: CompanyId, record: SourceSystemRecord): readonly Write[] => [
  putRecord(keys.sourceSystem(companyId, record.id), record),
  ...[...apiKeyRecords(record)].map(([mac, apiKey]) => putRecord(keys.apiKey(mac), apiKey)),
]

/** The records of a source system's keys, by their HMACs: of its current key, and of those that it has replaced. */
export function apiKeyRecords({
  id,
  permissions,
  active,
  mac,
  expiresAt,
  replacedKeys = [],
}: SourceSystemRecord): ReadonlyMap<string, ApiKeyRecord> {
  const key: ApiKeyRecord = { systemId: id, permissions, active, ...(expiresAt !== undefined && { expiresAt }) }
  const replaced = replacedKeys.map(({ mac: other, endsAt }): [string, ApiKeyRecord] => [
    other,
    { ...key, expiresAt: Math.min(endsAt, expiresAt ?? Infinity), isReplaced: true },
  ])
  return new Map([[mac, key], ...replaced])
}

/** Throws `SOURCE_SYSTEM_NOT_FOUND`. */
export const readSystem = (
  records: RecordStore,
  companyId: CompanyId,
  systemId: string,
): Promise<Read<SourceSystemRecord>> =>
  requireRecord<SourceSystemRecord>(
    records,
    keys.sourceSystem(companyId, systemId),
    () => new RegistryError('SOURCE_SYSTEM_NOT_FOUND', 'There is no such source system in this company'),
  )

/** Throws `NAME_EXISTS`. */
export async function assertNameFree({ records }: Context, companyId: CompanyId, name: string): Promise<void> {
  const [taken] = await records.get([keys.sourceSystemName(companyId, name)])
  if (taken !== undefined)
    throw new RegistryError('NAME_EXISTS', 'name is in use by another source system of this company', { field: 'name' })
}

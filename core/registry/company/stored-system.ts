import type { CompanyId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'
import type { Write } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { ApiKeyRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** The writes that store a source system and its key. */
export function systemWrites(companyId: CompanyId, record: SourceSystemRecord): readonly Write[] {
  const { id, permissions, active, mac } = record
  return [
    putRecord(keys.sourceSystem(companyId, id), record),
    putRecord(keys.apiKey(mac), { systemId: id, permissions, active } satisfies ApiKeyRecord),
  ]
}

/** Throws `NAME_EXISTS`. */
export async function assertNameFree({ records }: Context, companyId: CompanyId, name: string): Promise<void> {
  const [taken] = await records.get([keys.sourceSystemName(companyId, name)])
  if (taken !== undefined)
    throw new RegistryError('NAME_EXISTS', 'name is in use by another source system of this company', { field: 'name' })
}

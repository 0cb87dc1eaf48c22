import type { CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import type { RecordStore } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { assertNeverStored, readRecord, readReferred, type Read } from '../../store/read.ts'
import type { SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** Throws `SOURCE_SYSTEM_NOT_FOUND`. */
export async function readSystem(
  records: RecordStore,
  companyId: CompanyId,
  systemId: string,
): Promise<Read<SourceSystemRecord>> {
  const key = keys.sourceSystem(companyId, systemId)
  const read = await readRecord(records, key)
  if (read !== undefined) return read
  await assertNeverStored(records, key, {
    beside: [keys.lastUse(companyId, systemId)],
    family: keys.allSourceSystems(),
  })
  throw new RegistryError('SOURCE_SYSTEM_NOT_FOUND', 'There is no such source system in this company')
}

/** Throws `NAME_EXISTS`. */
export async function assertSystemNameFree({ records }: Context, companyId: CompanyId, name: string): Promise<void> {
  const taken = await readRecord(records, keys.sourceSystemName(companyId, name))
  if (taken === undefined) return
  await readReferred(records, taken.check, keys.sourceSystem(companyId, taken.record.id))
  throw new RegistryError('NAME_EXISTS', 'name is in use by another source system of this company', { field: 'name' })
}

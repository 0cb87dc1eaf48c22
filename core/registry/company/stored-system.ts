import { timeOfDate } from '../../clock.ts'
import { invalidInput } from '../../schemas/validation.ts'
import type { CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import type { RecordStore } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord, type Read } from '../../store/read.ts'
import type { SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** Throws `SOURCE_SYSTEM_NOT_FOUND`. */
export const readSystem = (
  records: RecordStore,
  companyId: CompanyId,
  systemId: string,
): Promise<Read<SourceSystemRecord>> =>
  requireRecord(
    records,
    keys.sourceSystem(companyId, systemId),
    () => new RegistryError('SOURCE_SYSTEM_NOT_FOUND', 'There is no such source system in this company'),
  )

/** Throws `NAME_EXISTS`. */
export async function assertSystemNameFree({ records }: Context, companyId: CompanyId, name: string): Promise<void> {
  const [taken] = await records.get([keys.sourceSystemName(companyId, name)])
  if (taken !== undefined)
    throw new RegistryError('NAME_EXISTS', 'name is in use by another source system of this company', { field: 'name' })
}

/** `expiresAt` in ms since 1970. Throws `VALIDATION_ERROR` unless it is a valid `Date` after `now`. */
export function futureTime(expiresAt: Date, now: number): number {
  const time = timeOfDate(expiresAt)
  if (!(time > now)) throw invalidInput('expiresAt', 'must be a valid time in the future')
  return time
}

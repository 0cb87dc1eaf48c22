import type { CompanyId } from '../../api/ids.ts'
import type { SourceSystemChange } from '../../api/source-systems.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord, type Read } from '../../store/read.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { NameRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { IdToFind } from '../schemas.ts'
import { validate } from '../validation.ts'
import { write, type Decision } from '../write.ts'
import type { ApiKeys } from './api-keys.ts'
import { sourceSystemChangeSchema } from './input.ts'
import { assertNameFree, systemWrites } from './stored-system.ts'

export async function updateSourceSystem(
  context: Context,
  apiKeys: ApiKeys,
  { companyId }: AuthorizedScope,
  systemId: string,
  change: SourceSystemChange,
): Promise<void> {
  validate(IdToFind, systemId, 'systemId')
  validate(sourceSystemChangeSchema, change)
  const { apiKey, ...values } = change
  if (Object.values(change).every((value) => value === undefined))
    throw new RegistryError('VALIDATION_ERROR', 'Give something to change: apiKey, name, permissions or active')
  await write(context, undefined, async () => {
    const system = await requireRecord<SourceSystemRecord>(
      context.records,
      keys.sourceSystem(companyId, systemId),
      () => new RegistryError('SOURCE_SYSTEM_NOT_FOUND', 'There is no such source system in this company'),
    )
    const before = system.record
    const mac = apiKey === undefined ? before.mac : apiKeys.macOf(companyId, apiKey)
    const after: SourceSystemRecord = { ...before, ...withoutUndefined(values), mac }
    if (after.name !== before.name) await assertNameFree(context, companyId, after.name)
    if (apiKey !== undefined && mac !== before.mac) await apiKeys.assertUnused(companyId, apiKey)
    return decideUpdate(companyId, system, after)
  })
}

const withoutUndefined = (values: Omit<SourceSystemChange, 'apiKey'>): Partial<SourceSystemRecord> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

/** The commit holds while the source system is as it was read, and a new name and key are free. */
function decideUpdate(
  companyId: CompanyId,
  { record: before, check }: Read<SourceSystemRecord>,
  after: SourceSystemRecord,
): Decision<null> {
  const [oldName, newName] = [before, after].map(({ name }) => keys.sourceSystemName(companyId, name))
  const isRenamed = oldName !== undefined && newName !== undefined && oldName !== newName
  const isRekeyed = after.mac !== before.mac
  return {
    commit: {
      checks: [
        check,
        ...(isRenamed ? [{ key: newName, version: null }] : []),
        ...(isRekeyed ? [{ key: keys.apiKey(after.mac), version: null }] : []),
      ],
      writes: [
        ...systemWrites(companyId, after),
        ...(isRekeyed ? [{ key: keys.apiKey(before.mac), value: null }] : []),
        ...(isRenamed
          ? [{ key: oldName, value: null }, putRecord(newName, { id: before.id } satisfies NameRecord)]
          : []),
      ],
    },
    result: null,
  }
}

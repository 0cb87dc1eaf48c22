import { randomBytes } from 'node:crypto'
import type { CreatedSourceSystem, NewSourceSystem } from '../../api/source-systems.ts'
import type { WriteOptions } from '../../api/writes.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { CompanyRecord, NameRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { idempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { validate } from '../validation.ts'
import { write, type Decision } from '../write.ts'
import type { ApiKeys } from './api-keys.ts'
import { companyExists } from './company.ts'
import { newSourceSystemSchema } from './input.ts'
import { assertNameFree, systemWrites } from './stored-system.ts'

export async function createSourceSystem(
  context: Context,
  apiKeys: ApiKeys,
  scope: AuthorizedScope,
  input: NewSourceSystem,
  options: WriteOptions = {},
): Promise<CreatedSourceSystem> {
  validate(newSourceSystemSchema, input)
  const { companyId } = scope
  const { name, apiKey = generateKey(), permissions = 'U' } = input
  const call = idempotentCall(context, scope, options, { operation: 'createSourceSystem', input: { ...input } })
  return write(context, call, async ({ now }) => {
    await assertNameFree(context, companyId, name)
    await apiKeys.assertUnused(companyId, apiKey)
    const isNewCompany = scope.principal.kind === 'operator' && !(await companyExists(context, companyId))
    const record: SourceSystemRecord = {
      id: context.ids.next(),
      name,
      permissions,
      active: true,
      createdAt: now,
      mac: apiKeys.macOf(companyId, apiKey),
    }
    const generated = input.apiKey === undefined ? { apiKey } : {}
    return decideCreate({ scope, record, isNewCompany, generated })
  })
}

/** 256 random bits. */
const generateKey = (): string => randomBytes(32).toString('base64url')

interface CreateRequest {
  readonly scope: AuthorizedScope
  readonly record: SourceSystemRecord
  /** The operator's first source system of a company creates the company. */
  readonly isNewCompany: boolean
  readonly generated: { readonly apiKey?: string }
}

/** The commit holds while name, key and company are new. */
function decideCreate({ scope: { companyId }, record, isNewCompany, generated }: CreateRequest) {
  const { id, name, createdAt, mac } = record
  const nameKey = keys.sourceSystemName(companyId, name)
  const company = isNewCompany ? [putRecord(keys.company(companyId), { createdAt } satisfies CompanyRecord)] : []
  return {
    commit: {
      checks: [...company.map(({ key }) => key), nameKey, keys.apiKey(mac)].map((key) => ({ key, version: null })),
      writes: [...company, ...systemWrites(companyId, record), putRecord(nameKey, { id } satisfies NameRecord)],
    },
    result: { id, ...generated },
    // The generated key is returned only once.
    replayed: { id },
  } satisfies Decision<{ id: string; apiKey?: string }>
}

import { randomBytes } from 'node:crypto'
import type { SourceSystems } from '../../api/source-systems.ts'
import { systemEntries } from '../../store/derived.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/entries.ts'
import type { CompanyRecord, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { Decision } from '../write.ts'
import { authorize, type AuthorizedScope, companyExists } from '../permissions.ts'
import { validate } from '../../schemas/validation.ts'
import type { ApiKeys } from './api-keys.ts'
import { auditChanges } from './audit.ts'
import { futureTime } from '../future-time.ts'
import { assertSystemNameFree } from './stored-system.ts'
import { NewSourceSystem } from '../../schemas/company-inputs.ts'

/** Creates a source system. The operator's first one creates the company. Holds while name, key and company are new. */
export const createSourceSystem =
  (context: Context, apiKeys: ApiKeys): SourceSystems['create'] =>
  async (scope, input, options = {}) => {
    // The company need not exist yet.
    const entered = authorize(scope, 'A')
    validate(NewSourceSystem, input)
    const { companyId } = entered
    const { name, apiKey = generateKey(), permissions = 'U', expiresAt } = input
    return context.write({ scope: entered, options, operation: 'createSourceSystem', input }, async ({ now }) => {
      await assertSystemNameFree(context, companyId, name)
      await apiKeys.assertUnused(companyId, apiKey)
      const isNewCompany = scope.principal.kind === 'operator' && !(await companyExists(context, companyId))
      const record: SourceSystemRecord = {
        id: context.ids.next(),
        name,
        permissions,
        active: true,
        createdAt: now,
        mac: apiKeys.macOf(companyId, apiKey),
        ...(expiresAt !== undefined && { expiresAt: futureTime(expiresAt, now) }),
      }
      const generated = input.apiKey === undefined ? { apiKey } : {}
      const company = isNewCompany ? { createdAt: now, logSize: await context.records.logSize() } : undefined
      return decideCreate({ scope: entered, record, company, generated, auditId: context.ids.next() })
    })
  }

/** 256 random bits. */
const generateKey = (): string => randomBytes(32).toString('base64url')

interface CreateRequest {
  readonly scope: AuthorizedScope
  readonly record: SourceSystemRecord
  /** The operator's first source system of a company creates the company. */
  readonly company: CompanyRecord | undefined
  readonly generated: { readonly apiKey?: string }
  readonly auditId: string
}

/** The commit holds while name, key and company are new. */
function decideCreate({ scope: { companyId, actor }, record, company: newCompany, generated, auditId }: CreateRequest) {
  const { id, name, createdAt, mac, permissions, expiresAt } = record
  const nameKey = keys.sourceSystemName(companyId, name)
  const company = newCompany === undefined ? [] : [putRecord(keys.company(companyId), newCompany)]
  const values = { name, permissions, ...(expiresAt !== undefined && { expiresAt }) }
  const audit = auditChanges(companyId, [{ id: auditId, at: createdAt, type: 'created', actor, systemId: id, values }])
  return {
    commit: {
      checks: [...company.map(({ key }) => key), nameKey, keys.apiKey(mac)].map((key) => ({ key, version: null })),
      writes: [
        ...company,
        putRecord(keys.sourceSystem(companyId, id), record),
        ...systemEntries(companyId, record),
        ...audit.writes,
      ],
      adds: audit.adds,
    },
    result: { id, ...generated },
    // The generated key is returned only once.
    replayed: { id },
  } satisfies Decision<{ id: string; apiKey?: string }>
}

import type { CompanyId } from '../../api/scope.ts'
import { SourceSystemChange } from '../../schemas/company-inputs.ts'
import type { SourceSystems } from '../../api/source-systems.ts'
import { RegistryError } from '../../errors.ts'
import { systemEntries } from '../../store/derived.ts'
import { keys } from '../../store/keys.ts'
import { type Read } from '../../store/read.ts'
import { putRecord, derivedWrites } from '../../store/entries.ts'
import type { AuditChangeRecord, AuditedValues, ReplacedKey, SourceSystemRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { assertClearOrGiven, invalidInput, validate } from '../../schemas/validation.ts'
import type { Decision } from '../write.ts'
import type { ApiKeys } from './api-keys.ts'
import { auditChanges } from './audit.ts'
import { futureTime } from '../future-time.ts'
import { assertSystemNameFree, readSystem } from './stored-system.ts'

/** Replaced keys of one source system that may still work at the same time. */
const MAX_REPLACED_KEYS = 16

/** Changes a source system or replaces its key. Holds while it is as it was read, and a new name and key are free. */
export const updateSourceSystem =
  (context: Context, apiKeys: ApiKeys): SourceSystems['update'] =>
  async (scope, systemId, change) => {
    const { companyId, actor } = await enterCompany(context, scope, 'A')
    validate(IdToFind, systemId, 'systemId')
    validate(SourceSystemChange, change)
    assertComplete(change)
    assertClearOrGiven(change)
    const { apiKey } = change
    await context.write(undefined, async ({ now }) => {
      const system = await readSystem(context.records, companyId, systemId)
      const before = system.record
      const mac = apiKey === undefined ? before.mac : apiKeys.macOf(companyId, apiKey)
      const after = changedSystem(before, change, { mac, now })
      if (after.name !== before.name) await assertSystemNameFree(context, companyId, after.name)
      if (apiKey !== undefined && mac !== before.mac) await apiKeys.assertUnused(companyId, apiKey)
      const audit = auditRecords(before, after).map((record): AuditChangeRecord => ({
        id: context.ids.next(),
        at: now,
        actor,
        systemId: before.id,
        ...record,
      }))
      return decideUpdate(companyId, system, { after, audit })
    })
  }

function assertComplete({ apiKey, graceSeconds, ...values }: SourceSystemChange): void {
  if (graceSeconds !== undefined && apiKey === undefined)
    throw invalidInput('graceSeconds', 'requires apiKey: it is how long the key that apiKey replaces still works')
  if (apiKey === undefined && Object.values(values).every((value) => value === undefined))
    throw new RegistryError(
      'VALIDATION_ERROR',
      'Give something to change: apiKey, name, permissions, active, expiresAt or clear',
    )
}

function changedSystem(
  before: SourceSystemRecord,
  { apiKey, name, permissions, active, expiresAt, clear = [], graceSeconds = 0 }: SourceSystemChange,
  { mac, now }: { readonly mac: string; readonly now: number },
): SourceSystemRecord {
  const { replacedKeys: earlier = [], expiresAt: oldExpiry, ...unchanged } = before
  const working = earlier.filter(({ endsAt }) => endsAt > now)
  const endsAt = now + graceSeconds * 1_000
  const replacedKeys = apiKey === undefined ? working : replaceKey(working, { mac: before.mac, endsAt }, { mac, now })
  const newExpiry = expiresAt === undefined ? oldExpiry : futureTime(expiresAt, now)
  return {
    ...unchanged,
    mac,
    name: name ?? before.name,
    permissions: permissions ?? before.permissions,
    active: active ?? before.active,
    ...(newExpiry !== undefined && !clear.includes('expiresAt') && { expiresAt: newExpiry }),
    ...(replacedKeys.length > 0 && { replacedKeys }),
  }
}

/**
 * The replaced keys that still work after one more is replaced, by a key that may be the same one. Without a grace
 * period all of them end.
 */
function replaceKey(
  earlier: readonly ReplacedKey[],
  replaced: ReplacedKey,
  { mac, now }: { readonly mac: string; readonly now: number },
): readonly ReplacedKey[] {
  if (replaced.endsAt === now) return []
  if (replaced.mac === mac) return earlier
  if (earlier.length >= MAX_REPLACED_KEYS)
    throw invalidInput('graceSeconds', `must be 0, because ${earlier.length} replaced keys still work`)
  return [...earlier, replaced]
}

type AuditedUpdate = Pick<AuditChangeRecord, 'type' | 'values' | 'replacedKeyEndsAt'>

/** What the audit trail says about an update: nothing if nothing has changed. */
function auditRecords(before: SourceSystemRecord, after: SourceSystemRecord): readonly AuditedUpdate[] {
  const { name, permissions, active, expiresAt } = after
  const values: AuditedValues = {
    ...(name !== before.name && { name }),
    ...(permissions !== before.permissions && { permissions }),
    ...(active !== before.active && { active }),
    ...(expiresAt !== undefined && expiresAt !== before.expiresAt && { expiresAt }),
    ...(expiresAt === undefined && before.expiresAt !== undefined && { clear: ['expiresAt'] }),
  }
  const endsAt = after.replacedKeys?.find(({ mac }) => mac === before.mac)?.endsAt
  const rotation: AuditedUpdate = { type: 'rotated', ...(endsAt !== undefined && { replacedKeyEndsAt: endsAt }) }
  return [
    ...(Object.keys(values).length > 0 ? [{ type: 'changed', values } as const] : []),
    ...(after.mac === before.mac ? [] : [rotation]),
  ]
}

/** The commit holds while the source system is as it was read, and a new name and key are free. */
function decideUpdate(
  companyId: CompanyId,
  { record: before, check }: Read<SourceSystemRecord>,
  { after, audit }: { readonly after: SourceSystemRecord; readonly audit: readonly AuditChangeRecord[] },
): Decision<null> {
  const { name, mac } = after
  const newKeys = [
    ...(name === before.name ? [] : [keys.sourceSystemName(companyId, name)]),
    ...(mac === before.mac ? [] : [keys.apiKey(mac)]),
  ]
  const recorded = auditChanges(companyId, audit)
  return {
    commit: {
      checks: [check, ...newKeys.map((key) => ({ key, version: null }))],
      writes: [
        putRecord(keys.sourceSystem(companyId, after.id), after),
        ...derivedWrites(systemEntries(companyId, before), systemEntries(companyId, after)),
        ...recorded.writes,
      ],
      adds: recorded.adds,
    },
    result: null,
  }
}

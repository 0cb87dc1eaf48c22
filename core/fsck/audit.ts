import type { Entry } from '../ports/index.ts'
import { partsOfKey } from '../store/key.ts'
import { keys, type AuditKind } from '../store/keys.ts'
import type { AuditRecord } from '../store/records.ts'
import type { Check } from './check.ts'
import { expectCount } from './listings.ts'

/** Checks the audit trails: each entry, and the counter of each company. Holds two numbers for each company. */
export async function checkAudit(check: Check): Promise<void> {
  const counts = new Map<string, number>()
  for await (const page of check.pages(keys.allAudit()))
    for (const entry of page) {
      const { counter } = partsOfAudit(entry)
      counts.set(counter, (counts.get(counter) ?? 0) + 1)
      await checkEntry(check, entry)
    }
  for (const [counter, count] of counts) expectCount(check, counter, await check.get(counter), count)
  for await (const page of check.pages(keys.auditCounts()))
    for (const entry of page) if (!counts.has(entry.key)) expectCount(check, entry.key, entry, 0)
}

/** No other kind of entry is ever written. */
function partsOfAudit({ key }: Entry) {
  const [, kind = '', company = '', id = ''] = partsOfKey(key)
  return { company, id, counter: keys.auditCount(kind as AuditKind, company) }
}

async function checkEntry(check: Check, entry: Entry): Promise<void> {
  const { company, id } = partsOfAudit(entry)
  const record = check.decode<AuditRecord>('index', entry)
  if (record === undefined) return
  check.expect(record.id === id, 'index', entry.key, 'It is stored under another id')
  const hasCompany = (await check.get(keys.company(company))) !== undefined
  check.expect(hasCompany, 'index', entry.key, 'Its company is missing')
  const systemId = 'systemId' in record ? record.systemId : undefined
  if (systemId === undefined) return
  const hasSystem = (await check.get(keys.sourceSystem(company, systemId))) !== undefined
  check.expect(hasSystem, 'index', entry.key, `Its source system ${systemId} is missing`)
}

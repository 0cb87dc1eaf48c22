import type { Entry, Key } from '../ports/index.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { ApiKeyRecord, SourceSystemRecord } from '../store/records.ts'
import type { Check } from './check.ts'

/** Checks source systems, their API keys and their names. Holds one key for each source system. */
export async function checkSourceSystems(check: Check): Promise<void> {
  const apiKeys = new Set<Key>()
  for await (const page of check.pages(keys.allSourceSystems()))
    for (const entry of page) {
      const system = check.decode<SourceSystemRecord>('source system', entry)
      if (system === undefined) continue
      apiKeys.add(keys.apiKey(system.mac))
      await checkSourceSystem(check, entry.key, system)
      await checkApiKey(check, system)
    }
  for await (const page of check.pages(keys.apiKeys()))
    for (const { key } of page)
      check.expect(apiKeys.has(key), 'source system', key, 'It is not the key of a source system')
  for await (const page of check.pages(keys.allSourceSystemNames()))
    for (const entry of page) await checkName(check, entry)
}

async function checkSourceSystem(check: Check, key: Key, { id, name }: SourceSystemRecord): Promise<void> {
  const [, company = ''] = partsOfKey(key)
  check.expect(keys.sourceSystem(company, id) === key, 'source system', key, 'It is stored under another id')
  const hasCompany = (await check.get(keys.company(company))) !== undefined
  check.expect(hasCompany, 'source system', key, 'Its company is missing')
  const nameKey = keys.sourceSystemName(company, name)
  const index = await check.read<{ readonly id: string }>('index', nameKey)
  check.expect(index?.id === id, 'index', nameKey, `It does not refer to ${id}`)
}

async function checkApiKey(check: Check, { id, mac, active, permissions }: SourceSystemRecord): Promise<void> {
  const key = keys.apiKey(mac)
  const apiKey = await check.read<ApiKeyRecord>('source system', key)
  const isSame = apiKey?.systemId === id && apiKey.active === active && apiKey.permissions === permissions
  check.expect(isSame, 'source system', key, `It does not agree with its source system ${id}`)
}

async function checkName(check: Check, entry: Entry): Promise<void> {
  const [, company = ''] = partsOfKey(entry.key)
  const index = check.decode<{ readonly id: string }>('index', entry)
  const system = index && (await check.read<SourceSystemRecord>('source system', keys.sourceSystem(company, index.id)))
  const isRight = system !== undefined && keys.sourceSystemName(company, system.name) === entry.key
  check.expect(isRight, 'index', entry.key, 'It does not refer to a source system with this name')
}

import { isDeepStrictEqual } from 'node:util'
import type { Entry, Key } from '../ports/index.ts'
import { apiKeyRecords } from '../registry/company/stored-system.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import { encodeRecord } from '../store/record-codec.ts'
import type { ApiKeyRecord, LastUseRecord, NameRecord, SourceSystemRecord } from '../store/records.ts'
import { staleIf, type Check } from './check.ts'

/** Checks source systems, their API keys and their names. Holds one key for each source system. */
export async function checkSourceSystems(check: Check): Promise<void> {
  const apiKeys = new Set<Key>()
  for await (const page of check.pages(keys.allSourceSystems()))
    for (const entry of page) {
      const system = check.decode<SourceSystemRecord>('source system', entry)
      if (system === undefined) continue
      await checkSourceSystem(check, entry.key, system)
      for (const [mac, apiKey] of apiKeyRecords(system)) {
        apiKeys.add(keys.apiKey(mac))
        await checkApiKey(check, keys.apiKey(mac), apiKey)
      }
    }
  for await (const page of check.pages(keys.apiKeys()))
    for (const { key } of page)
      check.expect(apiKeys.has(key), 'source system', key, 'It is not the key of a source system')
  for await (const page of check.pages(keys.allSourceSystemNames()))
    for (const entry of page) await checkName(check, entry)
  for await (const page of check.pages(keys.allLastUses())) for (const entry of page) await checkLastUse(check, entry)
}

async function checkSourceSystem(check: Check, key: Key, { id, name }: SourceSystemRecord): Promise<void> {
  const [, company = ''] = partsOfKey(key)
  check.expect(keys.sourceSystem(company, id) === key, 'source system', key, 'It is stored under another id')
  const hasCompany = (await check.get(keys.company(company))) !== undefined
  check.expect(hasCompany, 'source system', key, 'Its company is missing')
  const nameKey = keys.sourceSystemName(company, name)
  const index = await check.read<{ readonly id: string }>('index', nameKey)
  const message = `It does not refer to ${id}`
  const repair = encodeRecord({ id } satisfies NameRecord)
  check.expectDerived(index?.id === id, { kind: 'index', key: nameKey, message, repair })
}

async function checkApiKey(check: Check, key: Key, expected: ApiKeyRecord): Promise<void> {
  const apiKey = await check.read<ApiKeyRecord>('source system', key)
  const isSame = isDeepStrictEqual(apiKey, expected)
  const message = `It does not agree with its source system ${expected.systemId}`
  check.expectDerived(isSame, { kind: 'source system', key, message, repair: encodeRecord(expected) })
}

async function checkLastUse(check: Check, entry: Entry): Promise<void> {
  check.decode<LastUseRecord>('index', entry)
  const [, company = '', id = ''] = partsOfKey(entry.key)
  const hasSystem = (await check.get(keys.sourceSystem(company, id))) !== undefined
  check.expect(hasSystem, 'index', entry.key, 'Its source system is missing')
}

async function checkName(check: Check, entry: Entry): Promise<void> {
  const [, company = ''] = partsOfKey(entry.key)
  const index = check.decode<{ readonly id: string }>('index', entry)
  const system = index && (await check.read<SourceSystemRecord>('source system', keys.sourceSystem(company, index.id)))
  const isRight = system !== undefined && keys.sourceSystemName(company, system.name) === entry.key
  const message = 'It does not refer to a source system with this name'
  check.expectDerived(isRight, { kind: 'index', key: entry.key, message, repair: staleIf(system) })
}

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { encodeRecords, fillStore, repairRecords, RepairPlanner, type Difference } from '../../../core/ops/index.ts'
import { differenceKindOf, isOfDerived } from '../../../core/ops/check/families.ts'
import type { Key, RecordStore, Write } from '../../../core/ports/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { DamagedValueError } from '../../../core/store/checksum.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'
import { differencesIn, entriesOf } from '../../support/whole-store.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** Families that can be damaged without a difference in another record. */
const INDEPENDENT = new Set(['op', 'bi', 'bd', 'ik', 'au', 'lu'])
const familyOf = (key: Key): string => key.slice(0, 2)

const contentsOf = async (records: RecordStore): Promise<readonly string[]> =>
  (await entriesOf(records)).map(({ key, value }) => `${key} ${Buffer.from(value).toString('hex')}`)

/** The store as if the stored bytes of one record were damaged, until it is written. */
function withDamage(records: RecordStore, key: Key): RecordStore {
  let isDamaged = true
  return decorateRecords(records, {
    get: async (keys) => {
      if (isDamaged && keys.includes(key)) throw new DamagedValueError(key)
      return records.get(keys)
    },
    list: async function* (range) {
      for await (const entry of records.list(range)) {
        if (isDamaged && entry.key === key) throw new DamagedValueError(key)
        yield entry
      }
    },
    commit: async (commit) => {
      if (commit.writes?.some((write) => write.key === key) === true) isDamaged = false
      return records.commit(commit)
    },
  })
}

function planRepair(differences: readonly Difference[], maxWrites?: number) {
  const planner = new RepairPlanner(maxWrites)
  for (const difference of differences) planner.add(difference)
  return planner.plan
}

describe('the repair of a store', () => {
  const sealed = ofSuite(openFilledRegistry)
  before(async () => {
    const { registry, scope } = sealed()
    await registry.categories.create(scope, { name: 'Made once' }, { idempotencyKey: 'once' })
  })

  async function copyOfStore(): Promise<MemoryRecords> {
    const to = new MemoryRecords()
    await fillStore(encodeRecords(sealed().records), to)
    return to
  }

  async function assertRepaired(store: RecordStore, expected: readonly string[], name: string): Promise<void> {
    let found = await differencesIn({ records: store, secret: sealed().secret })
    assert.ok(found.length > 0, `${name} is not noticed`)
    // The counters follow the indexes.
    for (let round = 0; round < 2 && found.length > 0; round += 1) {
      const plan = planRepair(found)
      assert.equal(plan.blocking, 0, name)
      await repairRecords(store, plan)
      found = await differencesIn({ records: store, secret: sealed().secret })
    }
    assert.deepEqual(found, [], name)
    assert.deepEqual(await contentsOf(store), expected, name)
  }

  it('restores every derived record that was deleted, changed, damaged, or added', async () => {
    const expected = await contentsOf(await copyOfStore())
    const families = new Set<string>()
    for (const { key, value } of await entriesOf(sealed().records)) {
      const family = familyOf(key)
      if (!isOfDerived(differenceKindOf(key))) continue
      const isFirst = !families.has(family)
      families.add(family)
      const deleted = await copyOfStore()
      await deleted.commit({ writes: [{ key, value: null }] })
      const isCounterOfNothing = value.length === 8 && value.every((byte) => byte === 0)
      if (!isCounterOfNothing) await assertRepaired(deleted, expected, `${key} deleted`)
      if (!isFirst) continue
      await assertRepaired(withDamage(await copyOfStore(), key), expected, `${key} damaged`)
    }
    assert.ok(families.size >= 18, [...families].join())
  })

  it('removes index entries that belong to nothing', async () => {
    const expected = await contentsOf(await copyOfStore())
    for (const family of ['bx', 'br', 'ie', 'ex', 'ep', 'el', 'cn', 'sn']) {
      const store = await copyOfStore()
      const [entry] = (await entriesOf(store)).filter(({ key }) => familyOf(key) === family)
      assert.ok(entry, family)
      await store.commit({ writes: [{ key: `${entry.key}0`, value: entry.value }] })
      await assertRepaired(store, expected, `${family} added`)
    }
  })

  it('writes nothing if a record from which others follow is damaged or missing', async () => {
    const seen = new Set<string>()
    for (const { key } of await entriesOf(sealed().records)) {
      const family = familyOf(key)
      if (isOfDerived(differenceKindOf(key)) || INDEPENDENT.has(family) || seen.has(family)) continue
      seen.add(family)
      for (const [name, store] of [
        ['damaged', withDamage(await copyOfStore(), key)],
        ['deleted', await without(await copyOfStore(), key)],
      ] as const) {
        const found = await differencesIn({ records: store, secret: sealed().secret })
        const { blocking, writes } = planRepair(found)
        // Stamps, anchors and companies say nothing about indexes.
        if (['st', 'sp', 'te', 'an', 'ac', 'ah'].includes(family)) assert.deepEqual(writes, [], `${key} ${name}`)
        else assert.ok(blocking > 0 || writes.length === 0, `${key} ${name}`)
      }
    }
    assert.ok(seen.size >= 10, [...seen].join())
  })

  const without = async (store: MemoryRecords, key: Key): Promise<RecordStore> => {
    await store.commit({ writes: [{ key, value: null }] })
    return store
  }

  it('keeps what belongs somewhere if another check would delete it', () => {
    const difference = { kind: 'index', key: 'ex/a', message: '' } as const
    const right = new Uint8Array([1])
    const expected: readonly Write[] = [{ key: 'ex/a', value: right }]
    for (const repairs of [
      [null, right],
      [right, null],
    ])
      assert.deepEqual(planRepair(repairs.map((repair) => ({ ...difference, repair }))).writes, expected)
  })

  it('plans as many writes as memory allows, and the rest after the next check', async () => {
    const expected = await contentsOf(await copyOfStore())
    const store = await copyOfStore()
    for (const { key } of (await entriesOf(store)).filter(({ key: each }) => /^(el|wo)\//.test(each)))
      await store.commit({ writes: [{ key, value: null }] })
    const numbers: number[] = []
    for (let found = await differencesIn({ records: store, secret: sealed().secret }); found.length > 0;) {
      const plan = planRepair(found, 3)
      numbers.push(plan.writes.length)
      await repairRecords(store, plan)
      found = await differencesIn({ records: store, secret: sealed().secret })
    }
    assert.ok(numbers.length > 2 && numbers.every((number) => number <= 3), numbers.join())
    assert.deepEqual(await contentsOf(store), expected)
  })
})

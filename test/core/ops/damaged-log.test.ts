import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { BY_TEXT, ENTRY_ROWS, PAYLOAD_ROWS, positionKey, rowKey } from '../../../adapters/level/layout.ts'
import { LevelRecords } from '../../../adapters/level/index.ts'
import { RegistryError, type RecordStore } from '../../../core/index.ts'
import type { Difference } from '../../../core/ops/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { keys } from '../../../core/store/keys.ts'
import { differencesIn } from '../../support/whole-store.ts'
import { openFixture } from '../../support/registry-fixture.ts'

interface Fixture {
  readonly records: RecordStore
  /** Flips a bit in what the database has stored under each key with this beginning. Returns how many keys it has. */
  readonly damage: (beginning: string) => Promise<number>
}

/** A registry in LevelDB's layout with 301 log entries, of which the first 300 are sealed. */
async function openDamageable(t: TestContext): Promise<Fixture> {
  const db = new MemoryLevel<string, Uint8Array>({ valueEncoding: 'view' })
  const records = await LevelRecords.open(db)
  const { registry, scope } = await openFixture({ t, registry: { records } })
  const { id: categoryId } = await registry.categories.create(scope, { name: 'Tools' })
  const { id: subcategoryId } = await registry.categories.create(scope, { name: 'Drills' }, { parent: categoryId })
  const create = (externalIds: readonly string[]): Promise<unknown> =>
    registry.evidences.createMany(scope, {
      categoryId,
      subcategoryId,
      evidences: externalIds.map((externalId) => ({ externalId, name: 'Drill' })),
    })
  await create(Array.from({ length: 299 }, (_, i) => `sealed ${i}`))
  await registry.sealNow()
  await create(['not sealed'])
  const damage = async (beginning: string): Promise<number> => {
    const entries = await db.iterator({ ...BY_TEXT, gte: beginning, lt: `${beginning}\x7f` }).all()
    for (const [key, value] of entries) {
      const changed = value.slice()
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
      await db.put(key, changed, BY_TEXT)
    }
    return entries.length
  }
  return { records, damage }
}

const kindAndKey = ({ kind, key }: Difference): string => `${kind} ${key}`

/** Any record that a complete check reports, far from the log. */
const STRAY = keys.externalId('acme', 'stray')
const addStray = (records: RecordStore): Promise<unknown> =>
  records.commit({ writes: [{ key: STRAY, value: new TextEncoder().encode('{"evidence":"x"}') }] })

describe('fsck of a damaged log', () => {
  it('reports rows of entries, checks the tree with the full tiles, and goes on', async (t) => {
    const { records, damage } = await openDamageable(t)
    assert.deepEqual(await differencesIn({ records }), [])
    await addStray(records)
    assert.ok((await damage(ENTRY_ROWS)) >= 2)
    const differences = (await differencesIn({ records })).map(kindAndKey)
    assert.deepEqual(differences, ['entry log/0', 'entry log/256', `index ${STRAY}`])
  })

  it('reports a damaged tile over damaged rows, and no record above it', async (t) => {
    const { records, damage } = await openDamageable(t)
    await addStray(records)
    await damage(ENTRY_ROWS)
    await records.commit({ writes: [{ key: logKeys.tile(0, 0), value: null }] })
    const differences = (await differencesIn({ records })).map(kindAndKey)
    assert.deepEqual(differences, ['entry log/0', 'entry log/256', `index ${STRAY}`])
  })

  it('reports tiles that do not fit the roots, if the rows below them are damaged', async (t) => {
    const { records, damage } = await openDamageable(t)
    await damage(rowKey(ENTRY_ROWS, 0))
    const [tile] = await records.get([logKeys.tile(0, 0)])
    const changed = tile?.value.slice() ?? new Uint8Array()
    changed[0] = (changed[0] ?? 0) ^ 1
    await records.commit({ writes: [{ key: logKeys.tile(0, 0), value: changed }] })
    const kinds = new Set((await differencesIn({ records })).map(({ kind }) => kind))
    assert.ok(kinds.has('batch') && kinds.has('tile'), [...kinds].join())
  })

  it('reports a damaged position of an entry, and goes on', async (t) => {
    const { records, damage } = await openDamageable(t)
    await addStray(records)
    const entry = (await records.readLog(5, 1)).slice()
    assert.equal(await damage(positionKey(entry)), 1)
    const differences = (await differencesIn({ records })).map(kindAndKey)
    assert.ok(differences.includes(`entry entry/${Buffer.from(entry).toString('hex')}`), differences.join())
    assert.ok(differences.includes('entry log/5') && differences.includes(`index ${STRAY}`), differences.join())
    assert.ok(!differences.includes('entry log/4') && !differences.includes('entry log/6'), differences.join())
  })

  it('reports damaged rows of payloads, and goes on', async (t) => {
    const { records, damage } = await openDamageable(t)
    await addStray(records)
    assert.ok((await damage(PAYLOAD_ROWS)) >= 2)
    const differences = (await differencesIn({ records })).map(kindAndKey)
    for (const expected of ['entry log/0', 'entry log/256', `index ${STRAY}`])
      assert.ok(differences.includes(expected), expected)
  })

  it('ends if the store cannot be reached', async (t) => {
    const { records } = await openDamageable(t)
    const error = new RegistryError('UNAVAILABLE', 'the database is away')
    for (const method of ['readLog', 'positionsOf'] as const) {
      const failing = decorateRecords(records, {
        [method]: async () => {
          throw error
        },
      })
      await assert.rejects(differencesIn({ records: failing }), error)
    }
  })
})

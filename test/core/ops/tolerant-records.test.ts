import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { tolerantRecords } from '../../../core/ops/check/damage.ts'
import { damagedValue } from '../../../core/store/checksum.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { arrayOf } from '../../support/array-of.ts'

const DAMAGED = 'k/2'

it('a listing goes on behind a damaged record in both directions, and counts what it returns', async () => {
  const records = new MemoryRecords()
  await records.commit({ writes: ['k/1', DAMAGED, 'k/3', 'k/4'].map((key) => ({ key, value: new Uint8Array([1]) })) })
  const damaged = decorateRecords(records, {
    async *list(range) {
      for await (const entry of records.list(range)) {
        if (entry.key === DAMAGED) throw damagedValue(DAMAGED)
        yield entry
      }
    },
  })
  const found: string[] = []
  const tolerant = tolerantRecords(damaged, {
    onDamaged: (key) => found.push(key),
    onDamagedPosition: () => assert.fail(),
    onBytes: () => undefined,
  })
  const range = { gte: 'k/', lt: 'k0' }
  const keysOf = async (options: { readonly reverse?: boolean; readonly limit?: number }): Promise<readonly string[]> =>
    (await arrayOf(tolerant.list({ ...range, ...options }))).map(({ key }) => key)
  assert.deepEqual(await keysOf({}), ['k/1', 'k/3', 'k/4'])
  assert.deepEqual(await keysOf({ reverse: true }), ['k/4', 'k/3', 'k/1'])
  assert.deepEqual(await keysOf({ limit: 2 }), ['k/1', 'k/3'])
  assert.deepEqual(found, [DAMAGED, DAMAGED, DAMAGED])
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords } from '../../../adapters/level/index.ts'

it('writes every batch with sync: true, which a killed process would not show', async () => {
  const db = new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })
  const options: unknown[] = []
  const batch = db.batch.bind(db)
  const spied = (...args: readonly unknown[]): unknown => {
    if (args.length > 0) options.push(args[1])
    const chained = (batch as (...each: readonly unknown[]) => unknown)(...args)
    if (args.length > 0) return chained
    const chain = chained as { write(options?: object): Promise<void> }
    const write = chain.write.bind(chain)
    chain.write = async (given) => {
      options.push(given)
      await write(given)
    }
    return chain
  }
  Object.assign(db, { batch: spied, put: unexpected, del: unexpected })
  const store = await LevelRecords.open(db)
  const writes = Array.from({ length: 20 }, (_, i) => ({ key: `key/${i}`, value: new Uint8Array([i]) }))
  await Promise.all(writes.map((write) => store.commit({ writes: [write], append: [] })))
  await store.commit({ writes: [{ key: 'key/0', value: null }], adds: [{ key: 'count', delta: 1 }] })
  await store.close()
  // The head of a new store, and at least two groups of commits.
  assert.ok(options.length >= 3, `${options.length}`)
  for (const each of options) assert.deepEqual(each, { sync: true })
})

function unexpected(): never {
  throw new Error('A write that is not part of a batch')
}

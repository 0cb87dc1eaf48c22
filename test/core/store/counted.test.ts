import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { listCounted } from '../../../core/store/counted.ts'
import { readCount } from '../../../core/store/counter.ts'
import { keysUnder, recordKey } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const NOTHING = new Uint8Array()

/** A list whose entries are counted. `beforeRead` runs between the counter and the list. */
function listWith(beforeRead: (add: () => Promise<unknown>, reads: number) => Promise<unknown>) {
  const records = new MemoryRecords()
  let [added, reads] = [0, 0]
  const add = () =>
    records.commit({
      writes: [{ key: recordKey('el', 'a', String(added++)), value: NOTHING }],
      adds: [{ key: 'ec/a', delta: 1 }],
    })
  const read = async () => {
    await beforeRead(add, (reads += 1))
    return listEntries(records, keysUnder('el/a'))
  }
  const count = () => readCount(records, ['ec/a'])
  return { records, add, list: () => listCounted({ name: 'It', count, read }), reads: () => reads }
}

describe('a counted list', () => {
  it('is read again if it was changed behind the counter', async () => {
    const { list, reads } = listWith(async (add, n) => n <= 2 && add())
    assert.deepEqual([(await list()).entries.length, reads()], [2, 3])
  })

  it('is read a limited number of times if it changes each time', async () => {
    const { list, reads } = listWith(async (add) => add())
    assert.deepEqual([(await list()).entries.length, reads()], [4, 4])
  })

  it('is damaged if its counter stays the same, with fewer entries and with more', async () => {
    const { records, add, list } = listWith(async () => undefined)
    await add()
    await records.commit({ writes: [{ key: 'el/a/x', value: NOTHING }] })
    await rejectsWith('CORRUPT', list())
    for (const key of ['el/a/0', 'el/a/x']) await records.commit({ writes: [{ key, value: null }] })
    await rejectsWith('CORRUPT', list())
  })
})

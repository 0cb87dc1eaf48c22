import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemorySlots } from '../../../core/verify/index.ts'
import { MonitorDirectory } from '../../../server/commands/monitor-directory.ts'
import { temporaryFor } from '../../support/temporary.ts'

const at = (slot: number, position: number) => ({ slot: Buffer.alloc(32, slot), position })

for (const kind of ['memory', 'a directory'] as const)
  it(`slots in ${kind} show those that another position has, also after some were forgotten`, async (t) => {
    const path = await temporaryFor(t)
    const open = async () => (kind === 'memory' ? new MemorySlots() : await MonitorDirectory.open(path))
    const slots = await open()
    assert.deepEqual(await slots.add([at(1, 3), at(2, 4)]), [])
    const later = kind === 'memory' ? slots : await open()
    // The same ones, as after a round that ended before its state was saved.
    assert.deepEqual(await later.add([at(1, 3), at(2, 4)]), [])
    assert.deepEqual(await later.add([at(1, 7)]), [at(1, 7)])
    assert.deepEqual(await later.add([at(1, 3)]), [], 'the first position stays')
    await later.forgetFrom(4)
    assert.deepEqual([await later.has(at(1, 3).slot), await later.has(at(2, 4).slot)], [true, false])
    assert.deepEqual(await later.add([at(2, 9)]), [])
  })

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { concatBytes, sha256Of, u64 } from '../../../core/bytes.ts'
import { MemorySlots } from '../../../core/verify/index.ts'
import { MonitorDirectory } from '../../../server/commands/monitor-directory.ts'
import { temporaryFor } from '../../support/temporary.ts'

/** The events of some positions, at others. Many slots begin with the same byte. */
function slotsOf(from: number, to: number, shift = 0): Uint8Array {
  const records = Array.from({ length: to - from }, (_, i) => {
    const slot = sha256Of(u64(from + i))
    return Uint8Array.of((slot[0] ?? 0) % 3, ...slot.subarray(1), ...u64(from + i + shift))
  })
  return concatBytes(...records)
}

it('the directory of a monitor holds the same slots as memory does, sorted, 40 bytes each', async (t) => {
  const path = await temporaryFor(t)
  const [memory, kept] = [new MemorySlots(), await MonitorDirectory.open(path)]
  const twice = concatBytes(slotsOf(500, 501), slotsOf(500, 501, 1))
  const parts = [slotsOf(0, 100), slotsOf(50, 200), new Uint8Array(), slotsOf(20, 30, 1_000), twice]
  for (const [i, records] of parts.entries()) {
    const taken = new Set(await memory.add(records))
    assert.deepEqual([new Set(await kept.add(records)), taken.size], [taken, [0, 0, 0, 10, 1][i]])
  }
  await kept.forgetFrom(150)
  const opened = await MonitorDirectory.open(path)
  for (const at of [0, 1, 75, 149, 150, 199, 500])
    assert.equal(await opened.has(slotsOf(at, at + 1).subarray(0, 32)), at < 150, String(at))
  const files = (await readdir(join(path, 'slots'))).toSorted()
  const contents = await Promise.all(files.map((name) => readFile(join(path, 'slots', name), 'hex')))
  const records = contents.flatMap((hex) => hex.match(/.{80}/g) ?? [])
  assert.deepEqual([files, records.length], [['00', '01', '02'], 150])
  assert.deepEqual(records, records.toSorted())
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { encodeLog } from '../../../adapters/level/log-format.ts'
import { liveFiles } from '../../../adapters/level/manifest.ts'

it('a manifest counts up to its first damage', () => {
  // Adds a table of 9 bytes to level 0, with empty texts as its first and last key.
  const added = (table: number): Uint8Array => Uint8Array.of(7, 0, table, 9, 0, 0)
  const manifest = encodeLog([added(1), added(2), added(3)])
  assert.deepEqual([...liveFiles(manifest).tables.keys()], [1, 2, 3])
  const second = manifest.length / 3
  manifest[second + 9] = 8
  assert.deepEqual([...liveFiles(manifest).tables.keys()], [1])
})

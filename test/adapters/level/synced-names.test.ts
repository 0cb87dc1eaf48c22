import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { recordCalls } from '../../support/recorded-calls.ts'
import { temporaryFor } from '../../support/temporary.ts'

it('makes its folders and the files of LevelDB durable before it gives up the second names of an open', async (t) => {
  const root = await temporaryFor(t)
  const calls = recordCalls(t, root)
  const store = await openLevelRecords(join(root, 'data', 'records'))
  await store.close()
  const released = calls.indexOf('rename data/records/links.released')
  assert.ok(released > 0, calls.join('\n'))
  // The name of `data`, of `records` and of `db`, and the names in `db`.
  for (const folder of ['.', 'data', 'data/records', 'data/records/db'])
    assert.ok(calls.slice(0, released).includes(`sync ${folder}`), `${folder} was not synced: ${calls.join(', ')}`)
  const linked = calls.indexOf('rename data/records/links')
  assert.ok(calls.slice(0, linked).includes('sync data/records/links.making'), 'the links appear complete')
  // Else they could come back after a power loss, and not all of them.
  const [afterwards] = calls.slice(released + 1)
  assert.equal(afterwards, 'sync data/records')
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createClient } from '../../../server/client/index.ts'
import { openLogSource } from '../../../server/commands/monitor-source.ts'

it('a tile that cannot be read fails in its turn, behind what was read before it', async () => {
  const registry = createClient({
    baseUrl: 'http://127.0.0.1/api/v1',
    async fetch(url) {
      if (!url.endsWith('/000')) return new Response('{}', { status: 404 })
      // By then the others have failed.
      for (let turn = 0; turn < 50; turn++) await nextTurn()
      return new Response('00\n'.repeat(256))
    },
  })
  const openings = openLogSource(registry).openings(0, 3 * 256)
  const parts = openings[Symbol.asyncIterator]()
  assert.equal((await parts.next()).value?.length, 256)
  await assert.rejects(parts.next(), { status: 404 })
})

import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { it } from 'node:test'
import Koa from 'koa'
import { readMultipart, type Stage } from '../../../server/http/form.ts'
import { MemoryBudget } from '../../../server/http/memory-budget.ts'
import { MULTIPART, part } from '../../support/raw-http.ts'

it('a form that fails ends when none of its files is being stored any more, so that each can be discarded', async () => {
  const req = new IncomingMessage(new Socket())
  Object.assign(req, { method: 'POST', headers: { 'content-type': MULTIPART, 'transfer-encoding': 'chunked' } })
  const files = ['images', 'others'].map((name) => part(name, 'x', { filename: 'a.bin' }))
  req.push(files.join(part('__proto__', 'x')))
  const memory = new MemoryBudget(1_000_000).reserve({ name: 'acme', hasKey: true })
  let [isStored, stages] = [false, 0]
  const stage: Stage = async ({ body }) => {
    assert.ok(body instanceof Readable)
    stages++
    await finished(body).catch(() => undefined)
    await nextTurn()
    isStored = true
    throw new Error('It ended before it was read')
  }
  const reading = readMultipart(new Koa().createContext(req, new ServerResponse(req)), {
    slots: [{ name: 'images' }, { name: 'others' }],
    limits: { pace: { idleMs: 300_000, minBytesPerSecond: 0 }, memory, maxBytes: 1_000, tooLarge: 'too large' },
    stage,
    maxFileBytes: 1_000,
    maxFilesPerRequest: 2,
    isText: () => false,
  })
  await assert.rejects(reading, { code: 'VALIDATION_ERROR' })
  assert.deepEqual([isStored, stages], [true, 1], 'what comes after the failure is not stored')
})

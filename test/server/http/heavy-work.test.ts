import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decorateRecords } from '../../../core/store/decorate-records.ts'
import { HeavyWork } from '../../../server/http/heavy-work.ts'
import { HttpError } from '../../../server/http/errors.ts'
import { startService } from '../../support/service.ts'

describe('HeavyWork', () => {
  const isOverloaded = (error: unknown): boolean => error instanceof HttpError && error.code === 'OVERLOADED'
  const pause = () => new Promise((resolve) => setImmediate(resolve))

  it('makes four results at a time, of which one sender has three, with a pause between them', async () => {
    const work = new HeavyWork()
    const running = new Map<string, () => void>()
    const run = (name: string): Promise<string> =>
      work.run(name.slice(0, 1), () => new Promise((resolve) => running.set(name, () => resolve(name))))
    const results = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map(run)
    await pause()
    await pause()
    assert.deepEqual([...running.keys()].toSorted(), ['a1', 'a2', 'a3', 'b1'])
    running.get('a1')?.()
    assert.equal(await results[0], 'a1')
    assert.ok(!running.has('a4'), 'it begins after a pause')
    await pause()
    await pause()
    assert.deepEqual([...running.keys()].toSorted(), ['a1', 'a2', 'a3', 'a4', 'b1'])
    for (const name of ['a2', 'a3', 'a4', 'b1']) running.get(name)?.()
    await pause()
    await pause()
    running.get('b2')?.()
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'])
  })

  it('gives the turn of a failed one to the next, and rejects one whose turn does not come', async (t) => {
    const work = new HeavyWork()
    const failing = () => work.run('a', () => Promise.reject(new Error('failed')))
    for (let i = 0; i < 5; i++) await assert.rejects(failing(), /failed/)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    for (let i = 0; i < 3; i++) void work.run('a', () => new Promise(() => undefined))
    const late = assert.rejects(
      work.run('a', async () => undefined),
      isOverloaded,
    )
    t.mock.timers.tick(10_000)
    await late
  })
})

describe('a service whose clients request many long results', () => {
  it('makes three of one key at a time, and reads nothing for those that wait', async () => {
    let held = 0
    let release = (): void => undefined
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const service = await startService({
      sealMaxWaitMs: 3_600_000,
      wrapRecords: (inner) =>
        decorateRecords(inner, {
          async get(keys) {
            if (keys.some((key) => key.startsWith('ex/'))) {
              held++
              await isReleased
            }
            return inner.get(keys)
          },
        }),
    })
    try {
      const { keys } = await service.company('acme')
      const read = (key: string) =>
        service.fetch('/api/v1/evidences/acme/evidence/none?len=500', { headers: { 'x-api-key': key } })
      const metric = async (line: string) => (await (await service.fetch('/metrics')).text()).includes(`\n${line}\n`)
      const requests = Array.from({ length: 6 }, () => read(keys.R))
      await service.until(() => metric('evidence_requests_running{class="lists"} 6'), 'all have a turn')
      await service.until(() => held === 3, 'three are made')
      requests.push(read(keys.U))
      await service.until(() => held === 4, 'that of another key is made')
      release()
      for (const { status } of await Promise.all(requests)) assert.equal(status, 404)
      assert.equal(held, 7)
    } finally {
      release()
      await service.close()
    }
  })
})

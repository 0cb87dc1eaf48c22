import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { before, describe, it } from 'node:test'
import { RegistryError } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { listEntries } from '../../../core/store/read.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { logIncompleteResponse } from '../../../server/http/observe.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { startService } from '../../support/service.ts'

/** More than the first page of a whole list has. */
const COUNT = 200

describe('a list that fails after its first page', () => {
  /** What the page after the first one fails with. */
  let failure: Error | undefined
  /** What it waits for. */
  let held: Promise<void> | undefined
  const { logger, lines } = recordingLogger()
  const linesOf = (requestId: string) => lines.filter((line) => line['requestId'] === requestId)

  const service = ofSuite(() =>
    startService({
      logger,
      sealMaxWaitMs: 3_600_000,
      wrapRecords: (records) =>
        decorateRecords(records, {
          list(range) {
            // Only the pages after the first one have this length.
            if (range.limit !== 501) return records.list(range)
            if (failure !== undefined) throw failure
            return held === undefined ? records.list(range) : listAfter(held, records.list(range))
          },
        }),
    }),
  )
  const company = ofSuite(() => service().company('acme'))
  before(() => service().fill('acme', COUNT))

  /** Reads a whole list until the connection breaks off, and the lines of its request are logged. */
  async function cutOff(requestId: string, error?: Error): Promise<void> {
    failure = error
    const headers = { 'x-api-key': company().keys.R, 'x-request-id': requestId }
    const request = get(`${service().url}/api/v1/evidences/acme/evidences`, { headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    await assert.rejects(response.toArray(), /aborted/)
    await service().until(() => linesOf(requestId).some(({ level }) => level === 'info'), 'the request is logged')
    failure = undefined
  }

  for (const [what, error, code] of [
    ['damage', new RegistryError('CORRUPT', 'A page is damaged'), 'CORRUPT'],
    ['a defect of the server', new TypeError('This is a defect'), 'INTERNAL'],
  ] as const)
    it(`is logged once as an error, with the request id and its code: ${what}`, async () => {
      await cutOff(`cut-${code}`, error)
      const [failed, ...others] = linesOf(`cut-${code}`).filter(({ level }) => level === 'error')
      assert.deepEqual(
        [failed?.['err'], failed?.['code'], failed?.message, others],
        [error, code, 'a response was cut off', []],
      )
      const request = linesOf(`cut-${code}`).find(({ level }) => level === 'info')
      assert.deepEqual([request?.['status'], request?.['aborted'], request?.['code']], [200, true, code])
    })

  it('is damaged if its pages together have fewer evidences than were counted', async () => {
    const [lost] = await listEntries(service().records, keys.evidences())
    assert.ok(lost)
    await service().records.commit({ writes: [{ key: lost.key, value: null }] })
    await cutOff('fewer')
    assert.equal(linesOf('fewer').find(({ level }) => level === 'error')?.['code'], 'CORRUPT')
    await service().records.commit({ writes: [lost] })
  })

  it('is not an error if the client disconnects', async () => {
    const headers = { 'x-api-key': company().keys.R, 'x-request-id': 'gone' }
    const request = get(`${service().url}/api/v1/evidences/acme/evidences`, { headers, agent: false })
    let release = (): void => undefined
    request.once('response', () => request.destroy())
    held = new Promise((resolve) => (release = resolve))
    await service().until(() => linesOf('gone').some(({ message }) => message === 'request'), 'the request is logged')
    release()
    held = undefined
    await service().until(() => linesOf('gone').some(({ level }) => level === 'debug'), 'the disconnect is logged')
    const unexpected = linesOf('gone').filter(({ level }) => level === 'error')
    assert.deepEqual(unexpected, [])
  })
})

it('what follows a request and is not HTTP is not an error of the server', () => {
  const { logger, lines } = recordingLogger()
  for (const code of ['HPE_INVALID_EOF_STATE', 'HPE_INVALID_METHOD', 'ERR_HTTP_REQUEST_TIMEOUT', 'EIO'])
    logIncompleteResponse(Object.assign(new Error('Parse Error'), { code }), { state: {} }, logger)
  const levels = lines.map(({ level }) => level)
  assert.deepEqual(levels, ['debug', 'debug', 'debug', 'error'])
})

async function* listAfter<T>(held: Promise<void>, entries: AsyncIterable<T>): AsyncGenerator<T> {
  await held
  yield* entries
}

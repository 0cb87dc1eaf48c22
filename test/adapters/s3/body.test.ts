import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { objectBody } from '../../../adapters/s3/body.ts'
import { assertSame, collect, rejectsWith } from '../../contract/index.ts'

const BYTES = Buffer.from('0123456789abcdefghij')

interface Connection {
  /** What the connection yields. Default: all bytes. */
  readonly bytes?: Uint8Array
  /** How it then ends. Default: without an error. */
  readonly error?: Error
  readonly size?: number
  readonly signal?: AbortSignal
}

function bodyOf({ bytes = BYTES, error, size = BYTES.length, signal }: Connection) {
  let isRead = false
  const stream = new Readable({
    read() {
      if (!isRead && bytes.length > 0) this.push(bytes)
      else if (error !== undefined) this.destroy(error)
      else this.push(null)
      isRead = true
    },
  })
  stream.on('error', () => undefined)
  const log = { stream, released: 0 }
  const onRelease = (): void => {
    log.released += 1
  }
  return { body: objectBody(stream, { size, signal, onRelease }), log }
}

describe('the body of an object', () => {
  test('yields all bytes, and then closes its connection', async () => {
    const { body, log } = bodyOf({})
    assertSame(await collect(body), BYTES)
    assert.ok(log.stream.destroyed)
    assert.equal(log.released, 1)
  })

  test('is UNAVAILABLE and never shorter if the connection breaks or ends early', async () => {
    const error = new Error('reset by peer')
    for (const connection of [{ error }, { bytes: BYTES.subarray(0, 7), error }, { bytes: BYTES.subarray(0, 7) }]) {
      const { body, log } = bodyOf({ ...connection, size: BYTES.length + 1 })
      await rejectsWith('UNAVAILABLE', collect(body))
      assert.deepEqual(await body.next(), { done: true, value: undefined })
      assert.equal(log.released, 1)
    }
  })

  test('is CORRUPT if there are more bytes than the object has', async () => {
    const { body, log } = bodyOf({ size: 5 })
    await rejectsWith('CORRUPT', collect(body))
    assert.equal(log.released, 1)
  })

  test('closes its connection on return, on an abort also before the first read, and if it is empty', async () => {
    const returned = bodyOf({})
    await returned.body.return()
    await returned.body.return()
    const controller = new AbortController()
    const aborted = bodyOf({ signal: controller.signal })
    controller.abort(new Error('the client disconnected'))
    await assert.rejects(collect(aborted.body), /the client disconnected/)
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
    const empty = bodyOf({ size: 0 })
    const late = bodyOf({ signal: controller.signal })
    for (const { log } of [returned, aborted, empty, late]) {
      assert.equal(log.released, 1)
      assert.ok(log.stream.destroyed)
    }
    assertSame(await collect(empty.body), new Uint8Array())
  })
})

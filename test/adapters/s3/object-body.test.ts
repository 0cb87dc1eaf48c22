import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { ObjectBody } from '../../../adapters/s3/object-body.ts'
import { RegistryError } from '../../../core/errors.ts'
import type { BlobRange } from '../../../core/ports/index.ts'
import { assertSame, collect, rejectsWith } from '../../contract/index.ts'

const BYTES = Buffer.from('0123456789abcdefghij')

/** A stream that yields bytes and then ends, or breaks with an error. */
function connection(bytes: Uint8Array, error?: Error): Readable {
  let isRead = false
  const stream = new Readable({
    read() {
      if (!isRead) this.push(bytes)
      else if (error !== undefined) this.destroy(error)
      else this.push(null)
      isRead = true
    },
  })
  stream.on('error', () => undefined)
  return stream
}

interface BodyOptions {
  readonly range?: BlobRange
  /** How many bytes each connection yields before it breaks; the last one does not break. */
  readonly breaks?: readonly number[]
  readonly signal?: AbortSignal
}

/** A body whose connections break as planned. */
function bodyOf({ range = { start: 0, end: BYTES.length }, breaks = [], signal }: BodyOptions) {
  const streams: Readable[] = []
  const requestedRanges: BlobRange[] = []
  const log = { streams, requestedRanges, released: 0 }
  const left = [...breaks]
  const open = (rest: BlobRange): Readable => {
    log.requestedRanges.push(rest)
    const length = left.shift()
    const bytes = BYTES.subarray(rest.start, length === undefined ? rest.end : rest.start + length)
    const stream = connection(bytes, length === undefined ? undefined : new Error('reset by peer'))
    log.streams.push(stream)
    return stream
  }
  const body = new ObjectBody({
    stream: open(range),
    range,
    reopen: async (rest) => open(rest),
    signal,
    onRelease: () => {
      log.released += 1
    },
  })
  return { body, log }
}

describe('the body of an object', () => {
  test('resumes after its last byte if connections break, and destroys each of them', async () => {
    const { body, log } = bodyOf({ range: { start: 2, end: 18 }, breaks: [5, 0, 0, 4] })
    assertSame(await collect(body), BYTES.subarray(2, 18))
    assert.deepEqual(
      log.requestedRanges.map(({ start, end }) => [start, end]),
      [
        [2, 18],
        [7, 18],
        [7, 18],
        [7, 18],
        [11, 18],
      ],
    )
    assert.ok(log.streams.every(({ destroyed }) => destroyed))
    assert.equal(log.released, 1)
  })

  test('fails after three connections in a row without a byte, but not if each yields one', async () => {
    const failing = bodyOf({ breaks: [3, 0, 0, 0] })
    await rejectsWith('UNAVAILABLE', collect(failing.body))
    assert.equal(failing.log.released, 1)
    assertSame(await collect(bodyOf({ breaks: Array.from({ length: 19 }, () => 1) }).body), BYTES)
  })

  test('resumes if a connection ends early without an error', async () => {
    const body = new ObjectBody({
      stream: connection(BYTES.subarray(0, 7)),
      range: { start: 0, end: BYTES.length },
      reopen: async ({ start, end }) => connection(BYTES.subarray(start, end)),
      signal: undefined,
      onRelease: () => undefined,
    })
    assertSame(await collect(body), BYTES)
  })

  test('throws CORRUPT for more bytes than the object has', async () => {
    const { body, log } = bodyOf({ range: { start: 0, end: 5 }, breaks: [9] })
    await rejectsWith('CORRUPT', collect(body))
    assert.equal(log.released, 1)
  })

  test('throws the error of reopening', async () => {
    const body = new ObjectBody({
      stream: connection(new Uint8Array([1]), new Error('reset by peer')),
      range: { start: 0, end: 2 },
      reopen: () => Promise.reject(new RegistryError('UNAVAILABLE', 'it was deleted meanwhile')),
      signal: undefined,
      onRelease: () => undefined,
    })
    await assert.rejects(collect(body), /deleted meanwhile/)
    assert.deepEqual(await body.next(), { done: true, value: undefined })
  })

  test('destroys its connection on return, on an abort, if it is empty, and if it is aborted before the first read', async () => {
    const returned = bodyOf({})
    await returned.body.return()
    await returned.body.return()
    const controller = new AbortController()
    const aborted = bodyOf({ signal: controller.signal })
    controller.abort(new Error('the client disconnected'))
    await assert.rejects(collect(aborted.body), /the client disconnected/)
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
    const empty = bodyOf({ range: { start: 0, end: 0 } })
    const late = bodyOf({ signal: controller.signal })
    for (const { log } of [returned, aborted, empty, late]) {
      assert.equal(log.released, 1)
      assert.ok(log.streams[0]?.destroyed)
    }
    assertSame(await collect(empty.body), new Uint8Array())
  })

  test('an abort while it reopens destroys the new connection as well', async () => {
    const controller = new AbortController()
    const second = connection(BYTES)
    const body = new ObjectBody({
      stream: connection(BYTES.subarray(0, 3), new Error('reset by peer')),
      range: { start: 0, end: BYTES.length },
      reopen: async () => {
        controller.abort(new Error('the client disconnected'))
        return second
      },
      signal: controller.signal,
      onRelease: () => undefined,
    })
    await assert.rejects(collect(body), /the client disconnected/)
    assert.ok(second.destroyed)
  })
})

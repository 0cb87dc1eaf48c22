import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { ObjectBody } from '../../../adapters/s3/object-body.ts'
import { RegistryError } from '../../../core/errors.ts'
import type { BlobRange } from '../../../core/ports.ts'
import { assertSame, collect, rejectsWith } from '../../contract/blob-bodies.ts'

const BYTES = Buffer.from('0123456789abcdefghij')

/** Gives bytes and then ends, or breaks with an error. */
function connection(bytes: Uint8Array, then?: Error): Readable {
  let given = false
  const stream = new Readable({
    read() {
      if (!given) this.push(bytes)
      else if (then !== undefined) this.destroy(then)
      else this.push(null)
      given = true
    },
  })
  stream.on('error', () => undefined)
  return stream
}

interface Scene {
  readonly range?: BlobRange
  /** How many bytes each connection gives before it breaks; the last goes to the end. */
  readonly breaks?: readonly number[]
  readonly signal?: AbortSignal
}

/** A body over connections that break as they are told to. */
function bodyOf({ range = { start: 0, end: BYTES.length }, breaks = [], signal }: Scene) {
  const log = { streams: [] as Readable[], asked: [] as BlobRange[], released: 0 }
  const left = [...breaks]
  const open = (rest: BlobRange): Readable => {
    log.asked.push(rest)
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
  test('goes on behind its last byte where connections break, and lets go of each', async () => {
    const { body, log } = bodyOf({ range: { start: 2, end: 18 }, breaks: [5, 0, 0, 4] })
    assertSame(await collect(body), BYTES.subarray(2, 18))
    assert.deepEqual(
      log.asked.map(({ start, end }) => [start, end]),
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

  test('gives up after three connections in a row without a byte, but never while there is some', async () => {
    const hopeless = bodyOf({ breaks: [3, 0, 0, 0] })
    await rejectsWith('UNAVAILABLE', collect(hopeless.body))
    assert.equal(hopeless.log.released, 1)
    assertSame(await collect(bodyOf({ breaks: Array.from({ length: 19 }, () => 1) }).body), BYTES)
  })

  test('a connection that ends early without an error is one that broke', async () => {
    const body = new ObjectBody({
      stream: connection(BYTES.subarray(0, 7)),
      range: { start: 0, end: BYTES.length },
      reopen: async ({ start, end }) => connection(BYTES.subarray(start, end)),
      signal: undefined,
      onRelease: () => undefined,
    })
    assertSame(await collect(body), BYTES)
  })

  test('more bytes than the object has are CORRUPT', async () => {
    const { body, log } = bodyOf({ range: { start: 0, end: 5 }, breaks: [9] })
    await rejectsWith('CORRUPT', collect(body))
    assert.equal(log.released, 1)
  })

  test('what reopening throws ends it', async () => {
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

  test('lets go of its connection by return, by an abort, where it is empty, and where nobody ever read', async () => {
    const returned = bodyOf({})
    await returned.body.return()
    await returned.body.return()
    const controller = new AbortController()
    const aborted = bodyOf({ signal: controller.signal })
    controller.abort(new Error('the client went away'))
    await assert.rejects(collect(aborted.body), /the client went away/)
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
    const empty = bodyOf({ range: { start: 0, end: 0 } })
    const late = bodyOf({ signal: controller.signal })
    for (const { log } of [returned, aborted, empty, late]) {
      assert.equal(log.released, 1)
      assert.ok(log.streams[0]?.destroyed)
    }
    assertSame(await collect(empty.body), new Uint8Array())
  })

  test('an abort while it opens another connection lets go of that as well', async () => {
    const controller = new AbortController()
    const second = connection(BYTES)
    const body = new ObjectBody({
      stream: connection(BYTES.subarray(0, 3), new Error('reset by peer')),
      range: { start: 0, end: BYTES.length },
      reopen: async () => {
        controller.abort(new Error('the client went away'))
        return second
      },
      signal: controller.signal,
      onRelease: () => undefined,
    })
    await assert.rejects(collect(body), /the client went away/)
    assert.ok(second.destroyed)
  })
})

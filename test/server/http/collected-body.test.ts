import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { BodyStream, collectBody } from '../../../server/http/body.ts'
import { HttpError } from '../../../server/http/errors.ts'

/**
 * JSON bodies are collected, forms are streamed. The test sends the same bytes at the same pace both ways, and compares
 * what comes of it: the bytes or the error, whatever the sender does.
 */

const IDLE_MS = 1_000
const PACE = { idleMs: IDLE_MS, minBytesPerSecond: 20, nowMs: () => Date.now() }
/** Turns of the event loop in which a consumer reads all that it was sent. */
const TURNS = 12

interface Sending {
  readonly body: Uint8Array
  /** The lengths of the pieces, in turn, and the pause before each. */
  readonly pieces: readonly { readonly length: number; readonly pauseMs: number }[]
  /** How many of the bytes are sent, of 1: all. */
  readonly share: number
  readonly end: 'end' | 'disconnect' | 'silence'
}

const ALL: Sending = { body: Buffer.alloc(100), pieces: [{ length: 40, pauseMs: 1 }], share: 1, end: 'end' }

type Read = (request: IncomingMessage) => Promise<unknown>

/** Sends a body, and returns what `read` returns or why it fails. */
async function outcomeOf(t: TestContext, { body, pieces, share, end }: Sending, read: Read) {
  const request = new PassThrough({ highWaterMark: 1_000_000 })
  const result = read(request as unknown as IncomingMessage).catch((error: unknown) =>
    error instanceof HttpError ? { code: error.code, message: error.message } : { message: String(error) },
  )
  const turns = async (): Promise<void> => {
    for (let n = 0; n < TURNS; n += 1) await nextTurn()
  }
  const sent = body.subarray(0, Math.ceil(body.length * share))
  await turns()
  for (let at = 0, i = 0; at < sent.length; i += 1) {
    const { length = 1, pauseMs = 0 } = pieces[i % pieces.length] ?? {}
    t.mock.timers.tick(pauseMs)
    await turns()
    request.write(sent.subarray(at, at + length))
    await turns()
    at += length
  }
  if (end === 'end' && share === 1) request.end()
  else if (end === 'disconnect' || end === 'end') request.destroy()
  else t.mock.timers.tick(IDLE_MS)
  const outcome = await result
  request.destroy()
  return outcome
}

const sendings = (bodies: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Sending> =>
  fc.record({
    body: bodies,
    pieces: fc.array(
      fc.record({
        length: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(5_000)),
        pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: IDLE_MS + 1 })),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
    end: fc.constantFrom('end', 'end', 'disconnect', 'silence'),
  })

describe('a collected body', () => {
  it('has the bytes or the error of a streamed one, for every pace, limit and end', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    const kinds = new Set<string>()
    const limited = (maxBytes: number) => {
      let size = 0
      return (count: number): void => {
        size += count
        if (size > maxBytes) throw new HttpError('PAYLOAD_TOO_LARGE', `more than ${maxBytes}`)
      }
    }
    await fc.assert(
      fc.asyncProperty(
        sendings(fc.uint8Array({ maxLength: 200 })),
        fc.integer({ min: 0, max: 250 }),
        async (sending, maxBytes) => {
          const streamed = await outcomeOf(t, sending, async (request) => {
            const hold = limited(maxBytes)
            const chunks: Uint8Array[] = []
            for await (const chunk of new BodyStream(request, PACE) as AsyncIterable<Uint8Array>) {
              hold(chunk.length)
              chunks.push(chunk)
            }
            return Buffer.concat(chunks).toString('hex')
          })
          const collected = await outcomeOf(t, sending, async (request) => {
            const bytes = await collectBody(request, { ...PACE, hold: limited(maxBytes) })
            return bytes.toString('hex')
          })
          assert.deepEqual(collected, streamed)
          const kind = typeof streamed === 'string' ? 'bytes' : JSON.stringify(streamed).replaceAll(/\d+/g, '0')
          kinds.add(kind)
        },
      ),
      {
        numRuns: 400,
        examples: [
          [ALL, 100],
          [ALL, 99],
          [{ ...ALL, end: 'disconnect' }, 100],
          [{ ...ALL, end: 'silence' }, 100],
          [{ ...ALL, pieces: [{ length: 1, pauseMs: IDLE_MS - 1 }] }, 100],
        ],
      },
    )
    // Bytes, too many, disconnected, silent, too slow.
    assert.ok(kinds.size >= 5, [...kinds].join('\n'))
  })
})

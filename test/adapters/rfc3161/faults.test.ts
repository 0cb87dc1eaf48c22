import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { createRfc3161Authority } from '../../../adapters/rfc3161/index.ts'
import { encodeUtf8, fromBase64 } from '../../../core/bytes.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { until } from '../../support/manual-clock.ts'
import { recordsOf, SealerFixture } from '../../support/sealer-fixture.ts'
import { authorityNamed, signerUnder } from '../../support/test-authority.ts'
import { FaultyAuthority, send, type Misbehaviour, type StampRequest } from '../../support/faulty-authority.ts'

/** Only the faults that wait for it have a short one: the others must not depend on the machine's speed. */
const LONG_TIMEOUT_MS = 300_000
const SHORT_TIMEOUT_MS = 1_000
const POLICY = '1.3.6.1.4.1.99999.1'

/** Responds with a token that differs from a correct one in `terms`. */
const withTerms =
  (terms: (request: StampRequest, now: number) => Parameters<FaultyAuthority['token']>[1]): Misbehaviour =>
  async (request, reply, authority) =>
    send(reply, await authority.token(request, terms(request, authority.now())))

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * The name of each fault, the fault, and the error message that it causes. What makes a token wrong by itself is tested
 * in core/verify/tokens: here are the ways to fail over HTTP, and what the client says about its request.
 */
const FAULTS: readonly (readonly [string, Misbehaviour, RegExp])[] = [
  ['HTTP 500', (_, reply) => void reply.writeHead(500).end('down'), /HTTP 500/],
  ['a connection that is cut', (_, reply) => void reply.socket?.destroy(), /connection was lost \(ECONNRESET\)/],
  [
    'a response that is cut short',
    async (request, reply, authority) => {
      const token = await authority.token(request)
      reply.writeHead(200, { 'Content-Type': 'application/timestamp-reply', 'Content-Length': token.length })
      reply.write(token.subarray(0, 100), () => reply.socket?.destroy())
    },
    /connection was lost/,
  ],
  ['silence', () => undefined, /no complete response within 1000 ms/],
  [
    'single bytes at intervals',
    (_, reply) => {
      reply.writeHead(200, { 'Content-Type': 'application/timestamp-reply' })
      const drip = setInterval(() => reply.write('x'), 20)
      reply.on('close', () => clearInterval(drip))
    },
    /no complete response within 1000 ms/,
  ],
  ['garbage', (_, reply) => send(reply, encodeUtf8('no DER at all')), /does not verify/],
  ['an empty response', (_, reply) => send(reply, new Uint8Array()), /does not verify/],
  ['10 MB', (_, reply) => send(reply, new Uint8Array(10_000_000)), /more than 262144 bytes/],
  [
    '10 MB without a length',
    (_, reply) => {
      reply.writeHead(200, { 'Content-Type': 'application/timestamp-reply' })
      for (let i = 0; i < 100; i++) reply.write(new Uint8Array(100_000))
      reply.end()
    },
    /more than 262144 bytes/,
  ],
  [
    'another content type',
    async (request, reply, authority) => send(reply, await authority.token(request), 'text/html'),
    /must be application\/timestamp-reply, got "text\/html"/,
  ],
  [
    'an encoding',
    async (request, reply, authority) => {
      const headers = { 'Content-Type': 'application/timestamp-reply', 'Content-Encoding': 'gzip' }
      reply.writeHead(200, headers).end(await authority.token(request))
    },
    /encoded/,
  ],
  [
    'a redirect',
    (_, reply, authority) => void reply.writeHead(307, { Location: `${authority.url}/right` }).end(),
    /redirects \(HTTP 307\)/,
  ],
  [
    'no nonce',
    async (request, reply, authority) => send(reply, await tokenWithoutNonce(request, authority)),
    /nonce is missing/,
  ],
  ['another nonce', withTerms(() => ({ nonce: Uint8Array.of(1, 2, 3) })), /nonce is not the one of the request/],
  ['another imprint', withTerms(() => ({ imprint: new Uint8Array(32) })), /imprint belongs to other data/],
  ['another policy', withTerms(() => ({ policy: '1.2.3' })), /got 1\.2\.3/],
  ['an earlier genTime', withTerms((_, now) => ({ genTime: new Date(now - DAY_MS) })), /genTime is -86400 s/],
  ['a later genTime', withTerms((_, now) => ({ genTime: new Date(now + DAY_MS) })), /genTime is 86400 s/],
  [
    'an unknown CA',
    async (request, reply, authority) => {
      const signer = await signerUnder(await authorityNamed('stranger'))
      send(reply, await authority.token({ ...request, signer }))
    },
    /does not lead to a configured trust anchor/,
  ],
]

async function tokenWithoutNonce(request: StampRequest, authority: FaultyAuthority): Promise<Uint8Array> {
  const { nonce: _, ...rest } = request
  return authority.token(rest as StampRequest, {})
}

describe('a faulty timestamp authority', () => {
  let bench: SealerFixture
  let faulty: FaultyAuthority

  beforeEach(async () => {
    ;[bench, faulty] = await Promise.all([SealerFixture.open(), FaultyAuthority.open()])
    faulty.now = () => bench.clock.now()
  })
  afterEach(async () => {
    await bench.close()
    await faulty.close()
  })

  const clientOf = (timeoutMs = LONG_TIMEOUT_MS, onTime?: (genTime: number) => void) =>
    createRfc3161Authority({
      url: faulty.url,
      trustAnchors: [faulty.trustAnchor],
      policy: POLICY,
      timeoutMs,
      clock: bench.clock,
      ...(onTime && { onTime }),
    })

  async function assertNothingStored(): Promise<void> {
    for (const family of ['st', 'sp', 'te']) assert.equal((await recordsOf(bench.records, family)).size, 0)
    assert.equal(await bench.records.logSize(), 2, 'the key and the event')
  }

  for (const [name, misbehaviour, reason] of FAULTS)
    it(`with ${name}: the response is not stored, and the next correct one is`, async () => {
      const isTimeout = reason.source.includes('no complete response')
      const client = clientOf(isTimeout ? SHORT_TIMEOUT_MS : LONG_TIMEOUT_MS)
      const sealer = await bench.start({ timestampAuthority: client })
      faulty.misbehaviour = misbehaviour
      await bench.seal(sealer, 1)
      await until(() => sealer.status().failures.stamp.count > 0)
      assert.equal(sealer.status().failures.stamp.lastCode, 'AUTHORITY_FAILED')
      const { err } = bench.lines.find(({ level }) => level === 'warn') as unknown as { readonly err: Error }
      assert.match(err.message, reason)
      assert.match(err.message, /^127\.0\.0\.1:\d+: /)
      assert.equal(faulty.requestCount, 1)
      await assertNothingStored()
      faulty.misbehaviour = undefined
      await bench.clock.advanceUntil(1_000, () => sealer.status().stampedSize === 2)
      const stamp = await bench.reader.stampCovering(2)
      const data = encodeUtf8(stamp?.checkpoint ?? '')
      const token = fromBase64(stamp?.tokens[0]?.token ?? '') as Uint8Array
      assert.equal(stamp?.tokens.length, 1)
      assert.ok(verifyTimestamp(token, { data, trustAnchors: [faulty.trustAnchor], policy: POLICY }))
      assert.equal(sealer.assurance.time, 'independent')
    })

  it('that says 201 is none: any 2xx with a right body is a response', async () => {
    faulty.misbehaviour = async (request, reply, authority) =>
      void reply.writeHead(201, { 'Content-Type': 'application/timestamp-reply' }).end(await authority.token(request))
    assert.ok((await clientOf().stamp(new Uint8Array(1))).length > 0)
  })

  it('whose time is too far from the clock: its time is told, because the clock may be the wrong one', async () => {
    const times: number[] = []
    const client = clientOf(LONG_TIMEOUT_MS, (genTime) => times.push(genTime))
    const genTime = new Date(Math.floor(bench.clock.now() / 1_000) * 1_000 + DAY_MS)
    faulty.misbehaviour = withTerms(() => ({ genTime }))
    await assert.rejects(client.stamp(new Uint8Array(1)), { code: 'AUTHORITY_FAILED' })
    assert.deepEqual(times, [genTime.getTime()])
  })

  it('that asks for a pause is not asked before', async () => {
    const sealer = await bench.start({ timestampAuthority: clientOf() })
    faulty.misbehaviour = (_, reply) => void reply.writeHead(429, { 'Retry-After': '600' }).end()
    await bench.seal(sealer, 1)
    await until(() => sealer.status().failures.stamp.count === 1)
    faulty.misbehaviour = undefined
    for (let second = 0; second < 599; second++) await bench.clock.advance(1_000)
    assert.equal(faulty.requestCount, 1)
    await bench.clock.advance(1_000)
    await until(() => sealer.status().stampedSize === 2)
  })

  it('that does not listen', async () => {
    await faulty.close()
    await assert.rejects(clientOf().stamp(new Uint8Array(1)), {
      code: 'AUTHORITY_FAILED',
      message: /cannot be reached, or the connection was lost \(ECONNREFUSED\)/,
    })
  })

  it('that never responds: close or the caller’s signal ends the wait at once', async () => {
    faulty.misbehaviour = () => undefined
    const authority = createRfc3161Authority({
      url: faulty.url,
      trustAnchors: [faulty.trustAnchor],
      timeoutMs: LONG_TIMEOUT_MS,
    })
    const aborter = new AbortController()
    const [stopped, closed] = [authority.stamp(new Uint8Array(1), aborter.signal), authority.stamp(new Uint8Array(2))]
    const reason = new Error('stop')
    await until(() => faulty.requestCount === 2)
    aborter.abort(reason)
    await assert.rejects(stopped, (error) => error === reason)
    await authority.close()
    await assert.rejects(closed, (error) => isRegistryError(error, 'CLOSED'))
  })
})

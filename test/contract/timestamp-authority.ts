import assert from 'node:assert/strict'
import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { describe, test } from 'node:test'
import type { TimestampAuthority } from '../../core/ports.ts'
import { MAX_VALIDATION_DATA_BYTES } from '../../core/verify/revocation-status.ts'
import type { TimestampInfo } from '../../core/verify/timestamp-info.ts'
import { parseTimestampResponse, verifyTimestamp } from '../../core/verify/timestamp.ts'

export interface TimestampAuthorityUnderTest {
  readonly authority: TimestampAuthority
  /** DER certificates that its tokens lead to. */
  readonly trustAnchors: readonly Uint8Array[]
  /** The authority's present, ms since 1970. Default: the machine's. */
  readonly now?: () => number
  readonly dispose?: () => Promise<void>
}

/** How far an authority's clock may be from `now`. */
const MAX_DIFFERENCE_MS = 120_000

/** What every TimestampAuthority must do, as node:test tests. `open` gives a new one each time it is called. */
export function timestampAuthorityContract(name: string, open: () => Promise<TimestampAuthorityUnderTest>): void {
  const withAuthority = async (run: (subject: TimestampAuthorityUnderTest) => Promise<void>): Promise<void> => {
    const subject = await open()
    try {
      await run(subject)
    } finally {
      await subject.authority.close()
      await subject.dispose?.()
    }
  }

  describe(`TimestampAuthority contract: ${name}`, () => {
    test('says who it is', () =>
      withAuthority(async ({ authority }) => {
        assert.notEqual(authority.info.name, '')
        assert.ok(['operator', 'independent'].includes(authority.info.assurance))
      }))

    test('names the trust anchors that its tokens lead to', () =>
      withAuthority(async ({ authority }) => {
        const data = new Uint8Array(randomBytes(300))
        const { trustAnchors } = authority.info
        assert.ok(trustAnchors.length > 0)
        assert.doesNotThrow(() => new X509Certificate(trustAnchors[0] as Uint8Array))
        const token = await authority.stamp(data)
        assert.deepEqual(verifyTimestamp(token, { data, trustAnchors }), parseTimestampResponse(token))
      }))

    test('what it keeps with a token is DER, and does not make the token void', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        const data = new Uint8Array(randomBytes(300))
        const token = await authority.stamp(data)
        const evidence = await authority.validationDataOf(token)
        for (const { type, der } of evidence) {
          assert.ok(['certificate', 'crl', 'ocsp'].includes(type))
          assert.equal(der[0], 0x30)
          assert.ok(der.length > 4 && der.length <= MAX_VALIDATION_DATA_BYTES)
        }
        const { revocation, ...info } = verifyTimestamp(token, { data, trustAnchors, validationData: evidence })
        assert.deepEqual(info, parseTimestampResponse(token))
        assert.ok(revocation?.every(({ state }) => state !== 'revoked'))
      }))

    test('stamps the SHA-256 of the bytes, whatever their length, with a nonce', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        for (const length of [0, 1, 300, 100_000]) {
          const data = new Uint8Array(randomBytes(length))
          const info = verifyTimestamp(await authority.stamp(data), { data, trustAnchors })
          assert.equal(info.hashAlgorithm, 'sha256')
          assert.deepEqual(info.imprint, new Uint8Array(createHash('sha256').update(data).digest()))
          assert.match(info.serialNumber, /^([0-9a-f]{2})+$/)
          assert.match(info.policy, /^[0-2](\.\d+)+$/)
          assert.ok(info.nonce && info.nonce.length >= 4)
        }
      }))

    test('gives a token that is none over other bytes, nor for other trust anchors', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        const data = new Uint8Array(randomBytes(300))
        const token = await authority.stamp(data)
        const other = data.with(0, (data[0] ?? 0) ^ 1)
        assert.throws(() => verifyTimestamp(token, { data: other, trustAnchors }), { code: 'VERIFICATION_FAILED' })
        assert.throws(() => verifyTimestamp(token, { data, trustAnchors: [] }), { code: 'VERIFICATION_FAILED' })
      }))

    test('says the time at which it stamps', () =>
      withAuthority(async ({ authority, trustAnchors, now = Date.now }) => {
        const data = new Uint8Array(randomBytes(32))
        const before = now()
        const token = await authority.stamp(data)
        const { genTime } = verifyTimestamp(token, { data, trustAnchors, at: now() })
        assert.ok(genTime >= before - MAX_DIFFERENCE_MS, `${genTime} is long before ${before}`)
        assert.ok(genTime <= now() + MAX_DIFFERENCE_MS, `${genTime} is long after ${now()}`)
      }))

    test('numbers and nonces differ, also of stamps at one time over the same bytes', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        const data = new Uint8Array(randomBytes(300))
        const tokens = await Promise.all(Array.from({ length: 8 }, () => authority.stamp(data)))
        const infos = tokens.map((token) => verifyTimestamp(token, { data, trustAnchors }))
        assert.equal(new Set(infos.map(({ serialNumber }) => serialNumber)).size, tokens.length)
        assert.equal(new Set(infos.map(({ nonce }) => nonce?.join())).size, tokens.length)
      }))

    test('gives what can be checked when it is closed', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        const data = new Uint8Array(randomBytes(300))
        const token = await authority.stamp(data)
        await authority.close()
        assert.deepEqual(verifyTimestamp(token, { data, trustAnchors }), parseTimestampResponse(token))
      }))

    test('any bit of a token that flips is refused, or leaves the claim as it was', () =>
      withAuthority(async ({ authority, trustAnchors }) => {
        const data = new Uint8Array(randomBytes(300))
        const token = await authority.stamp(data)
        const claim = verifyTimestamp(token, { data, trustAnchors })
        let refused = 0
        for (const position of samples(token.length)) {
          const flipped = token.with(position, (token[position] ?? 0) ^ (1 << (position % 8)))
          if (claimOf(flipped, { data, trustAnchors }, claim) === 'refused') refused += 1
        }
        // Most bits are signed, hashed or structure.
        assert.ok(refused > samples(token.length).length / 2, `only ${refused} flips were refused`)
      }))

    test('does nothing for a signal that is aborted, and rejects with its reason', () =>
      withAuthority(async ({ authority }) => {
        const reason = new Error('stop')
        const token = await authority.stamp(new Uint8Array(1))
        const signal = AbortSignal.abort(reason)
        await assert.rejects(authority.stamp(new Uint8Array(1), signal), (error) => error === reason)
        await assert.rejects(authority.validationDataOf(token, signal), (error) => error === reason)
      }))

    test('throws CLOSED after close, and may be closed twice', () =>
      withAuthority(async ({ authority }) => {
        const token = await authority.stamp(new Uint8Array(1))
        await authority.close()
        await authority.close()
        await assert.rejects(authority.stamp(new Uint8Array(1)), { code: 'CLOSED' })
        await assert.rejects(authority.validationDataOf(token), { code: 'CLOSED' })
      }))
  })
}

/** At most 512 positions, spread evenly. */
function samples(length: number): readonly number[] {
  const step = Math.max(1, Math.ceil(length / 512))
  return Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step)
}

function claimOf(
  token: Uint8Array,
  options: { readonly data: Uint8Array; readonly trustAnchors: readonly Uint8Array[] },
  claim: TimestampInfo,
): 'refused' | 'same' {
  let info: TimestampInfo
  try {
    info = verifyTimestamp(token, options)
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'VERIFICATION_FAILED')
    return 'refused'
  }
  assert.deepEqual(info, claim)
  return 'same'
}

import assert from 'node:assert/strict'
import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { describe } from 'node:test'
import { isRegistryError, type TimestampAuthority } from '../../adapters/kit/index.ts'
import {
  MAX_CRL_BYTES,
  MAX_VALIDATION_DATA_BYTES,
  parseTimestampResponse,
  verifyTimestamp,
  type TimestampInfo,
} from '../../core/verify/tokens.ts'
import { assertClosed, testsOf, type TestOf } from './rules.ts'

/** An authority under test and what the suite needs to know about it. */
export interface TimestampAuthorityUnderTest {
  readonly authority: TimestampAuthority
  /** DER certificates to which its tokens lead. */
  readonly trustAnchors: readonly Uint8Array[]
  /** The authority's current time, ms since 1970. Default: the machine's clock. */
  readonly now?: () => number
  /** Removes what `open` created. Called after the authority was closed. */
  readonly dispose?: () => Promise<void>
}

/** Largest accepted difference between an authority's clock and `now`. */
const MAX_DIFFERENCE_MS = 120_000

/**
 * Registers node:test tests for everything that a `TimestampAuthority` must do.
 *
 * @param name appears in the names of the tests
 * @param open opens an authority; the suite calls it for each test and closes what it returns
 * @example
 * timestampAuthorityContract('mine', async () => {
 *   const authority = await openMyAuthority()
 *   return { authority, trustAnchors: authority.info.trustAnchors }
 * })
 */
export function timestampAuthorityContract(name: string, open: () => Promise<TimestampAuthorityUnderTest>): void {
  const test = testsOf(open, 'authority', async ({ authority, dispose }) => {
    await authority.close()
    await dispose?.()
  })

  describe(`TimestampAuthority contract: ${name}`, () => {
    testInfo(test)
    testTokenContents(test)
    testKeptTokens(test)
    testAbortAndClose(test)
  })
}

/** Tests of the description of the authority, its trust anchors, and the validation data of its tokens. */
function testInfo(test: TestOf<TimestampAuthorityUnderTest>): void {
  test('describes itself', async ({ authority }) => {
    assert.notEqual(authority.info.name, '')
    assert.ok(['operator', 'independent'].includes(authority.info.assurance))
  })

  test('names the trust anchors to which its tokens lead', async ({ authority }) => {
    const data = new Uint8Array(randomBytes(300))
    const { trustAnchors } = authority.info
    assert.ok(trustAnchors.length > 0)
    for (const anchor of trustAnchors) assert.doesNotThrow(() => new X509Certificate(anchor))
    const token = await authority.stamp(data)
    assert.deepEqual(verifyTimestamp(token, { data, trustAnchors }), parseTimestampResponse(token))
  })

  test('returns validation data that is DER and does not void the token', async ({ authority, trustAnchors }) => {
    const { data, token } = await stamped(authority)
    const validationData = await authority.validationDataOf(token)
    for (const { type, der } of validationData) {
      assert.ok(['certificate', 'crl', 'ocsp'].includes(type))
      assert.equal(der[0], 0x30)
      assert.ok(der.length > 4 && der.length <= (type === 'crl' ? MAX_CRL_BYTES : MAX_VALIDATION_DATA_BYTES))
    }
    const { revocation, ...info } = verifyTimestamp(token, { data, trustAnchors, validationData })
    assert.deepEqual(info, parseTimestampResponse(token))
    assert.ok(revocation?.every(({ state }) => state !== 'revoked'))
  })
}

/** Tests of what a token states: the stamped bytes, the time, a serial number and a nonce. */
function testTokenContents(test: TestOf<TimestampAuthorityUnderTest>): void {
  test('stamps the SHA-256 of bytes of any length, with a nonce', async ({ authority, trustAnchors }) => {
    for (const length of [0, 1, 300, 100_000]) {
      const data = new Uint8Array(randomBytes(length))
      const info = verifyTimestamp(await authority.stamp(data), { data, trustAnchors })
      assert.equal(info.hashAlgorithm, 'sha256')
      assert.deepEqual(info.imprint, new Uint8Array(createHash('sha256').update(data).digest()))
      assert.match(info.serialNumber, /^-?([0-9a-f]{2})+$/)
      assert.match(info.policy, /^[0-2](\.\d+)+$/)
      assert.ok(info.nonce && info.nonce.length >= 4)
    }
  })

  test('returns a token that does not verify for other bytes or other trust anchors', async ({
    authority,
    trustAnchors,
  }) => {
    const { data, token } = await stamped(authority)
    const other = data.with(0, (data[0] ?? 0) ^ 1)
    assert.throws(() => verifyTimestamp(token, { data: other, trustAnchors }), { code: 'VERIFICATION_FAILED' })
    assert.throws(() => verifyTimestamp(token, { data, trustAnchors: [] }), { code: 'VERIFICATION_FAILED' })
  })

  test('stamps with the current time', async ({ authority, trustAnchors, now = Date.now }) => {
    const data = new Uint8Array(randomBytes(32))
    const before = now()
    const token = await authority.stamp(data)
    const { genTime } = verifyTimestamp(token, { data, trustAnchors, at: now() })
    assert.ok(genTime >= before - MAX_DIFFERENCE_MS, `${genTime} is too long before ${before}`)
    assert.ok(genTime <= now() + MAX_DIFFERENCE_MS, `${genTime} is too long after ${now()}`)
  })

  test('uses different serial numbers and nonces, also for concurrent stamps of the same bytes', async ({
    authority,
    trustAnchors,
  }) => {
    const data = new Uint8Array(randomBytes(300))
    const tokens = await Promise.all(Array.from({ length: 8 }, () => authority.stamp(data)))
    const infos = tokens.map((token) => verifyTimestamp(token, { data, trustAnchors }))
    assert.equal(new Set(infos.map(({ serialNumber }) => serialNumber)).size, tokens.length)
    assert.equal(new Set(infos.map(({ nonce }) => nonce?.join())).size, tokens.length)
  })
}

/** Tests of tokens that are verified later, also after a bit was changed. */
function testKeptTokens(test: TestOf<TimestampAuthorityUnderTest>): void {
  test('returns tokens that can be verified after it is closed', async ({ authority, trustAnchors }) => {
    const { data, token } = await stamped(authority)
    await authority.close()
    assert.deepEqual(verifyTimestamp(token, { data, trustAnchors }), parseTimestampResponse(token))
  })

  test('returns tokens of which a flipped bit is rejected or does not change the claim', async ({
    authority,
    trustAnchors,
  }) => {
    const { data, token } = await stamped(authority)
    const claim = verifyTimestamp(token, { data, trustAnchors })
    let rejected = 0
    for (const position of samples(token.length)) {
      const flipped = token.with(position, (token[position] ?? 0) ^ (1 << (position % 8)))
      if (verifyChanged(flipped, { data, trustAnchors }, claim) === 'rejected') rejected += 1
    }
    // Most bits are signed, hashed, or part of the structure.
    assert.ok(rejected > samples(token.length).length / 2, `only ${rejected} flips were rejected`)
  })
}

/** Tests of aborted calls, and calls after close. */
function testAbortAndClose(test: TestOf<TimestampAuthorityUnderTest>): void {
  test('rejects with the reason of an aborted signal', async ({ authority }) => {
    const reason = new Error('stop')
    const token = await authority.stamp(new Uint8Array(1))
    const signal = AbortSignal.abort(reason)
    await assert.rejects(authority.stamp(new Uint8Array(1), signal), (error) => error === reason)
    await assert.rejects(authority.validationDataOf(token, signal), (error) => error === reason)
  })

  test('throws CLOSED after close, and may be closed twice', async ({ authority }) => {
    const token = await authority.stamp(new Uint8Array(1))
    await authority.close()
    await assertClosed(authority, {
      stamp: () => authority.stamp(new Uint8Array(1)),
      validationDataOf: () => authority.validationDataOf(token),
    })
  })
}

/** Returns random bytes and a token for them. */
async function stamped(authority: TimestampAuthority) {
  const data = new Uint8Array(randomBytes(300))
  return { data, token: await authority.stamp(data) }
}

/** At most 512 positions, spread evenly. */
function samples(length: number): readonly number[] {
  const step = Math.max(1, Math.ceil(length / 512))
  return Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step)
}

/** Verifies a token that was changed: it must be rejected or have the same claim. */
function verifyChanged(
  token: Uint8Array,
  options: { readonly data: Uint8Array; readonly trustAnchors: readonly Uint8Array[] },
  claim: TimestampInfo,
): 'rejected' | 'same' {
  let info: TimestampInfo
  try {
    info = verifyTimestamp(token, options)
  } catch (error) {
    assert.ok(isRegistryError(error, 'VERIFICATION_FAILED'))
    return 'rejected'
  }
  assert.deepEqual(info, claim)
  return 'same'
}

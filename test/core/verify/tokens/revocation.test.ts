import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { describe, test } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { encodeUtf8, toBase64 } from '../../../../core/bytes.ts'
import type { ValidationData } from '../../../../core/ports/index.ts'
import {
  MAX_CRL_BYTES,
  MAX_VALIDATION_DATA_BYTES,
  revocationStatus,
  verifyTimestamp,
  voidsTimestamp,
  type RevocationStatus,
} from '../../../../core/verify/tokens.ts'
import { certificateOnce } from '../../../../core/verify/tokens/certificate.ts'
import { revocationAddresses } from '../../../../core/verify/tokens/revocation-addresses.ts'
import { knownStatuses } from '../../../../core/verify/tokens/validation-data.ts'
import { SignatureBudget } from '../../../../core/verify/untrusted.ts'
import { present } from '../../../support/present.ts'
import {
  authorityNamed,
  certificate,
  DEFAULT_GEN_TIME,
  derOf,
  extension,
  keyPair,
  OID,
  response,
  signerUnder,
} from '../../../support/test-authority.ts'
import { crl, DEFAULT_THIS_UPDATE, ocspResponse, REASON, type OcspOptions } from '../../../support/test-revocation.ts'

const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
const CRITICAL = [extension('1.2.3', true, new asn1js.Null())]
const asOf = DEFAULT_THIS_UPDATE.getTime()
const later = new Date(asOf + 3_600_000)
const revokedAt = new Date('2026-05-01T00:00:00Z')

const root = await authorityNamed('root')
const signer = await signerUnder(root)
const other = await signerUnder(root, { name: 'other' })
const stranger = await authorityNamed('stranger')

const asCrl = (der: Uint8Array): ValidationData => ({ type: 'crl', der })
const asOcsp = (der: Uint8Array): ValidationData => ({ type: 'ocsp', der })
const withoutReason = (status: RevocationStatus): RevocationStatus =>
  status.state === 'unknown' ? { state: 'unknown' } : status
const statusIn = (...pieces: readonly ValidationData[]): RevocationStatus =>
  withoutReason(revocationStatus(derOf(signer.certificate), derOf(root.certificate), pieces))

/** The signature is at the end. */
const withBrokenEnd = (der: Uint8Array): Uint8Array => der.with(der.length - 1, (der.at(-1) ?? 0) ^ 1)

const unknown: RevocationStatus = { state: 'unknown' }

describe('revocationStatus by CRL', () => {
  test('is good if the issuer does not list the certificate', async () => {
    const empty = await crl({ issuer: root })
    const listed = await crl({ issuer: root, revoked: [{ certificate: other.certificate, at: revokedAt }] })
    for (const der of [empty, listed]) assert.deepEqual(statusIn(asCrl(der)), { state: 'good', by: 'crl', asOf })
  })

  test('is revoked if the issuer lists it, with time and reason', async () => {
    const entry = { certificate: signer.certificate, at: revokedAt }
    const revoked = { state: 'revoked', by: 'crl', asOf, revokedAt: revokedAt.getTime() }
    const without = await crl({ issuer: root, revoked: [entry] })
    assert.deepEqual(statusIn(asCrl(without)), revoked)
    const withReason = await crl({ issuer: root, revoked: [{ ...entry, reason: REASON.superseded }] })
    assert.deepEqual(statusIn(asCrl(withReason)), { ...revoked, reason: REASON.superseded })
  })

  test('ignores a list of another issuer, also under the same name', async () => {
    const impostor = { keys: stranger.keys, certificate: root.certificate }
    for (const issuer of [stranger, impostor])
      for (const revoked of [[], [{ certificate: signer.certificate, at: revokedAt }]])
        assert.deepEqual(statusIn(asCrl(await crl({ issuer, revoked }))), unknown)
  })

  test('ignores a list that the key of the issuer signed under another name', async () => {
    const renamed = { keys: root.keys, certificate: stranger.certificate }
    assert.deepEqual(statusIn(asCrl(await crl({ issuer: renamed }))), unknown)
  })

  test('is that of an issuer without key usage, too', async () => {
    const keys = await keyPair('P-256', 'root for any usage')
    const anyUsage = { keys, certificate: await certificate({ name: 'root for any usage', keys, authority: {} }) }
    const below = await signerUnder(anyUsage)
    const list = asCrl(await crl({ issuer: anyUsage }))
    assert.equal(revocationStatus(derOf(below.certificate), derOf(anyUsage.certificate), [list]).state, 'good')
  })

  test('counts the date on which the certificate became invalid, if it is earlier', async () => {
    const timeIn = async (invalidFrom: Date): Promise<number | undefined> => {
      const extensions = [extension('2.5.29.24', false, new asn1js.GeneralizedTime({ valueDate: invalidFrom }))]
      const entry = { certificate: signer.certificate, at: revokedAt, extensions }
      const status = statusIn(asCrl(await crl({ issuer: root, revoked: [entry] })))
      return status.state === 'revoked' ? status.revokedAt : undefined
    }
    const earlier = new Date('2026-04-01T00:00:00Z')
    assert.equal(await timeIn(earlier), earlier.getTime())
    assert.equal(await timeIn(later), revokedAt.getTime())
  })

  test('ignores a list with a broken or weak signature', async () => {
    const der = await crl({ issuer: root })
    assert.deepEqual(statusIn(asCrl(withBrokenEnd(der))), unknown)
    assert.deepEqual(statusIn(asCrl(await crl({ issuer: root, hash: 'SHA-1' }))), unknown)
  })

  test('is not hidden by a copy with a broken signature', async () => {
    const list = await crl({ issuer: root, revoked: [{ certificate: signer.certificate, at: revokedAt }] })
    const stated = await ocspResponse({ issuer: root, certificate: signer.certificate, state: { revokedAt } })
    for (const [as, der] of [
      [asCrl, list],
      [asOcsp, stated],
    ] as const)
      assert.equal(statusIn(as(withBrokenEnd(der)), as(der)).state, 'revoked')
  })

  test('ignores a list of an issuer whose key may not sign lists', async () => {
    const noCrlSign = await authorityNamed('root without cRLSign', { keyUsage: 0x04 })
    const below = await signerUnder(noCrlSign)
    const list = await crl({ issuer: noCrlSign, revoked: [{ certificate: below.certificate, at: revokedAt }] })
    assert.deepEqual(revocationStatus(derOf(below.certificate), derOf(noCrlSign.certificate), [asCrl(list)]), {
      ...unknown,
      why: 'the key of the issuer may not sign lists',
    })
  })

  test('is revoked also in a list or entry with an unknown critical extension, but not good', async () => {
    const entry = { certificate: signer.certificate, at: revokedAt, reason: REASON.keyCompromise }
    const revoked = { state: 'revoked', by: 'crl', asOf, revokedAt: revokedAt.getTime(), reason: REASON.keyCompromise }
    for (const options of [
      { extensions: CRITICAL, revoked: [entry] },
      { revoked: [{ ...entry, extensions: CRITICAL }] },
    ])
      assert.deepEqual(statusIn(asCrl(await crl({ issuer: root, ...options }))), revoked)
    const others = [{ ...entry, certificate: other.certificate }]
    const status = revocationStatus(derOf(signer.certificate), derOf(root.certificate), [
      asCrl(await crl({ issuer: root, extensions: CRITICAL, revoked: others })),
    ])
    assert.match('why' in status ? (status.why ?? '') : '', /may be about other certificates/)
    for (const oid of ['2.5.29.27', '2.5.29.28'])
      for (const listed of [[], others]) {
        const extensions = [extension(oid, false, new asn1js.Sequence())]
        assert.deepEqual(statusIn(asCrl(await crl({ issuer: root, extensions, revoked: listed }))), unknown, oid)
      }
    const removed = [{ ...entry, reason: 8 }]
    assert.deepEqual(statusIn(asCrl(await crl({ issuer: root, extensions: CRITICAL, revoked: removed }))), unknown)
  })

  test('is that of the issuer which an entry of a list for several issuers names', async () => {
    const by = (issuer: pkijs.Certificate): pkijs.Extension => {
      const name = new pkijs.GeneralName({ type: 4, value: issuer.subject })
      return extension('2.5.29.29', true, new pkijs.GeneralNames({ names: [name] }).toSchema())
    }
    const at = revokedAt
    const mine = { certificate: signer.certificate, at }
    const statusOf = async (
      revoked: Parameters<typeof crl>[0]['revoked'],
      extensions: readonly pkijs.Extension[] = CRITICAL,
    ): Promise<string> => statusIn(asCrl(await crl({ issuer: root, extensions, ...(revoked && { revoked }) }))).state
    const foreign = { certificate: other.certificate, at, extensions: [by(stranger.certificate)] }
    assert.equal(await statusOf([foreign, mine]), 'unknown')
    assert.equal(await statusOf([mine, foreign]), 'revoked')
    assert.notEqual(await statusOf([foreign, mine], []), 'revoked')
    assert.equal(await statusOf([foreign, { ...mine, extensions: [by(root.certificate)] }]), 'revoked')
  })

  test('searches a list for several issuers once for all certificates of an issuer', async () => {
    const bytes = new asn1js.OctetString({ valueHex: new ArrayBuffer(2 ** 20) })
    const foreign = { certificate: other.certificate, at: revokedAt, extensions: [extension('1.2.4', false, bytes)] }
    const listed = [signer, other].map(({ certificate: one }) => ({ certificate: one, at: revokedAt }))
    const revoked = [foreign, ...Array.from({ length: 16 }, () => listed).flat()]
    const list = asCrl(await crl({ issuer: root, extensions: CRITICAL, revoked }))
    const budget = new SignatureBudget()
    const costs = [signer, other].map(({ certificate: one }) => {
      const before = budget.used
      const [certificateOfOne, issuer] = [one, root.certificate].map((each) => certificateOnce(derOf(each), budget))
      assert.equal(
        knownStatuses({ certificate: present(certificateOfOne), issuer: present(issuer), budget }, [list]).length,
        16,
      )
      return budget.used - before
    })
    // Parsing costs 22 units, the signature 19, the search in 1 MB 4. For another one only its certificate is parsed.
    assert.deepEqual(costs, [45, 2])
  })

  test('counts a reason of any number of bytes, and one that cannot be read as a compromise', async () => {
    const reasonIn = async (bytes: readonly number[]): Promise<number | undefined> => {
      const value = new asn1js.Enumerated({ valueHex: Uint8Array.from(bytes).buffer })
      const entry = {
        certificate: signer.certificate,
        at: revokedAt,
        extensions: [extension('2.5.29.21', false, value)],
      }
      const status = statusIn(asCrl(await crl({ issuer: root, revoked: [entry] })))
      return status.state === 'revoked' ? status.reason : -1
    }
    assert.equal(await reasonIn([0, 0, 0, 1]), REASON.keyCompromise)
    assert.equal(await reasonIn([0, 0, 0, 0, 0, 4]), REASON.superseded)
    assert.equal(await reasonIn([0, 0, 0, 0, 0, 0, 4]), undefined)
    assert.equal(await reasonIn([0xfc]), undefined)
  })

  test('reads a list of many entries and one in PEM', async () => {
    const list = await crl({ issuer: root, revoked: [{ certificate: signer.certificate, at: revokedAt }] })
    const pem = (label: string): Uint8Array =>
      encodeUtf8(
        `-----BEGIN ${label}-----\r\n${toBase64(list).replace(/.{64}/g, '$&\r\n')}\r\n-----END ${label}-----\r\n`,
      )
    for (const label of ['X509 CRL', 'CRL']) assert.equal(statusIn(asCrl(pem(label))).state, 'revoked')
    const entries = Array.from({ length: 6_000 }, () => ({ certificate: other.certificate, at: revokedAt }))
    const many = await crl({ issuer: root, revoked: [...entries, { certificate: signer.certificate, at: revokedAt }] })
    assert.ok(many.length > MAX_VALIDATION_DATA_BYTES)
    assert.equal(statusIn(asCrl(many)).state, 'revoked')
  })
})

describe('revocationStatus by OCSP', () => {
  const about = (options: Partial<OcspOptions> = {}): Promise<Uint8Array> =>
    ocspResponse({ issuer: root, certificate: signer.certificate, state: 'good', ...options })

  test('is good or revoked as the issuer states, with time and reason', async () => {
    assert.deepEqual(statusIn(asOcsp(await about())), { state: 'good', by: 'ocsp', asOf })
    const revoked = { state: 'revoked', by: 'ocsp', asOf, revokedAt: revokedAt.getTime() }
    assert.deepEqual(statusIn(asOcsp(await about({ state: { revokedAt } }))), revoked)
    const reason = REASON.keyCompromise
    assert.deepEqual(statusIn(asOcsp(await about({ state: { revokedAt, reason } }))), { ...revoked, reason })
  })

  for (const certIdHash of ['SHA-256', 'SHA-384', 'SHA-512'] as const)
    test(`accepts a CertID with ${certIdHash}`, async () => {
      assert.equal(statusIn(asOcsp(await about({ certIdHash }))).state, 'good')
    })

  const octets = new asn1js.OctetString({ valueHex: new ArrayBuffer(20) })
  const time = new asn1js.GeneralizedTime({ valueDate: revokedAt })
  const tagged = (tagNumber: number, value: asn1js.BaseBlock): asn1js.Constructed =>
    new asn1js.Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [value] })
  const ignored: readonly (readonly [what: string, options: Partial<OcspOptions>])[] = [
    ['of a responder that does not know the certificate', { state: 'unknown' }],
    ['about another certificate', { certificate: other.certificate }],
    ['under another issuer', { issuer: stranger, responder: root }],
    ['that names only the key of the issuer', { change: ({ certID }) => void (certID.issuerNameHash = octets) }],
    ['that names only the issuer', { change: ({ certID }) => void (certID.issuerKeyHash = octets) }],
    ['of another type', { responseType: '1.2.3' }],
    ['with a statement of an unknown kind', { change: (single) => (single.certStatus = tagged(2, time)) }],
    ['with a revocation without a time', { change: (single) => (single.certStatus = tagged(1, new asn1js.Null())) }],
    ['signed by a stranger', { state: { revokedAt }, responder: stranger }],
    ['signed by a stranger, without a certificate', { state: { revokedAt }, responder: stranger, certificates: [] }],
    ['with an error status', { status: 6 }],
    ['with an unknown critical extension', { extensions: CRITICAL }],
    ['with an unknown critical extension of its statement', { singleExtensions: CRITICAL }],
  ]
  for (const [what, options] of ignored)
    test(`ignores a response ${what}`, async () => {
      assert.deepEqual(statusIn(asOcsp(await about(options))), unknown)
    })

  test('ignores a response with a broken signature', async () => {
    assert.deepEqual(statusIn(asOcsp(withBrokenEnd(await about()))), unknown)
  })

  test('accepts a responder only if the issuer authorised it, and it was valid then', async () => {
    const keys = await keyPair('P-256', 'responder')
    const authorised = { critical: false, purposes: [OCSP_SIGNING] }
    const cases = [
      ['good', { issuer: root, extendedKeyUsage: authorised }],
      ['unknown', { issuer: root }],
      ['unknown', { issuer: root, extendedKeyUsage: { critical: false, purposes: [OID.codeSigning] } }],
      ['unknown', { issuer: stranger, extendedKeyUsage: authorised }],
      // Named as a certificate of the issuer, but signed by another key.
      ['unknown', { issuer: { ...root, keys: stranger.keys }, extendedKeyUsage: authorised }],
      // Signed by the issuer's key, but under another name.
      ['unknown', { issuer: { keys: root.keys, certificate: stranger.certificate }, extendedKeyUsage: authorised }],
      ['unknown', { issuer: root, extendedKeyUsage: authorised, notAfter: new Date(asOf - 1000) }],
      ['unknown', { issuer: root, extendedKeyUsage: authorised, hash: 'sha1' }],
    ] as const
    for (const [state, { issuer, ...options }] of cases) {
      const responder = { keys, certificate: await certificate({ name: 'responder', keys, issuer, ...options }) }
      assert.equal(statusIn(asOcsp(await about({ responder }))).state, state, JSON.stringify(options))
    }
  })

  test('reads at most four responder certificates', async () => {
    const keys = await keyPair('P-256', 'responder')
    const extendedKeyUsage = { critical: false, purposes: [OCSP_SIGNING] }
    const responder = {
      keys,
      certificate: await certificate({ name: 'responder', keys, issuer: root, extendedKeyUsage }),
    }
    const stateWith = async (before: number): Promise<string> => {
      const certificates = [...Array.from({ length: before }, () => other.certificate), responder.certificate]
      return statusIn(asOcsp(await about({ responder, certificates }))).state
    }
    assert.deepEqual([await stateWith(3), await stateWith(4)], ['good', 'unknown'])
  })
})

describe('revocationStatus at a time', () => {
  const DAY = 86_400_000
  const day = (number: number): Date => new Date(asOf + number * DAY)
  const time = (oid: string, at: Date): pkijs.Extension =>
    extension(oid, false, new asn1js.GeneralizedTime({ valueDate: at }))
  const stateAt = async (at: Date | undefined, piece: Promise<Uint8Array>, type: 'crl' | 'ocsp', of = signer) =>
    revocationStatus(derOf(of.certificate), derOf(root.certificate), [{ type, der: await piece }], at?.getTime()).state
  const answer = (options: Partial<OcspOptions> = {}, of = signer): Promise<Uint8Array> =>
    ocspResponse({ issuer: root, certificate: of.certificate, state: 'good', ...options })

  test('is unknown if the newest statement was to be replaced before it', async () => {
    // The next list was to follow after a day, the next response after a day, or at any time.
    const next = (single: pkijs.SingleResponse): void => void (single.nextUpdate = day(1))
    for (const [at, list, dated, undated] of [
      [undefined, 'good', 'good', 'good'],
      [day(-1000), 'good', 'good', 'good'],
      [day(0.001), 'good', 'good', 'good'],
      [day(1), 'good', 'good', 'unknown'],
      [day(1.1), 'unknown', 'unknown', 'unknown'],
      [day(1000), 'unknown', 'unknown', 'unknown'],
    ] as const) {
      assert.equal(await stateAt(at, crl({ issuer: root }), 'crl'), list)
      assert.equal(await stateAt(at, answer({ change: next }), 'ocsp'), dated)
      assert.equal(await stateAt(at, answer(), 'ocsp'), undated)
    }
    const revoked = [{ certificate: signer.certificate, at: revokedAt }]
    assert.equal(await stateAt(day(1000), crl({ issuer: root, revoked }), 'crl'), 'revoked')
  })

  test('is unknown by what was made after the certificate had expired, unless it keeps such certificates', async () => {
    const expired = await signerUnder(root, { name: 'expired', notAfter: day(-1) })
    const revoked = [{ certificate: expired.certificate, at: revokedAt }]
    for (const [state, extensions] of [
      ['unknown', []],
      ['unknown', [time('2.5.29.60', day(-0.5))]],
      ['good', [time('2.5.29.60', day(-1))]],
    ] as const)
      assert.equal(await stateAt(day(-2), crl({ issuer: root, extensions }), 'crl', expired), state)
    for (const [state, singleExtensions] of [
      ['unknown', []],
      ['unknown', [time('1.3.6.1.5.5.7.48.1.6', day(-0.5))]],
      ['good', [time('1.3.6.1.5.5.7.48.1.6', day(-1))]],
    ] as const)
      assert.equal(await stateAt(day(-2), answer({ singleExtensions }, expired), 'ocsp', expired), state)
    assert.equal(await stateAt(day(-2), crl({ issuer: root, revoked }), 'crl', expired), 'revoked')
    assert.equal(await stateAt(day(-2), crl({ issuer: root, thisUpdate: day(-1) }), 'crl', expired), 'good')
  })

  test('is that at genTime for a token', async () => {
    const data = encodeUtf8('data')
    const trustAnchors = [derOf(root.certificate)]
    const validationData = [asCrl(await crl({ issuer: root }))]
    for (const [genTime, state] of [
      [day(0.5), 'good'],
      [day(400), 'unknown'],
    ] as const) {
      const token = await response({ signer, data, genTime })
      assert.equal(verifyTimestamp(token, { data, trustAnchors, validationData }).revocation?.[0]?.state, state)
    }
  })
})

describe('revocationStatus of several pieces', () => {
  const revoked = [{ certificate: signer.certificate, at: revokedAt }]

  test('is unknown without any piece', () => {
    assert.deepEqual(statusIn(), unknown)
    assert.deepEqual(statusIn({ type: 'certificate', der: derOf(root.certificate) }), unknown)
  })

  test('takes the newest good piece, in any order', async () => {
    const stale = asCrl(await crl({ issuer: root }))
    const newest = asCrl(await crl({ issuer: root, thisUpdate: later }))
    const good = { state: 'good', by: 'crl', asOf: later.getTime() }
    assert.deepEqual(statusIn(stale, newest), good)
    assert.deepEqual(statusIn(newest, stale), good)
  })

  test('is revoked if any piece says so, also an older one', async () => {
    const old = asCrl(await crl({ issuer: root, revoked }))
    const newest = asOcsp(
      await ocspResponse({ issuer: root, certificate: signer.certificate, state: 'good', thisUpdate: later }),
    )
    for (const pieces of [
      [old, newest],
      [newest, old],
    ])
      assert.deepEqual([statusIn(...pieces).state, statusIn(...pieces)], ['revoked', statusIn(old)])
  })

  test('counts a possible compromise first, then the earliest revocation, then the newest statement', async () => {
    const pieceOf = async (day: number, reason: number, thisUpdate = DEFAULT_THIS_UPDATE): Promise<ValidationData> => {
      const entry = { certificate: signer.certificate, at: new Date(Date.UTC(2026, 4, day)), reason }
      return asCrl(await crl({ issuer: root, revoked: [entry], thisUpdate }))
    }
    const pairs = [
      [await pieceOf(9, REASON.keyCompromise), await pieceOf(1, REASON.superseded)],
      [await pieceOf(1, REASON.superseded), await pieceOf(9, REASON.superseded)],
      [await pieceOf(1, REASON.keyCompromise), await pieceOf(9, REASON.keyCompromise)],
      [await pieceOf(1, REASON.superseded, later), await pieceOf(1, REASON.superseded)],
    ] as const
    for (const [worse, better] of pairs)
      for (const pieces of [
        [worse, better],
        [better, worse],
      ])
        assert.deepEqual(statusIn(...pieces), statusIn(worse))
  })

  test('ignores malformed and mislabelled pieces', async () => {
    const list = await crl({ issuer: root })
    for (const der of [new Uint8Array(), Uint8Array.of(0x30, 0), list.subarray(0, -1), new Uint8Array([...list, 0])])
      for (const piece of [asCrl(der), asOcsp(der)]) assert.deepEqual(statusIn(piece), unknown)
    assert.deepEqual(statusIn(asOcsp(list)), unknown)
    const good = await ocspResponse({ issuer: root, certificate: signer.certificate, state: 'good' })
    assert.deepEqual(statusIn({ type: 'certificate', der: good }), unknown)
  })

  test('does not say revoked because of a flipped bit, and notices most of them', async () => {
    const list = asCrl(await crl({ issuer: root }))
    const answer = asOcsp(await ocspResponse({ issuer: root, certificate: signer.certificate, state: 'good' }))
    for (const piece of [list, answer]) {
      const states = Array.from(piece.der, (byte, at) => {
        return statusIn({ ...piece, der: piece.der.with(at, byte ^ (1 << (at % 8))) }).state
      })
      assert.ok(!states.includes('revoked'))
      assert.ok(states.filter((state) => state === 'unknown').length > states.length / 2)
    }
  })

  test('ignores a piece that is too large, however correct', async () => {
    const text = new asn1js.Utf8String({ value: 'x'.repeat(MAX_CRL_BYTES) })
    const large = await crl({ issuer: root, revoked, extensions: [extension('1.2.3', false, text)] })
    assert.ok(large.length > MAX_CRL_BYTES)
    assert.deepEqual(statusIn(asCrl(large)), unknown)
    const small = await crl({ issuer: root, revoked, extensions: [extension('1.2.3', false, new asn1js.Null())] })
    assert.equal(statusIn(asCrl(small)).state, 'revoked')
  })

  test('throws VERIFICATION_FAILED if certificate or issuer is not a certificate', () => {
    const der = derOf(signer.certificate)
    const bytes = new Uint8Array(3)
    for (const [subject, issuer] of [
      [bytes, der],
      [der, bytes],
    ] as const) {
      assert.throws(() => revocationStatus(subject, issuer, []), { code: 'VERIFICATION_FAILED' })
      assert.throws(() => revocationAddresses(subject, issuer), { code: 'VERIFICATION_FAILED' })
    }
  })
})

describe('voidsTimestamp', () => {
  const genTime = Date.UTC(2026, 5, 1)
  const status = (at: number, reason?: number): RevocationStatus => ({
    state: 'revoked',
    by: 'crl',
    asOf,
    revokedAt: at,
    ...(reason !== undefined && { reason }),
  })

  test('accepts unknown and good certificates', () => {
    assert.equal(voidsTimestamp(unknown, genTime), false)
    assert.equal(voidsTimestamp({ state: 'good', by: 'crl', asOf }, genTime), false)
  })

  test('accepts a token from before the revocation only for reasons without a compromise', () => {
    const accepted = Array.from({ length: 11 }, (_, reason) => reason).filter(
      (reason) => !voidsTimestamp(status(genTime + 1, reason), genTime),
    )
    // unspecified, affiliationChanged, superseded, cessationOfOperation (RFC 3161 § 4).
    assert.deepEqual(accepted, [0, 3, 4, 5])
    assert.equal(voidsTimestamp(status(genTime + 1), genTime), true)
  })

  test('rejects a token from the time of the revocation on, for every reason', () => {
    for (const reason of [0, 1, 3, 4, 5]) assert.equal(voidsTimestamp(status(genTime, reason), genTime), true)
  })

  test('makes verifyTimestamp reject a token of a revoked signer', async () => {
    const data = Uint8Array.of(1, 2, 3)
    const token = await response({ signer, data })
    const trustAnchors = [derOf(root.certificate)]
    const after = new Date(DEFAULT_GEN_TIME.getTime() + 86_400_000)
    const verifyWith = async (at: Date, reason: number) => {
      const list = await crl({ issuer: root, revoked: [{ certificate: signer.certificate, at, reason }] })
      return () => verifyTimestamp(token, { data, trustAnchors, validationData: [asCrl(list)] })
    }
    const superseded = (await verifyWith(after, REASON.superseded))().revocation
    assert.deepEqual(
      [superseded?.length, superseded?.[0]?.state, superseded?.[0]?.subject],
      [1, 'revoked', 'CN=signer'],
    )
    for (const [at, reason] of [
      [after, REASON.keyCompromise],
      [revokedAt, REASON.superseded],
    ] as const)
      assert.throws(await verifyWith(at, reason), { code: 'VERIFICATION_FAILED', rule: 'timestamp.revoked' })
  })
})

describe('revocationAddresses', () => {
  const uri = (value: string): asn1js.Primitive =>
    new asn1js.Primitive({ idBlock: { tagClass: 3, tagNumber: 6 }, valueHex: new TextEncoder().encode(value).buffer })
  const sequence = (...value: asn1js.BaseBlock[]): asn1js.Sequence => new asn1js.Sequence({ value })
  const tagged = (...value: asn1js.BaseBlock[]): asn1js.Constructed =>
    new asn1js.Constructed({ idBlock: { tagClass: 3, tagNumber: 0 }, value })
  const access = (method: string, address: string): asn1js.Sequence =>
    sequence(new asn1js.ObjectIdentifier({ value: method }), uri(address))

  test('reads http addresses of OCSP and CRLs, and identifies the issuer by SHA-1', async () => {
    const keys = await keyPair('P-256', 'named')
    const named = await certificate({
      name: 'named',
      keys,
      issuer: root,
      extensions: [
        extension(
          '1.3.6.1.5.5.7.1.1',
          false,
          sequence(
            access('1.3.6.1.5.5.7.48.1', 'http://ocsp.example/a'),
            // caIssuers, which is not a responder.
            access('1.3.6.1.5.5.7.48.2', 'http://ca.example/root.der'),
            access('1.3.6.1.5.5.7.48.1', 'ldap://ocsp.example/b'),
          ),
        ),
        extension(
          '2.5.29.31',
          false,
          sequence(
            sequence(tagged(tagged(uri('https://crl.example/1'), uri('file:///etc/passwd')))),
            sequence(tagged(tagged(uri('http://crl.example/2')))),
          ),
        ),
      ],
    })
    const { ocsp, crl: lists, certId } = revocationAddresses(derOf(named), derOf(root.certificate))
    assert.deepEqual(ocsp, ['http://ocsp.example/a'])
    assert.deepEqual(lists, ['https://crl.example/1', 'http://crl.example/2'])
    const serial = new X509Certificate(derOf(named)).serialNumber.toLowerCase()
    assert.match(Buffer.from(certId.serialNumber).toString('hex'), new RegExp(`^(00)?${serial}$`))
    const sha1 = (bytes: ArrayBuffer | Uint8Array): Uint8Array =>
      new Uint8Array(createHash('sha1').update(new Uint8Array(bytes)).digest())
    assert.deepEqual(certId.nameHash, sha1(root.certificate.subject.toSchema().toBER()))
    const key = root.certificate.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView
    assert.deepEqual(certId.keyHash, sha1(key))
  })

  test('are empty if the certificate names none', () => {
    const { ocsp, crl: lists } = revocationAddresses(derOf(signer.certificate), derOf(root.certificate))
    assert.deepEqual([ocsp, lists], [[], []])
  })
})

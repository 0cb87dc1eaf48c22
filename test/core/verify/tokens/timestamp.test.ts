import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import * as asn1js from 'asn1js'
import * as fc from 'fast-check'
import * as pkijs from 'pkijs'
import { concatBytes } from '../../../../core/bytes.ts'
import type { VerificationRule } from '../../../../core/rules.ts'
import { isRegistryError } from '../../../../core/errors.ts'
import {
  MAX_CLOCK_SKEW_MS,
  MAX_TIMESTAMP_BYTES,
  parseTimestampResponse,
  verifyTimestamp,
  type VerifyTimestampOptions,
} from '../../../../core/verify/tokens.ts'
import { verifyToken } from '../../../../core/verify/tokens/timestamp.ts'
import { SignatureBudget } from '../../../../core/verify/untrusted.ts'
import {
  attribute,
  authorityNamed,
  DEFAULT_GEN_TIME,
  DEFAULT_POLICY,
  derOf,
  extension,
  keyPair,
  octets,
  OID,
  response,
  signingCertificateV1,
  signerUnder,
  signingCertificateV2,
  type Issuer,
  type ResponseOptions,
} from '../../../support/test-authority.ts'
import { crl } from '../../../support/test-revocation.ts'

const data = new TextEncoder().encode('some data')
type SignerOptions = NonNullable<Parameters<typeof signerUnder>[1]>
type After = NonNullable<ResponseOptions['after']>
type Attributes = NonNullable<ResponseOptions['attributes']>

const root = await authorityNamed('root')
const signer = await signerUnder(root)
const anchors = [derOf(root.certificate)]
const reply = (options: Partial<ResponseOptions> = {}): Promise<Uint8Array> => response({ signer, data, ...options })

const verify = (der: Uint8Array, options: Partial<VerifyTimestampOptions> = {}): ReturnType<typeof verifyTimestamp> =>
  verifyTimestamp(der, { data, trustAnchors: anchors, ...options })

const assertRejected = (run: () => unknown, rule: VerificationRule): void =>
  assert.throws(run, { code: 'VERIFICATION_FAILED', rule })

describe('verifyTimestamp accepts', () => {
  test('a correct token, and returns what it states', async () => {
    const nonce = Uint8Array.of(0, 0, 0x91, 2, 3)
    const accuracy = new pkijs.Accuracy({ seconds: 1, millis: 500, micros: 250 })
    const der = await reply({ nonce, accuracy })
    const info = verify(der, { nonce, policy: DEFAULT_POLICY, at: DEFAULT_GEN_TIME.getTime() })
    assert.deepEqual(info, parseTimestampResponse(der))
    const { serialNumber, ...rest } = info
    assert.match(serialNumber, /^2a[0-9a-f]{16}$/)
    assert.deepEqual(rest, {
      genTime: DEFAULT_GEN_TIME.getTime(),
      policy: DEFAULT_POLICY,
      hashAlgorithm: 'sha256',
      imprint: new Uint8Array(createHash('sha256').update(data).digest()),
      nonce: Uint8Array.of(0, 0x91, 2, 3),
      accuracyMs: 1500.25,
      notLaterThan: DEFAULT_GEN_TIME.getTime() + 1501,
    })
  })

  test('a digest in place of the data', async () => {
    const digest = new Uint8Array(createHash('sha384').update(data).digest())
    const info = verifyTimestamp(await reply({ hash: 'sha384' }), { digest, trustAnchors: anchors })
    assert.equal(info.hashAlgorithm, 'sha384')
  })

  for (const kind of ['P-256', 'P-384', 'P-521', 'RSA', 'RSA-PSS'] as const)
    for (const hash of ['sha256', 'sha384', 'sha512'] as const)
      test(`${kind} with ${hash} in imprint, signature, ESSCertIDv2 and certificates`, async () => {
        const issuer = await authorityNamed('root', { kind })
        const own = await signerUnder(issuer, { hash, kind })
        const attributes: Attributes = (all, made) => [...all.slice(0, 2), signingCertificateV2(derOf(made), hash)]
        const der = await response({ signer: own, data, hash, signatureHash: hash, attributes })
        assert.equal(verify(der, { trustAnchors: [derOf(issuer.certificate)] }).hashAlgorithm, hash)
      })

  test('an RSA signature with the algorithm rsaEncryption', async () => {
    const issuer = await authorityNamed('root', { kind: 'RSA' })
    const own = await signerUnder(issuer, { kind: 'RSA' })
    const after = (signed: pkijs.SignedData): void => {
      for (const info of signed.signerInfos) info.signatureAlgorithm.algorithmId = '1.2.840.113549.1.1.1'
    }
    const der = await response({ signer: own, data, after })
    assert.ok(verify(der, { trustAnchors: [derOf(issuer.certificate)] }))
  })

  test('a signer named by its key identifier', async () => {
    assert.ok(verify(await reply({ byKeyIdentifier: true })))
  })

  test('ESSCertID with SHA-1, alone or together with ESSCertIDv2', async () => {
    const alone: Attributes = (all, own) => [...all.slice(0, 2), signingCertificateV1(derOf(own))]
    assert.ok(verify(await reply({ attributes: alone })))
    const both: Attributes = (all, own) => [...all, signingCertificateV1(derOf(own))]
    assert.ok(verify(await reply({ attributes: both })))
  })

  test('a path through intermediate authorities, with certificates in any order and unrelated ones', async () => {
    const between = await authorityNamed('between', { issuer: root })
    const own = await signerUnder(between)
    const stranger = (await authorityNamed('stranger')).certificate
    for (const certificates of [
      [stranger, between.certificate, own.certificate],
      [own.certificate, between.certificate, root.certificate],
    ])
      assert.ok(verify(await response({ signer: own, data, certificates })))
  })

  test('a signer that is itself a trust anchor, also if the token lacks its certificate', async () => {
    const trustAnchors = [derOf(signer.certificate)]
    assert.ok(verify(await reply(), { trustAnchors }))
    assert.ok(verify(await reply({ certificates: [] }), { trustAnchors }))
  })

  test('certificates that expired after genTime', async () => {
    const own = await signerUnder(root, { notAfter: new Date('2026-06-01T12:00:01Z') })
    assert.ok(verify(await reply({ signer: own }), { at: Date.UTC(2039, 0, 1) }))
  })

  test('the status grantedWithMods', async () => {
    assert.ok(verify(await reply({ status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.grantedWithMods }) })))
  })
})

describe('verifyTimestamp rejects', () => {
  const other = new TextEncoder().encode('other data')
  const nonce = Uint8Array.of(1, 2, 3)
  const NULL = new asn1js.Null()
  const algorithm =
    (id: string): After =>
    ({ signerInfos: [info] }) => {
      if (info) info.signatureAlgorithm.algorithmId = id
    }
  const breakSignature: After = ({ signerInfos: [info] }) => {
    const view = info?.signature.valueBlock.valueHexView
    if (view) view[view.length - 1] = (view.at(-1) ?? 0) ^ 1
  }
  const swapContent = async (): Promise<After> => {
    const token = pkijs.TimeStampResp.fromBER(await reply({ data: other })).timeStampToken
    const content = new pkijs.SignedData({ schema: token?.content }).encapContentInfo.eContent?.getValue()
    return ({ encapContentInfo }) => void (encapContentInfo.eContent = octets(new Uint8Array(content ?? [])))
  }
  const oid = (value: string): asn1js.ObjectIdentifier => new asn1js.ObjectIdentifier({ value })
  const withAttributes = (attributes: Attributes) => ({ attributes })
  const withGenTime = (text: string) => ({
    content: (der: Uint8Array) =>
      new Uint8Array(Buffer.from(Buffer.from(der).toString('latin1').replace('20260601120000.25Z', text), 'latin1')),
  })
  const withSigner = async (options: SignerOptions) => ({ signer: await signerUnder(root, options) })

  type Made = Partial<ResponseOptions>
  /** A token is correct except for what is said here. */
  const cases: readonly (readonly [
    what: string,
    rule: VerificationRule,
    made: Made | (() => Promise<Made>),
    options?: Partial<VerifyTimestampOptions>,
  ])[] = [
    ['other data', 'timestamp.data-differs', {}, { data: new Uint8Array(3) }],
    ['another imprint', 'timestamp.data-differs', { imprint: new Uint8Array(randomBytes(32)) }],
    ['an imprint with a weak hash', 'timestamp.unsupported', { hash: 'sha1' }],
    ['an imprint of a wrong length', 'timestamp.malformed', { imprint: new Uint8Array(31) }],
    ['another nonce', 'timestamp.request-differs', { nonce }, { nonce: Uint8Array.of(1, 2, 4) }],
    ['a missing nonce', 'timestamp.request-differs', {}, { nonce }],
    ['another policy', 'timestamp.request-differs', { policy: '1.2.3.4' }, { policy: DEFAULT_POLICY }],
    ['a rejection that contains a valid token', 'timestamp.not-granted',
      { status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.rejection }) }],
    ['a wrong signature', 'timestamp.signature', { after: breakSignature }],
    ['a signature by another key', 'timestamp.signature',
      async () => ({ signer: { ...signer, keys: await keyPair('P-256', 'other') } })],
    ['a signature of another type', 'timestamp.unsupported', { after: algorithm('1.2.840.113549.1.1.11') }],
    ['a weak signature', 'timestamp.unsupported', { after: algorithm('1.2.840.10045.4.1') }],
    ['content that was not signed', 'timestamp.content-differs',
      async () => ({ after: await swapContent() }), { data: other }],
    ['another content type', 'timestamp.content-differs',
      withAttributes((all) => [attribute(OID.contentType, oid(OID.data)), ...all.slice(1)])],
    ['no content type', 'timestamp.content-differs', withAttributes((all) => all.slice(1))],
    ['no message digest', 'timestamp.content-differs',
      withAttributes((all) => all.filter(({ type }) => type !== OID.messageDigest))],
    ['two message digests', 'timestamp.malformed',
      withAttributes((all) => [...all, attribute(OID.messageDigest, octets(new Uint8Array(32)))])],
    ['a content type with two values', 'timestamp.malformed',
      withAttributes((all) => [attribute(OID.contentType, oid(OID.tstInfo), oid(OID.data)), ...all.slice(1)])],
    ['no certificate identifier', 'timestamp.signer-differs', withAttributes((all) => all.slice(0, 2))],
    ['the identifier of another certificate', 'timestamp.signer-differs',
      withAttributes((all) => [...all.slice(0, 2), signingCertificateV2(derOf(root.certificate))])],
    ['that of another one by SHA-1', 'timestamp.signer-differs',
      withAttributes((all) => [...all.slice(0, 2), signingCertificateV1(derOf(root.certificate))])],
    ['that of another one by SHA-1 beside the right one', 'timestamp.signer-differs',
      withAttributes((all) => [...all, signingCertificateV1(derOf(root.certificate))])],
    ['a malformed certificate identifier', 'timestamp.malformed',
      withAttributes((all) => [...all.slice(0, 2), attribute(OID.signingCertificateV2, octets(data))])],
    ['no signed attributes', 'timestamp.content-differs',
      { after: ({ signerInfos: [info] }) => void (info && delete info.signedAttrs) }],
    ['content of another type', 'timestamp.malformed', { eContentType: OID.data }],
    ['content that is not a TSTInfo', 'timestamp.malformed', { content: () => Uint8Array.of(4, 1, 0) }],
    ['bytes after the TSTInfo', 'timestamp.malformed', { content: (der) => concatBytes(der, Uint8Array.of(0)) }],
    ['another version of TSTInfo', 'timestamp.unsupported', { content: (der) => der.with(der.indexOf(2) + 2, 2) }],
    ['a critical extension of the TSTInfo', 'timestamp.unsupported',
      { tstExtensions: [extension('1.2.3', true, NULL)] }],
    ['a genTime without Z', 'timestamp.malformed', withGenTime('20260601120000.250')],
    ['a genTime in month 13', 'timestamp.malformed', withGenTime('20261301120000.25Z')],
    ['a genTime on February 30', 'timestamp.malformed', withGenTime('20260230120000.25Z')],
    ['a genTime in second 60', 'timestamp.malformed', withGenTime('20260601120060.25Z')],
    ['a genTime with an offset', 'timestamp.malformed', withGenTime('202606011200+0100Z')],
    ['no signer', 'timestamp.malformed', { after: (signed) => void (signed.signerInfos = []) }],
    ['two signers', 'timestamp.malformed',
      { after: (signed) => void signed.signerInfos.push(...signed.signerInfos) }],
    ['a token without the certificate of its signer', 'timestamp.signer-differs',
      { certificates: [root.certificate] }],
    ['too many certificates', 'form.length',
      { certificates: [signer.certificate, ...Array<pkijs.Certificate>(40).fill(root.certificate)] }],
    ['a certificate that is not for timestamps', 'certificate.unusable',
      () => withSigner({ extendedKeyUsage: undefined })],
    ['a certificate that has an extension twice, which is not read', 'timestamp.signer-differs',
      () => withSigner({ extensions: [1, 2].map(() => extension('1.2.3', false, NULL)) })],
    ['a signer that was not valid any more', 'certificate.unusable',
      () => withSigner({ notAfter: new Date('2026-06-01T12:00:00Z') })],
    ['a signer that was not valid yet', 'certificate.unusable',
      () => withSigner({ notBefore: new Date('2026-06-01T12:00:01Z') })],
  ] // prettier-ignore
  for (const [what, rule, made, options] of cases)
    test(`${what}: ${rule}`, async () => {
      const der = await reply(typeof made === 'function' ? await made() : made)
      assertRejected(() => verify(der, options), rule)
    })

  test('another digest', async () => {
    const der = await reply()
    const digest = new Uint8Array(32)
    assertRejected(() => verifyTimestamp(der, { digest, trustAnchors: anchors }), 'timestamp.data-differs')
  })

  test('a genTime in the future', async () => {
    const der = await reply()
    assert.ok(verify(der, { at: DEFAULT_GEN_TIME.getTime() - MAX_CLOCK_SKEW_MS }))
    assertRejected(() => verify(der, { at: DEFAULT_GEN_TIME.getTime() - MAX_CLOCK_SKEW_MS - 1 }), 'timestamp.in-future')
  })

  test('a response without a token, with the reason of the authority', () => {
    const failInfo = new asn1js.BitString({ valueHex: Uint8Array.of(0x20, 1).buffer })
    const statusStrings = [new asn1js.Utf8String({ value: 'not\u0007 today' })]
    const status = new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.rejection, failInfo, statusStrings })
    const der = new Uint8Array(new pkijs.TimeStampResp({ status }).toSchema().toBER())
    const message = /returned rejection, badRequest, unacceptedPolicy "not {2}today"$/
    assert.throws(() => verify(der), { rule: 'timestamp.not-granted', message })
    const granted = new pkijs.TimeStampResp({ status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.granted }) })
    assertRejected(() => verify(new Uint8Array(granted.toSchema().toBER())), 'timestamp.malformed')
  })
})

describe('the path to a trust anchor', () => {
  test('is rejected if no known certificate issued the signer', async () => {
    const der = await reply()
    const stranger = await authorityNamed('stranger')
    for (const trustAnchors of [[], [derOf(stranger.certificate)]])
      assertRejected(() => verify(der, { trustAnchors }), 'certificate.not-trusted')
  })

  test('is rejected after too many issuers of the same name', async () => {
    const chain: Issuer[] = []
    for (let i = 0; i < 31; i += 1) {
      const keys = await keyPair('P-256', `namesake ${i}`)
      const issuer = chain.at(-1)
      chain.push(await authorityNamed('namesake', { keys, ...(issuer && { issuer }) }))
    }
    const own = await signerUnder(chain.at(-1) ?? root)
    const certificates = [own.certificate, ...chain.map((link) => link.certificate)]
    const der = await response({ signer: own, data, certificates })
    assertRejected(() => verify(der), 'limit.signatures')
  })

  test('is not confused by a certificate that carries another one as PEM', async () => {
    // A correct certificate for another purpose, under the same root: OpenSSL would find it inside the forged one.
    const purposes = [OID.codeSigning]
    const correct = await signerUnder(root, { extendedKeyUsage: { critical: false, purposes } })
    const lines =
      Buffer.from(derOf(correct.certificate))
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    const pem = ['', '-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
    const unknown = await authorityNamed('unknown')
    const forged = await signerUnder(unknown, {
      extensions: [extension('1.2.3', false, new asn1js.Utf8String({ value: pem }))],
    })
    const der = await response({ signer: forged, data })
    assertRejected(() => verify(der), 'certificate.not-trusted')
  })
})

describe('hostile bytes', () => {
  test('trailing bytes, after the response and inside it', async () => {
    const der = await reply()
    assertRejected(() => verify(concatBytes(der, Uint8Array.of(0))), 'timestamp.malformed')
    const { result } = asn1js.fromBER(der.slice())
    assert.ok(result instanceof asn1js.Sequence)
    const longer = new Uint8Array(
      new asn1js.Sequence({ value: [...result.valueBlock.value, new asn1js.Null()] }).toBER(),
    )
    assertRejected(() => verify(longer), 'timestamp.malformed')
  })

  test('every truncation of a token', async () => {
    const der = await reply()
    for (let length = 0; length < der.length; length += 1)
      assert.throws(() => verify(der.subarray(0, length)), { code: 'VERIFICATION_FAILED' })
  })

  test('random bytes, and random changes of a valid token', async () => {
    const der = await reply()
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.tuple(fc.nat(der.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 })).map(([at, bytes]) => {
            const changed = der.slice()
            changed.set(bytes.subarray(0, der.length - at), at)
            return changed
          }),
        ),
        (bytes) => {
          try {
            assert.deepEqual(verify(bytes), verify(der))
          } catch (error) {
            assert.ok(isRegistryError(error, 'VERIFICATION_FAILED'))
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  test('too many bytes: the size is checked before anything is parsed', () => {
    assertRejected(() => verify(new Uint8Array(10_000_000)), 'form.length')
    assertRejected(() => verify(new Uint8Array(MAX_TIMESTAMP_BYTES + 1)), 'form.length')
  })

  test('too much nesting: parsing stops at a fixed depth', () => {
    const deep = new Uint8Array(MAX_TIMESTAMP_BYTES)
    for (let at = 0; at < deep.length; at += 2) deep.set([0x30, 0x80], at)
    assertRejected(() => verify(deep), 'timestamp.malformed')
  })

  test('too many values: parsing stops at a fixed number', () => {
    const nulls = new Uint8Array(MAX_TIMESTAMP_BYTES - 6)
    for (let at = 0; at < nulls.length; at += 2) nulls.set([0x05, 0x00], at)
    const length = [nulls.length >> 16, (nulls.length >> 8) & 0xff, nulls.length & 0xff]
    const many = concatBytes(Uint8Array.of(0x30, 0x83, ...length), nulls)
    assert.ok(many.length <= MAX_TIMESTAMP_BYTES)
    assertRejected(() => verify(many), 'timestamp.malformed')
  })

  test('the caller’s bytes are not modified', async () => {
    const der = await reply()
    const before = der.slice()
    verify(der)
    assert.deepEqual(der, before)
  })
})

test('a token does not verify with a smaller budget than its checks need, which is what the error says', async () => {
  const token = await reply({ certificates: [] })
  const stored = { type: 'certificate', der: derOf(signer.certificate) } as const
  const validationData = [stored, { type: 'crl', der: await crl({ issuer: root }) } as const]
  const costWith = (limit?: number): number => {
    const budget = new SignatureBudget(limit)
    verifyToken(token, { data, trustAnchors: anchors, validationData, budget })
    return budget.used
  }
  for (let limit = costWith() - 1; limit >= 0; limit--) assertRejected(() => costWith(limit), 'limit.signatures')
})

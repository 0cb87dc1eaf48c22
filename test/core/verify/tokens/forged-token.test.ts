import assert from 'node:assert/strict'
import type { VerificationRule } from '../../../../core/rules.ts'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import type { ValidationData } from '../../../../core/ports/index.ts'
import {
  MAX_VALIDATION_DATA_BYTES,
  verifyTimestamp,
  type VerifiedTimestamp,
  type VerifyTimestampOptions,
} from '../../../../core/verify/tokens.ts'
import { present } from '../../../support/present.ts'
import {
  attribute,
  authorityNamed,
  derOf,
  extension,
  DEFAULT_GEN_TIME,
  octets,
  OID,
  response,
  signerUnder,
  type Issuer,
  type ResponseOptions,
} from '../../../support/test-authority.ts'
import { certificatesFromPem } from '../../../../core/verify/index.ts'
import { crl } from '../../../support/test-revocation.ts'

/** Every signature here is correct, so that exactly one rule is left that can reject the token. */

const data = new TextEncoder().encode('some data')
/** A signer with an extension of this size. */
const largeSigner = (size: number): Promise<Issuer> =>
  signerUnder(root, { extensions: [extension('1.2.3', false, octets(new Uint8Array(size)))] })

const root = await authorityNamed('root')
const stranger = await authorityNamed('stranger')
const signer = await signerUnder(root)
const reply = (options: Partial<ResponseOptions> = {}): Promise<Uint8Array> => response({ signer, data, ...options })
const verify = (der: Uint8Array, options: Partial<VerifyTimestampOptions> = {}): VerifiedTimestamp =>
  verifyTimestamp(der, { data, trustAnchors: [derOf(root.certificate)], ...options })

const assertRejected = (der: Uint8Array, rule: VerificationRule, options: Partial<VerifyTimestampOptions> = {}): void =>
  assert.throws(() => verify(der, options), { code: 'VERIFICATION_FAILED', rule })

/** The token with a changed signer info, which no signature covers. */
const withSigner = (change: (info: pkijs.SignerInfo) => void): Promise<Uint8Array> =>
  reply({ after: ({ signerInfos: [info] }) => change(present(info)) })

const replaced = (bytes: Uint8Array, from: readonly number[], to: readonly number[]): Uint8Array => {
  const changed = Buffer.from(bytes)
  const at = changed.indexOf(Uint8Array.from(from))
  assert.ok(at > 0)
  changed.set(to, at)
  return new Uint8Array(changed)
}

const nested = (...value: asn1js.BaseBlock[]): asn1js.Sequence => new asn1js.Sequence({ value })

describe('forged tokens', () => {
  it('are rejected: a digest of the content that is not an OCTET STRING', async () => {
    const der = await reply({
      attributes: (all) =>
        all.map((each) => {
          if (each.type !== OID.messageDigest) return each
          const [digest] = each.values as readonly asn1js.OctetString[]
          const valueHex = new Uint8Array(present(digest).valueBlock.valueHexView).buffer
          return attribute(OID.messageDigest, new asn1js.BitString({ valueHex }))
        }),
    })
    assertRejected(der, 'timestamp.content-differs')
  })

  it('are rejected: a weak digest algorithm', async () => {
    const der = await withSigner((info) => (info.digestAlgorithm.algorithmId = OID.sha1))
    assertRejected(der, 'timestamp.unsupported')
  })

  it('are rejected: an ESSCertIDv2 with a weak or no hash algorithm', async () => {
    const digest = octets(createHash('sha1').update(derOf(signer.certificate)).digest())
    for (const algorithm of [new asn1js.ObjectIdentifier({ value: OID.sha1 }), new asn1js.Null()]) {
      const value = nested(nested(nested(nested(algorithm), digest)))
      const der = await reply({ attributes: (all) => [...all.slice(0, 2), attribute(OID.signingCertificateV2, value)] })
      assertRejected(der, 'timestamp.unsupported')
    }
  })

  it('are rejected: a signer info that names another certificate', async () => {
    const sidOf = ({ sid }: pkijs.SignerInfo): pkijs.IssuerAndSerialNumber => sid as pkijs.IssuerAndSerialNumber
    const otherIssuer = await withSigner((info) => (sidOf(info).issuer = stranger.certificate.subject))
    const otherNumber = await withSigner((info) => (sidOf(info).serialNumber = new asn1js.Integer({ value: 7 })))
    const otherKey = await reply({
      byKeyIdentifier: true,
      after: ({ signerInfos: [info] }) => {
        const valueHex = new Uint8Array(20).buffer
        present(info).sid = new asn1js.Primitive({ idBlock: { tagClass: 3, tagNumber: 0 }, valueHex })
      },
    })
    for (const der of [otherIssuer, otherNumber, otherKey]) assertRejected(der, 'timestamp.signer-differs')
  })

  it('are rejected: a serial number without bytes', async () => {
    const serialAt = (tst: Uint8Array): number => Buffer.from(tst).indexOf(Uint8Array.of(2, 9, 0x2a))
    const empty = await reply({
      content: (tst) => {
        const at = serialAt(tst)
        const shorter = Buffer.concat([tst.subarray(0, at), Uint8Array.of(2, 0), tst.subarray(at + 11)])
        // The length of the whole, in one byte.
        shorter[1] = present(tst[1]) - 9
        return new Uint8Array(shorter)
      },
    })
    assertRejected(empty, 'timestamp.malformed')
  })

  it('are rejected: a nonce of which only the end is that of the request', async () => {
    const der = await reply({ nonce: Uint8Array.of(1, 2, 3) })
    assert.ok(verify(der, { nonce: Uint8Array.of(0, 1, 2, 3) }))
    assertRejected(der, 'timestamp.request-differs', { nonce: Uint8Array.of(9, 2, 3) })
    assert.ok(verify(await reply({ nonce: Uint8Array.of(0) }), { nonce: Uint8Array.of(0, 0) }))
    const large = await reply({ nonce: Uint8Array.of(0x80, 1) })
    assert.ok(verify(large, { nonce: Uint8Array.of(0x80, 1) }))
    const negative = await reply({
      nonce: Uint8Array.of(1, 2),
      content: (tst) => replaced(tst, [2, 2, 1, 2], [2, 2, 0x80, 2]),
    })
    assert.deepEqual(verify(negative).nonce, Uint8Array.of(0x80, 2))
    assertRejected(negative, 'timestamp.request-differs', { nonce: Uint8Array.of(0x80, 2) })
  })

  it('are rejected: an accuracy that is negative or too large; others are read from all their bytes', async () => {
    const accurate = (seconds: number): Promise<Uint8Array> => reply({ accuracy: new pkijs.Accuracy({ seconds }) })
    const boundOf = (der: Uint8Array): number => verify(der).notLaterThan - DEFAULT_GEN_TIME.getTime()
    assert.equal(boundOf(await reply()), 0)
    for (const seconds of [127, 128, 8_388_607, 8_388_608, 2 ** 31])
      assert.equal(boundOf(await accurate(seconds)), seconds * 1000)
    assert.equal(boundOf(await reply({ accuracy: new pkijs.Accuracy({ micros: 1 }) })), 1, 'rounded up')
    assertRejected(await accurate(2 ** 40), 'timestamp.malformed')
    const changed = (from: readonly number[], to: readonly number[]): Promise<Uint8Array> =>
      reply({
        accuracy: new pkijs.Accuracy({ seconds: 5, millis: 6, micros: 7 }),
        content: (tst) => replaced(tst, from, to),
      })
    for (const [from, to] of [
      [
        [2, 1, 5],
        [2, 1, 0xff],
      ],
      [
        [0x80, 1, 6],
        [0x80, 1, 0x80],
      ],
      [
        [0x81, 1, 7],
        [0x81, 1, 0xf7],
      ],
    ] as const)
      assertRejected(await changed(from, to), 'timestamp.malformed')
  })

  it('are accepted with a negative serial number, which is shown with its sign', () => {
    // From the tests of trailofbits/rfc3161-client (Apache-2.0).
    const info = verifyTimestamp(Buffer.from(NEGATIVE_SERIAL, 'base64'), {
      digest: Buffer.from('9b72f4419437d16d5c1a06199442839370a4bb5eb16ce72e93a7f303679b5036', 'hex'),
      trustAnchors: certificatesFromPem(NEGATIVE_SERIAL_CHAIN),
    })
    assert.deepEqual([info.serialNumber, info.genTime], ['-21524111', Date.parse('2023-02-01T00:00:00Z')])
  })

  it('are rejected: no content, and another type of content', async () => {
    const empty = await reply({ after: ({ encapContentInfo }) => void delete encapContentInfo.eContent })
    assertRejected(empty, 'timestamp.malformed')
    const parsed = pkijs.TimeStampResp.fromBER(await reply())
    present(parsed.timeStampToken).contentType = OID.data
    assertRejected(new Uint8Array(parsed.toSchema().toBER()), 'timestamp.malformed')
  })

  it('are rejected: a signer whose key is weak or cannot be read', async () => {
    const weak = await signerUnder(root, { kind: 'RSA-1024' })
    assertRejected(await reply({ signer: weak }), 'certificate.unusable')
    const der = derOf(signer.certificate)
    const point = signer.certificate.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView
    // The last byte of the point, which is then not on the curve.
    const at = Buffer.from(der).indexOf(point) + point.length - 1
    const broken = pkijs.Certificate.fromBER(der.with(at, (der[at] ?? 0) ^ 1))
    assertRejected(await reply({ signer: { ...signer, certificate: broken } }), 'certificate.unusable')
  })
})

describe('tokens with unusual parts', () => {
  it('may have extensions that are not critical', async () => {
    assert.ok(verify(await reply({ tstExtensions: [extension('1.2.3', false, new asn1js.Null())] })))
  })

  it('may carry certificates without a key identifier, if the signer is named by its own', async () => {
    const bare = pkijs.Certificate.fromBER(derOf(stranger.certificate))
    bare.extensions = (bare.extensions ?? []).filter(({ extnID }) => extnID !== '2.5.29.14')
    await bare.sign(stranger.keys.privateKey, 'SHA-256')
    const certificates = [pkijs.Certificate.fromBER(bare.toSchema(true).toBER()), signer.certificate]
    assert.ok(verify(await reply({ byKeyIdentifier: true, certificates })))
  })

  it('may carry CRLs and no certificates, or certificates of another format', async () => {
    const list = pkijs.CertificateRevocationList.fromBER(await crl({ issuer: root }))
    const trustAnchors = [derOf(signer.certificate)]
    const withCrl = await reply({
      after: (signed) => {
        delete signed.certificates
        signed.crls = [list]
      },
    })
    assert.ok(verify(withCrl, { trustAnchors }))
    const other = new pkijs.OtherCertificateFormat({ otherCertFormat: '1.2.3', otherCert: new asn1js.Null() })
    const after = (signed: pkijs.SignedData): void => void signed.certificates?.push(other)
    assert.ok(verify(await reply({ after })))
  })
})

describe('stored certificates', () => {
  const pieceOf = (made: pkijs.Certificate): ValidationData => ({ type: 'certificate', der: derOf(made) })
  const strangers = Array.from({ length: 32 }, () => pieceOf(stranger.certificate))

  it('complete a token, also beside one that cannot be parsed', async () => {
    const der = await reply({ certificates: [] })
    const broken: ValidationData = { type: 'certificate', der: Uint8Array.of(1) }
    assert.ok(verify(der, { validationData: [broken, pieceOf(signer.certificate)] }))
    assertRejected(der, 'timestamp.signer-differs', { validationData: [broken] })
  })

  it('are limited by number and size', async () => {
    const der = await reply({ certificates: [] })
    const own = pieceOf(signer.certificate)
    assert.ok(verify(der, { validationData: [...strangers.slice(1), own] }))
    assertRejected(der, 'timestamp.signer-differs', { validationData: [...strangers, own] })
    const lists = strangers.map((): ValidationData => ({ type: 'crl', der: Uint8Array.of(1) }))
    assert.ok(verify(der, { validationData: [...lists, own] }), 'lists count apart from certificates')
    const large = await largeSigner(MAX_VALIDATION_DATA_BYTES)
    const ofLarge = await reply({ signer: large, certificates: [] })
    const validationData = [pieceOf(large.certificate)]
    assertRejected(ofLarge, 'timestamp.signer-differs', { validationData })
    assert.ok(verify(await reply({ signer: large })), 'in a token only the whole size counts')
  })
})

const NEGATIVE_SERIAL =
  'MIICGzADAgEAMIICEgYJKoZIhvcNAQcCoIICAzCCAf8CAQMxDzANBglghkgBZQMEAgEFADB0BgsqhkiG9w0BCRABBKBlBGMwYQIB' +
  'AQYJKwYBBAGDvzACMC8wCwYJYIZIAWUDBAIBBCCbcvRBlDfRbVwaBhmUQoOTcKS7XrFs5y6Tp/MDZ5tQNgIE3q2+7xgPMjAyMzAy' +
  'MDEwMDAwMDBaMAMCAQECBEmWAtKgADGCAW8wggFrAgEBMCswJjEMMAoGA1UEAxMDdHNhMRYwFAYDVQQKEw1zaWdzdG9yZS5tb2Nr' +
  'AgECMA0GCWCGSAFlAwQCAQUAoIHVMBoGCSqGSIb3DQEJAzENBgsqhkiG9w0BCRABBDAcBgkqhkiG9w0BCQUxDxcNMjMwMjAxMDAw' +
  'MDAwWjAvBgkqhkiG9w0BCQQxIgQgVzciL1SNrNN9mJ6Z3G1t4A7IPAjoVkXeFa91xuqRsAkwaAYLKoZIhvcNAQkQAi8xWTBXMFUw' +
  'UwQgAA4hfcjNjQJC6U7kl1KxL3VHVkxZbFxM+eqk9sPXbJAwLzAqpCgwJjEMMAoGA1UEAxMDdHNhMRYwFAYDVQQKEw1zaWdzdG9y' +
  'ZS5tb2NrAgECMAoGCCqGSM49BAMCBEYwRAIgAqzpGF8YZrdyBJOGy2S/9qi7buQD6o51TvOGMKxAiagCIB8rI1sL9fFiY4LON6ef' +
  'kTvVxaFfHO5dJ1jKH+wO4jg+'
const NEGATIVE_SERIAL_CHAIN = [
  'MIIBujCCAWGgAwIBAgIBAjAKBggqhkjOPQQDAzAmMQwwCgYDVQQDEwN0c2ExFjAUBgNVBAoTDXNpZ3N0b3JlLm1vY2swHhcNMjMw' +
    'MTAxMDAwMDAwWhcNMjQwMTAxMDAwMDAwWjAuMRQwEgYDVQQDEwt0c2Egc2lnbmluZzEWMBQGA1UEChMNc2lnc3RvcmUubW9jazBZ' +
    'MBMGByqGSM49AgEGCCqGSM49AwEHA0IABGCOIXjk6za2Ttu3pRRPMp363TzIpLbUZG3vrySkOdBum38EN1soS6UcMMKIXpQwJvMU' +
    'cyeep2LCGt1R4r1b6ZijeDB2MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBYGA1UdJQEB/wQMMAoGCCsGAQUFBwMIMB0G' +
    'A1UdDgQWBBQ/FFxk7FUxt/oE8lDZEF0s7kasuDAfBgNVHSMEGDAWgBQ/FFxk7FUxt/oE8lDZEF0s7kasuDAKBggqhkjOPQQDAwNH' +
    'ADBEAiBTGRrvbrkBKFb4ThHLmK9ij3BQjq53KmciBLiZBb7rYgIgIPQjgE48/ZtlNQZ7zNQ9Ei32y37lesyuw0pASj1VRdA=',
  'MIIBnTCCAUSgAwIBAgIBATAKBggqhkjOPQQDAzAmMQwwCgYDVQQDEwN0c2ExFjAUBgNVBAoTDXNpZ3N0b3JlLm1vY2swHhcNMjMw' +
    'MTAxMDAwMDAwWhcNMjQwMTAxMDAwMDAwWjAmMQwwCgYDVQQDEwN0c2ExFjAUBgNVBAoTDXNpZ3N0b3JlLm1vY2swWTATBgcqhkjO' +
    'PQIBBggqhkjOPQMBBwNCAARgjiF45Os2tk7bt6UUTzKd+t08yKS21GRt768kpDnQbpt/BDdbKEulHDDCiF6UMCbzFHMnnqdiwhrd' +
    'UeK9W+mYo2MwYTAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUPxRcZOxVMbf6BPJQ2RBdLO5GrLgw' +
    'HwYDVR0jBBgwFoAUPxRcZOxVMbf6BPJQ2RBdLO5GrLgwCgYIKoZIzj0EAwMDRwAwRAIgLO7QL1l8uJt9ceNQ3Yq65chp6XamVMf7' +
    'kFPY5h7Bif8CIFQJP12/f4ghv1ywAiUlr39JkSs+CK64mtsJcpjczc/s',
]
  .map((base64) => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`)
  .join('')

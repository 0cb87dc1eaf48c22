import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import * as asn1js from 'asn1js'
import * as fc from 'fast-check'
import * as pkijs from 'pkijs'
import { concatBytes } from '../../../core/bytes.ts'
import {
  MAX_CLOCK_SKEW_MS,
  MAX_TIMESTAMP_BYTES,
  parseTimeStampResponse,
  verifyTimeStamp,
  type VerifyTimeStampOptions,
} from '../../../core/verify/index.ts'
import {
  attribute,
  certificate,
  DEFAULT_GEN_TIME,
  DEFAULT_POLICY,
  derOf,
  extension,
  keyPair,
  octets,
  OID,
  response,
  signingCertificateV1,
  signingCertificateV2,
  type Extended,
  type Issuer,
  type KeyKind,
  type ResponseTerms,
} from '../../support/test-authority.ts'

const data = new TextEncoder().encode('what was there at that time')
const timeStamping: Extended = { critical: true, purposes: [OID.timeStamping] }

async function authority(kind: KeyKind = 'P-256', name = 'root'): Promise<Issuer> {
  const keys = await keyPair(kind, name)
  return { keys, certificate: await certificate({ name, keys, authority: {}, keyUsage: 0x06 }) }
}

type SignerTerms = Partial<Parameters<typeof certificate>[0]>

async function signerUnder(issuer: Issuer, terms: SignerTerms = {}, kind: KeyKind = 'P-256'): Promise<Issuer> {
  const keys = await keyPair(kind, 'signer')
  const own = { name: 'signer', keys, issuer, keyUsage: 0x80, extendedKeyUsage: timeStamping, ...terms }
  return { keys, certificate: await certificate(own) }
}

const root = await authority()
const signer = await signerUnder(root)
const anchors = [derOf(root.certificate)]
const reply = (terms: Partial<ResponseTerms> = {}): Promise<Uint8Array> => response({ signer, data, ...terms })

const verify = (der: Uint8Array, options: Partial<VerifyTimeStampOptions> = {}): ReturnType<typeof verifyTimeStamp> =>
  verifyTimeStamp(der, { data, trustAnchors: anchors, ...options })

/** The refusal's code, and its reason. */
function refused(run: () => unknown, reason: RegExp): void {
  assert.throws(run, (error: unknown) => {
    assert.equal((error as { code?: unknown }).code, 'VERIFICATION_FAILED')
    assert.match((error as Error).message, reason)
    return true
  })
}

describe('verifyTimeStamp takes', () => {
  test('a token as it should be, and tells what it claims', async () => {
    const nonce = Uint8Array.of(0, 0, 0x91, 2, 3)
    const accuracy = new pkijs.Accuracy({ seconds: 1, millis: 500, micros: 250 })
    const der = await reply({ nonce, accuracy })
    const info = verify(der, { nonce, policy: DEFAULT_POLICY, at: DEFAULT_GEN_TIME.getTime() })
    assert.deepEqual(info, parseTimeStampResponse(der))
    const { serialNumber, ...rest } = info
    assert.match(serialNumber, /^2a[0-9a-f]{16}$/)
    assert.deepEqual(rest, {
      genTime: DEFAULT_GEN_TIME.getTime(),
      policy: DEFAULT_POLICY,
      hashAlgorithm: 'sha256',
      imprint: new Uint8Array(createHash('sha256').update(data).digest()),
      nonce: Uint8Array.of(0x91, 2, 3),
      accuracyMs: 1500.25,
    })
  })

  test('a digest in place of the data', async () => {
    const digest = new Uint8Array(createHash('sha384').update(data).digest())
    const info = verifyTimeStamp(await reply({ hash: 'sha384' }), { digest, trustAnchors: anchors })
    assert.equal(info.hashAlgorithm, 'sha384')
  })

  for (const kind of ['P-256', 'P-384', 'P-521', 'RSA'] as const)
    for (const hash of ['sha256', 'sha384', 'sha512'] as const)
      test(`${kind} with ${hash}, imprint, signature, ESSCertIDv2 and certificates alike`, async () => {
        const issuer = await authority(kind)
        const own = await signerUnder(issuer, { hash }, kind)
        const attributes: ResponseTerms['attributes'] = (all, made) => [
          ...all.slice(0, 2),
          signingCertificateV2(derOf(made), hash),
        ]
        const der = await response({ signer: own, data, hash, signatureHash: hash, attributes })
        assert.equal(verify(der, { trustAnchors: [derOf(issuer.certificate)] }).hashAlgorithm, hash)
      })

  test('an RSA signature that is named rsaEncryption', async () => {
    const issuer = await authority('RSA')
    const own = await signerUnder(issuer, {}, 'RSA')
    const after = (signed: pkijs.SignedData): void => {
      for (const info of signed.signerInfos) info.signatureAlgorithm.algorithmId = '1.2.840.113549.1.1.1'
    }
    const der = await response({ signer: own, data, after })
    assert.ok(verify(der, { trustAnchors: [derOf(issuer.certificate)] }))
  })

  test('a signer that is named by its key identifier', async () => {
    assert.ok(verify(await reply({ byKeyIdentifier: true })))
  })

  test('ESSCertID with SHA-1, alone or beside ESSCertIDv2', async () => {
    const alone: ResponseTerms['attributes'] = (all, own) => [...all.slice(0, 2), signingCertificateV1(derOf(own))]
    assert.ok(verify(await reply({ attributes: alone })))
    const both: ResponseTerms['attributes'] = (all, own) => [...all, signingCertificateV1(derOf(own))]
    assert.ok(verify(await reply({ attributes: both })))
  })

  test('a path over intermediate authorities, in any order and among others', async () => {
    const keys = await keyPair('P-256', 'intermediate')
    const between = { keys, certificate: await certificate({ name: 'between', keys, issuer: root, authority: {} }) }
    const own = await signerUnder(between)
    const stranger = (await authority('P-256', 'stranger')).certificate
    for (const certificates of [
      [stranger, between.certificate, own.certificate],
      [own.certificate, between.certificate, root.certificate],
    ])
      assert.ok(verify(await response({ signer: own, data, certificates })))
  })

  test('a signer that is a trust anchor itself, also where the token leaves its certificate out', async () => {
    const trustAnchors = [derOf(signer.certificate)]
    assert.ok(verify(await reply(), { trustAnchors }))
    assert.ok(verify(await reply({ certificates: [] }), { trustAnchors }))
  })

  test('certificates that have ended since', async () => {
    const own = await signerUnder(root, { notAfter: new Date('2026-06-01T12:00:01Z') })
    assert.ok(verify(await reply({ signer: own }), { at: Date.UTC(2039, 0, 1) }))
  })

  test('a status of granted with modifications', async () => {
    assert.ok(verify(await reply({ status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.grantedWithMods }) })))
  })
})

describe('verifyTimeStamp refuses', () => {
  test('other data, other digests, and an imprint that is none of the data', async () => {
    const der = await reply()
    refused(() => verify(der, { data: new Uint8Array(3) }), /imprint/)
    refused(() => verifyTimeStamp(der, { digest: new Uint8Array(32), trustAnchors: anchors }), /imprint/)
    const imprint = new Uint8Array(randomBytes(32))
    refused(() => verify(der.slice(), { data: imprint }), /imprint/)
    const wrong = await reply({ imprint })
    refused(() => verify(wrong), /imprint/)
  })

  test('an imprint of a weak hash, or of the wrong length', async () => {
    const weak = await reply({ hash: 'sha1' })
    refused(() => verify(weak), /hash algorithm 1\.3\.14\.3\.2\.26 is not accepted/)
    const short = await reply({ imprint: new Uint8Array(31) })
    refused(() => verify(short), /31 bytes is not a sha256/)
  })

  test('a nonce that differs or is missing', async () => {
    const der = await reply({ nonce: Uint8Array.of(1, 2, 3) })
    refused(() => verify(der, { nonce: Uint8Array.of(1, 2, 4) }), /nonce is not that/)
    const without = await reply()
    refused(() => verify(without, { nonce: Uint8Array.of(1, 2, 3) }), /nonce is missing/)
  })

  test('another policy', async () => {
    const der = await reply({ policy: '1.2.3.4' })
    refused(() => verify(der, { policy: DEFAULT_POLICY }), /policy is 1\.2\.3\.4/)
  })

  test('a genTime in the future', async () => {
    const der = await reply()
    assert.ok(verify(der, { at: DEFAULT_GEN_TIME.getTime() - MAX_CLOCK_SKEW_MS }))
    refused(() => verify(der, { at: DEFAULT_GEN_TIME.getTime() - MAX_CLOCK_SKEW_MS - 1 }), /future/)
  })

  test('a response without a token, and says why the authority gave none', () => {
    const failInfo = new asn1js.BitString({ valueHex: Uint8Array.of(0x20, 1).buffer })
    const statusStrings = [new asn1js.Utf8String({ value: 'not\u0007 today' })]
    const status = new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.rejection, failInfo, statusStrings })
    const der = new Uint8Array(new pkijs.TimeStampResp({ status }).toSchema().toBER())
    refused(() => verify(der), /answered rejection, badRequest, unacceptedPolicy "not {2}today"$/)
    const granted = new pkijs.TimeStampResp({ status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.granted }) })
    refused(() => verify(new Uint8Array(granted.toSchema().toBER())), /no token/)
  })

  test('a rejection that brings a good token', async () => {
    const der = await reply({ status: new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.rejection }) })
    refused(() => verify(der), /answered rejection$/)
  })

  test('a signature that is wrong, another key’s, or of another kind', async () => {
    const broken = await reply({
      after: ({ signerInfos: [info] }) => {
        const view = info?.signature.valueBlock.valueHexView
        if (view) view[view.length - 1] = (view.at(-1) ?? 0) ^ 1
      },
    })
    refused(() => verify(broken), /signature is wrong/)
    const other = await reply({ signer: { ...signer, keys: await keyPair('P-256', 'other') } })
    refused(() => verify(other), /signature is wrong/)
    const kind = await reply({
      after: ({ signerInfos: [info] }) => {
        if (info) info.signatureAlgorithm.algorithmId = '1.2.840.113549.1.1.11'
      },
    })
    refused(() => verify(kind), /kind of the signer's key/)
    const weak = await reply({
      after: ({ signerInfos: [info] }) => {
        if (info) info.signatureAlgorithm.algorithmId = '1.2.840.10045.4.1'
      },
    })
    refused(() => verify(weak), /signature algorithm 1\.2\.840\.10045\.4\.1 is not accepted/)
  })

  test('content that is not what was signed', async () => {
    const other = await reply({ data: new TextEncoder().encode('other data') })
    const content = (der: Uint8Array): pkijs.SignedData => {
      const token = pkijs.TimeStampResp.fromBER(der).timeStampToken
      return new pkijs.SignedData({ schema: token?.content })
    }
    const swapped = await reply({
      after: (signed) => {
        signed.encapContentInfo.eContent = octets(
          new Uint8Array(content(other).encapContentInfo.eContent?.getValue() ?? new ArrayBuffer(0)),
        )
      },
    })
    refused(() => verify(swapped, { data: new TextEncoder().encode('other data') }), /message-digest/)
  })

  test('signed attributes that are wrong, missing, double or absent', async () => {
    const cases: readonly [RegExp, NonNullable<ResponseTerms['attributes']>][] = [
      [
        /content-type/,
        (all) => [attribute(OID.contentType, new asn1js.ObjectIdentifier({ value: OID.data })), ...all.slice(1)],
      ],
      [/content-type/, (all) => all.slice(1)],
      [/message-digest/, (all) => all.filter(({ type }) => type !== OID.messageDigest)],
      [/there twice/, (all) => [...all, attribute(OID.messageDigest, octets(new Uint8Array(32)))]],
      [
        /not exactly one value/,
        (all) => [
          attribute(
            OID.contentType,
            new asn1js.ObjectIdentifier({ value: OID.tstInfo }),
            new asn1js.ObjectIdentifier({ value: OID.data }),
          ),
          ...all.slice(1),
        ],
      ],
      [/no ESSCertID/, (all) => all.slice(0, 2)],
      [/ESSCertID is not that/, (all) => [...all.slice(0, 2), signingCertificateV2(derOf(root.certificate))]],
      [/ESSCertID is not that/, (all) => [...all.slice(0, 2), signingCertificateV1(derOf(root.certificate))]],
      [/ESSCertID is not that/, (all) => [...all, signingCertificateV1(derOf(root.certificate))]],
      [/ESSCertID cannot be read/, (all) => [...all.slice(0, 2), attribute(OID.signingCertificateV2, octets(data))]],
    ]
    for (const [reason, attributes] of cases) {
      const der = await reply({ attributes })
      refused(() => verify(der), reason)
    }
    const none = await reply({ after: ({ signerInfos: [info] }) => void (info && delete info.signedAttrs) })
    refused(() => verify(none), /content-type/)
  })

  test('content that is not a TSTInfo, and a TSTInfo that cannot be understood', async () => {
    const cases: readonly [RegExp, Partial<ResponseTerms>][] = [
      [/not a TSTInfo/, { eContentType: OID.data }],
      [/malformed/, { content: () => Uint8Array.of(4, 1, 0) }],
      [/1 bytes trail/, { content: (der) => concatBytes(der, Uint8Array.of(0)) }],
      [/version 2/, { content: (der) => der.with(der.indexOf(2) + 2, 2) }],
      [/critical extension 1\.2\.3/, { tstExtensions: [extension('1.2.3', true, new asn1js.Null())] }],
    ]
    for (const [reason, terms] of cases) {
      const der = await reply(terms)
      refused(() => verify(der), reason)
    }
  })

  test('a genTime that is no UTC time', async () => {
    const text = '20260601120000.25Z'
    for (const other of [
      '20260601120000.250',
      '20261301120000.25Z',
      '20260230120000.25Z',
      '20260601120060.25Z',
      '202606011200+0100Z',
    ]) {
      const content = (der: Uint8Array): Uint8Array =>
        new Uint8Array(Buffer.from(Buffer.from(der).toString('latin1').replace(text, other), 'latin1'))
      const der = await reply({ content })
      refused(() => verify(der), /genTime|malformed/)
    }
  })

  test('no signer, and more than one', async () => {
    const none = await reply({ after: (signed) => void (signed.signerInfos = []) })
    refused(() => verify(none), /0 signers/)
    const two = await reply({ after: (signed) => void signed.signerInfos.push(...signed.signerInfos) })
    refused(() => verify(two), /2 signers/)
  })

  test('a token whose signer has no certificate in it', async () => {
    const der = await reply({ certificates: [root.certificate] })
    refused(() => verify(der), /certificate is not in it/)
  })

  test('a signer that is not for timestamps', async () => {
    const cases: readonly [RegExp, SignerTerms][] = [
      [/has no extended key usage/, { extendedKeyUsage: undefined }],
      [/not critical/, { extendedKeyUsage: { critical: false, purposes: [OID.timeStamping] } }],
      [
        /not timeStamping alone/,
        { extendedKeyUsage: { critical: true, purposes: [OID.timeStamping, OID.codeSigning] } },
      ],
      [/not timeStamping alone/, { extendedKeyUsage: { critical: true, purposes: [OID.codeSigning] } }],
      [/allows no signature/, { keyUsage: 0x20 }],
      [/1\.2\.3 is there twice/, { extensions: [1, 2].map(() => extension('1.2.3', false, new asn1js.Null())) }],
      [/critical extension 1\.2\.3 is not understood/, { extensions: [extension('1.2.3', true, new asn1js.Null())] }],
    ]
    for (const [reason, terms] of cases) {
      const der = await reply({ signer: await signerUnder(root, terms) })
      refused(() => verify(der), reason)
    }
  })
})

describe('the path to a trust anchor', () => {
  test('is refused where the signer was not valid at genTime', async () => {
    for (const terms of [
      { notAfter: new Date('2026-06-01T12:00:00Z') },
      { notBefore: new Date('2026-06-01T12:00:01Z') },
    ]) {
      const der = await reply({ signer: await signerUnder(root, terms) })
      refused(() => verify(der), /of the signer: it was not valid/)
    }
  })

  test('is refused where an issuer was not valid at genTime, the anchor too', async () => {
    const keys = await keyPair('P-256', 'root')
    const expired = await certificate({ name: 'root', keys, authority: {}, notAfter: new Date('2026-01-01T00:00:00Z') })
    const der = await reply()
    refused(() => verify(der, { trustAnchors: [derOf(expired)] }), /of an issuer: it was not valid/)
  })

  test('is refused where nobody known issued the signer', async () => {
    const der = await reply()
    refused(() => verify(der, { trustAnchors: [] }), /nobody known issued it/)
    const stranger = await authority('P-256', 'stranger')
    refused(() => verify(der, { trustAnchors: [derOf(stranger.certificate)] }), /nobody known issued it/)
  })

  test('is refused where an authority of the same name has another key', async () => {
    const keys = await keyPair('P-256', 'impostor')
    // Without a key identifier to tell them apart, only the signature does.
    const impostor = { keys, certificate: await certificate({ name: 'root', keys, authority: {} }) }
    const own = await signerUnder(impostor)
    const der = await response({ signer: own, data, certificates: [own.certificate, impostor.certificate] })
    refused(() => verify(der), /the signature below it is not its own/)
  })

  test('is refused over an issuer that may not issue', async () => {
    const keys = await keyPair('P-256', 'intermediate')
    const cases: readonly [RegExp, SignerTerms][] = [
      [/not a CA/, { authority: undefined }],
      [/nobody known issued it|not a CA|may not sign/, { keyUsage: 0x80 }],
      [/leaves out timeStamping/, { extendedKeyUsage: { critical: false, purposes: [OID.codeSigning] } }],
      [
        /2\.5\.29\.30 is not understood/,
        { extensions: [extension('2.5.29.30', true, new asn1js.Sequence({ value: [] }))] },
      ],
    ]
    for (const [reason, terms] of cases) {
      const between = {
        keys,
        certificate: await certificate({ name: 'between', keys, issuer: root, authority: {}, ...terms }),
      }
      const own = await signerUnder(between)
      const der = await response({ signer: own, data, certificates: [own.certificate, between.certificate] })
      refused(() => verify(der), reason)
    }
  })

  test('is refused where it is longer than an authority allows', async () => {
    const rootKeys = await keyPair('P-256', 'root')
    const keys = await keyPair('P-256', 'intermediate')
    const limited = async (pathLength: number): Promise<Uint8Array> => {
      const top = await certificate({ name: 'root', keys: rootKeys, authority: { pathLength } })
      return derOf(top)
    }
    const between = { keys, certificate: await certificate({ name: 'between', keys, issuer: root, authority: {} }) }
    const own = await signerUnder(between)
    const der = await response({ signer: own, data, certificates: [own.certificate, between.certificate] })
    assert.ok(verify(der, { trustAnchors: [await limited(1)] }))
    const anchor = await limited(0)
    refused(() => verify(der, { trustAnchors: [anchor] }), /path length is exceeded/)
  })

  test('is refused over weak keys and weak signatures', async () => {
    const weakKey = await authority('RSA-1024')
    const own = await signerUnder(weakKey)
    const der = await response({ signer: own, data })
    refused(() => verify(der, { trustAnchors: [derOf(weakKey.certificate)] }), /RSA key of 1024 bits/)
    const bySha1 = await reply({ signer: await signerUnder(root, { hash: 'sha1' }) })
    refused(() => verify(bySha1), /signature algorithm 1\.2\.840\.10045\.4\.1 below it is not accepted/)
  })

  test('ends over authorities that vouch for each other', async () => {
    const [a, b] = [await keyPair('P-256', 'a'), await keyPair('P-256', 'b')]
    const rootA = { keys: a, certificate: await certificate({ name: 'a', keys: a, authority: {} }) }
    const rootB = { keys: b, certificate: await certificate({ name: 'b', keys: b, authority: {} }) }
    const aByB = await certificate({ name: 'a', keys: a, issuer: rootB, authority: {} })
    const bByA = await certificate({ name: 'b', keys: b, issuer: rootA, authority: {} })
    const own = await signerUnder(rootA)
    const der = await response({ signer: own, data, certificates: [own.certificate, aByB, bByA] })
    refused(() => verify(der), /nobody known issued it/)
  })

  test('is given up after so many issuers of one name', async () => {
    const chain: Issuer[] = []
    for (let i = 0; i < 31; i += 1) {
      const keys = await keyPair('P-256', `namesake ${i}`)
      const issuer = chain.at(-1)
      const made = await certificate({ name: 'namesake', keys, authority: {}, ...(issuer && { issuer }) })
      chain.push({ keys, certificate: made })
    }
    const own = await signerUnder(chain.at(-1) ?? root)
    const certificates = [own.certificate, ...chain.map((link) => link.certificate)]
    const der = await response({ signer: own, data, certificates })
    refused(() => verify(der), /more than 64 issuers to try/)
  })

  test('is not led astray by a certificate that carries another one as PEM', async () => {
    // A certificate for something else, honestly issued under the same root: node:crypto would find it inside the forged one.
    const keys = await keyPair('P-256', 'signer')
    const honest = await certificate({
      name: 'web server',
      keys,
      issuer: root,
      extendedKeyUsage: { critical: false, purposes: [OID.codeSigning] },
    })
    const lines =
      Buffer.from(derOf(honest))
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    const pem = ['', '-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
    const nobody = await authority('P-256', 'nobody')
    const forged = await signerUnder(nobody, {
      extensions: [extension('1.2.3', false, new asn1js.Utf8String({ value: pem }))],
    })
    const der = await response({ signer: forged, data })
    refused(() => verify(der), /not DER/)
  })
})

describe('hostile bytes', () => {
  test('trailing bytes, after the response and inside it', async () => {
    const der = await reply()
    refused(() => verify(concatBytes(der, Uint8Array.of(0))), /1 bytes trail/)
    const parsed = asn1js.fromBER(der.slice()).result as asn1js.Sequence
    parsed.valueBlock.value.push(new asn1js.Null())
    const longer = new Uint8Array(new asn1js.Sequence({ value: parsed.valueBlock.value }).toBER())
    refused(() => verify(longer), /values trail the token/)
  })

  test('every truncation', async () => {
    const der = await reply()
    for (let length = 0; length < der.length; length += 1)
      assert.throws(() => verify(der.subarray(0, length)), { code: 'VERIFICATION_FAILED' })
  })

  test('garbage, also of good tokens’ bytes', async () => {
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
            assert.equal((error as { code?: string }).code, 'VERIFICATION_FAILED')
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  test('too much of it, too deep, too many values, at no cost', () => {
    const start = performance.now()
    refused(() => verify(new Uint8Array(10_000_000)), /10000000 bytes/)
    refused(() => verify(new Uint8Array(MAX_TIMESTAMP_BYTES + 1)), /at most/)
    const deep = new Uint8Array(MAX_TIMESTAMP_BYTES)
    for (let at = 0; at < deep.length; at += 2) deep.set([0x30, 0x80], at)
    refused(() => verify(deep), /not ASN\.1/)
    const nulls = new Uint8Array(MAX_TIMESTAMP_BYTES - 4)
    for (let at = 0; at < nulls.length; at += 2) nulls.set([0x05, 0x00], at)
    const many = concatBytes(
      Uint8Array.of(0x30, 0x83, nulls.length >> 16, (nulls.length >> 8) & 0xff, nulls.length & 0xff),
      nulls,
    )
    assert.throws(() => verify(many.subarray(0, MAX_TIMESTAMP_BYTES)), { code: 'VERIFICATION_FAILED' })
    // Some milliseconds here; the bound is for machines that are busy.
    assert.ok(performance.now() - start < 3000)
  })

  test('a crowd of certificates', async () => {
    const der = await reply({
      certificates: [signer.certificate, ...Array<pkijs.Certificate>(40).fill(root.certificate)],
    })
    refused(() => verify(der), /41 certificates/)
  })

  test('leave the caller’s bytes as they were', async () => {
    const der = await reply()
    const before = der.slice()
    verify(der)
    assert.deepEqual(der, before)
  })
})

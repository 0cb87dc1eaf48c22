import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, test } from 'node:test'
import { parsePublicKey } from '#certificate-crypto'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { concatBytes } from '../../../../core/bytes.ts'
import {
  certificateProblem,
  extendedKeyUsage,
  keyProblem,
  keyUsage,
  parseCertificate,
  subjectKeyIdentifier,
  timestampingProblem,
  type Certificate,
} from '../../../../core/verify/tokens/certificate.ts'
import { buildPath } from '../../../../core/verify/tokens/path.ts'
import { SignatureBudget } from '../../../../core/verify/untrusted.ts'
import {
  authorityNamed,
  certificate,
  derOf,
  extension,
  keyPair,
  OID,
  signerUnder as signerOf,
  type CertificateOptions,
  type Issuer,
} from '../../../support/test-authority.ts'

const notBefore = new Date('2026-01-01T00:00:00Z')
const notAfter = new Date('2027-01-01T00:00:00Z')
const time = Date.UTC(2026, 5, 1)
const timeStamping = { critical: true, purposes: [OID.timeStamping] }

type Options = Partial<CertificateOptions>

const issuerNamed = (name: string, options: Options = {}): Promise<Issuer> =>
  authorityNamed(name, { notBefore, notAfter, ...options })
const signerUnder = (issuer: Issuer, options: Options = {}): Promise<Issuer> =>
  signerOf(issuer, { notBefore, notAfter, ...options })

const parsed = (made: Issuer): Certificate => parseCertificate(derOf(made.certificate))
const parsedWith = async (options: Options): Promise<Certificate> => parsed(await issuerNamed('any', options))

/** The same certificate with changes, signed again. */
async function signedAgain(made: Issuer, issuer: Issuer, change: (copy: pkijs.Certificate) => void): Promise<Issuer> {
  const copy = pkijs.Certificate.fromBER(derOf(made.certificate))
  change(copy)
  await copy.sign(issuer.keys.privateKey, 'SHA-256')
  return { ...made, certificate: pkijs.Certificate.fromBER(copy.toSchema(true).toBER()) }
}

const root = await issuerNamed('root')
const signer = await signerUnder(root)

describe('parseCertificate', () => {
  test('returns the exact bytes, the validity period and the extensions', () => {
    const der = derOf(root.certificate)
    const { der: bytes, notBefore: from, notAfter: to, extensions, subject } = parseCertificate(der)
    assert.deepEqual(bytes, der)
    assert.deepEqual([from, to, subject], [notBefore.getTime(), notAfter.getTime(), 'CN=root'])
    assert.deepEqual([...extensions.keys()].toSorted(), ['2.5.29.14', '2.5.29.15', '2.5.29.19'])
  })

  test('rejects other bytes: VERIFICATION_FAILED', () => {
    const der = derOf(root.certificate)
    const pem = Buffer.from(
      `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----`,
    )
    for (const bytes of [
      new Uint8Array(),
      der.subarray(0, -1),
      concatBytes(der, Uint8Array.of(0)),
      new Uint8Array(pem),
    ])
      assert.throws(() => parseCertificate(bytes), { code: 'VERIFICATION_FAILED' })
    const notACertificate = new Uint8Array(new asn1js.Sequence({ value: [new asn1js.Null()] }).toBER())
    assert.throws(() => parseCertificate(notACertificate), {
      code: 'VERIFICATION_FAILED',
      rule: 'certificate.malformed',
    })
  })

  test('rejects an extension that occurs twice', async () => {
    const extensions = [1, 2].map(() => extension('1.2.3', false, new asn1js.Null()))
    await assert.rejects(parsedWith({ extensions }), { code: 'VERIFICATION_FAILED', rule: 'certificate.malformed' })
  })

  test('rejects two signature algorithms, of which only the inner one is signed', () => {
    const copy = pkijs.Certificate.fromBER(derOf(root.certificate))
    copy.signatureAlgorithm.algorithmId = '1.2.840.10045.4.3.3'
    assert.throws(() => parseCertificate(derOf(copy)), { code: 'VERIFICATION_FAILED', rule: 'certificate.malformed' })
  })

  test('reads a certificate of version 1, which has no version and no extensions', async () => {
    const first = await signedAgain(root, root, (copy) => {
      copy.version = 0
      delete copy.extensions
    })
    const { notBefore: from, extensions, publicKey } = parsed(first)
    assert.deepEqual([from, extensions.size, publicKey?.type], [notBefore.getTime(), 0, 'ec'])
  })
})

describe('extensions', () => {
  test('keyUsage is the first byte of its bits, undefined without the extension', async () => {
    assert.equal(keyUsage(parsed(root)), 0x06)
    const { keyUsage: _, ...without } = { keyUsage: 0, name: 'none', keys: root.keys }
    assert.equal(keyUsage(parseCertificate(derOf(await certificate(without)))), undefined)
  })

  test('extendedKeyUsage lists the purposes, undefined without the extension', () => {
    assert.deepEqual(extendedKeyUsage(parsed(signer)), [OID.timeStamping])
    assert.equal(extendedKeyUsage(parsed(root)), undefined)
  })

  test('that are malformed allow nothing', async () => {
    const octets = new asn1js.OctetString({ valueHex: Uint8Array.of(1).buffer })
    const keys = root.keys
    const badUsage = await certificate({ name: 'bad', keys, extensions: [extension('2.5.29.15', true, octets)] })
    const badPurposes = await certificate({ name: 'bad', keys, extensions: [extension('2.5.29.37', true, octets)] })
    assert.equal(keyUsage(parseCertificate(derOf(badUsage))), 0)
    assert.deepEqual(extendedKeyUsage(parseCertificate(derOf(badPurposes))), [])
    assert.match(timestampingProblem(parseCertificate(derOf(badPurposes))) ?? '', /not timeStamping alone/)
    const cutOff = new pkijs.Extension({
      extnID: '2.5.29.37',
      critical: true,
      extnValue: Uint8Array.of(0x30, 5).buffer,
    })
    const cut = parseCertificate(derOf(await certificate({ name: 'bad', keys, extensions: [cutOff] })))
    assert.deepEqual(extendedKeyUsage(cut), [])
  })

  test('subjectKeyIdentifier is that of the key: SHA-1 in these certificates', () => {
    assert.equal(subjectKeyIdentifier(parsed(signer))?.length, 20)
    assert.notDeepEqual(subjectKeyIdentifier(parsed(signer)), subjectKeyIdentifier(parsed(root)))
  })
})

describe('keyProblem', () => {
  const problemOf = (key: KeyObject): string | undefined =>
    keyProblem(parsePublicKey(key.export({ type: 'spki', format: 'der' })))
  const ec = (namedCurve: string): KeyObject => generateKeyPairSync('ec', { namedCurve }).publicKey
  /** A modulus of this size, not a product of primes: only its length matters here. */
  const rsa = (bits: number): KeyObject => {
    const modulus = Buffer.alloc(bits / 8, 0xff).toString('base64url')
    return createPublicKey({ key: { kty: 'RSA', n: modulus, e: 'AQAB' }, format: 'jwk' })
  }

  test('accepts RSA from 2048 to 8192 bits', () => {
    for (const bits of [2048, 3072, 8192]) assert.equal(problemOf(rsa(bits)), undefined)
    for (const bits of [1024, 2040, 8200, 16_384])
      assert.match(problemOf(rsa(bits)) ?? '', new RegExp(`of ${bits} bits`))
  })

  test('accepts RSA with an exponent of at most 64 bits', () => {
    const n = Buffer.alloc(256, 0xff).toString('base64url')
    const withExponent = (hex: string): string | undefined => {
      const e = Buffer.from(hex, 'hex').toString('base64url')
      return problemOf(createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }))
    }
    assert.equal(withExponent('ffffffffffffffff'), undefined)
    assert.match(withExponent('010000000000000001') ?? '', /an exponent of 65 bits/)
  })

  test('accepts P-256, P-384 and P-521 only', () => {
    for (const curve of ['prime256v1', 'secp384r1', 'secp521r1']) assert.equal(problemOf(ec(curve)), undefined)
    for (const curve of ['secp256k1', 'secp224r1']) assert.match(problemOf(ec(curve)) ?? '', new RegExp(curve))
  })

  test('accepts the curves of RFC 5639, and RSA keys that are only for PSS', () => {
    for (const namedCurve of ['brainpoolP256r1', 'brainpoolP384r1', 'brainpoolP512r1'])
      assert.equal(problemOf(generateKeyPairSync('ec', { namedCurve }).publicKey), undefined, namedCurve)
    assert.match(problemOf(generateKeyPairSync('ec', { namedCurve: 'brainpoolP224r1' }).publicKey) ?? '', /P224r1/)
    assert.equal(problemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey), undefined)
  })

  test('rejects other types', () => {
    assert.match(problemOf(generateKeyPairSync('ed25519').publicKey) ?? '', /ed25519/)
    assert.match(problemOf(generateKeyPairSync('x25519').publicKey) ?? '', /x25519/)
    assert.match(
      problemOf(generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).publicKey) ?? '',
      /RSA key of 1024 bits/,
    )
  })
})

describe('certificateProblem', () => {
  test('is about validity: both ends are inclusive', () => {
    const any = parsed(root)
    for (const at of [notBefore.getTime(), time, notAfter.getTime()])
      assert.equal(certificateProblem(any, at), undefined)
    for (const at of [notBefore.getTime() - 1, notAfter.getTime() + 1, Number.NaN])
      assert.match(certificateProblem(any, at) ?? '', /not valid at that time/)
  })

  test('is about unknown critical extensions, not about others', async () => {
    const withExtension = (critical: boolean): Promise<Certificate> =>
      parsedWith({ extensions: [extension('1.2.3', critical, new asn1js.Null())] })
    assert.match(certificateProblem(await withExtension(true), time) ?? '', /1\.2\.3 is not supported/)
    assert.equal(certificateProblem(await withExtension(false), time), undefined)
  })

  test('is about weak keys', async () => {
    const weak = await parsedWith({ keys: await keyPair('RSA-1024', 'weak') })
    assert.match(certificateProblem(weak, time) ?? '', /RSA key of 1024 bits/)
  })

  test('is about keys that cannot be read', () => {
    const der = derOf(root.certificate).slice()
    const point = root.certificate.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView
    // The last byte of the point, which is then not on the curve.
    const at = Buffer.from(der).indexOf(point) + point.length - 1
    der[at] = (der[at] ?? 0) ^ 1
    assert.match(certificateProblem(parseCertificate(der), time) ?? '', /public key cannot be read/)
  })
})

describe('timestampingProblem', () => {
  const problemOf = async (options: Options): Promise<string | undefined> =>
    timestampingProblem(parsed(await signerUnder(root, options)))

  test('accepts a critical extended key usage of timeStamping alone', async () => {
    assert.equal(await problemOf({}), undefined)
    assert.equal(await problemOf({ keyUsage: 0x40 }), undefined, 'nonRepudiation')
    const { keys } = signer
    const made = await certificate({ name: 'any usage', keys, issuer: root, extendedKeyUsage: timeStamping })
    assert.equal(timestampingProblem(parseCertificate(derOf(made))), undefined)
  })

  test('rejects every other usage', async () => {
    const purposes = [OID.timeStamping, OID.codeSigning]
    assert.match((await problemOf({ extendedKeyUsage: undefined })) ?? '', /no extended key usage/)
    assert.match((await problemOf({ extendedKeyUsage: { ...timeStamping, critical: false } })) ?? '', /not critical/)
    assert.match((await problemOf({ extendedKeyUsage: { critical: true, purposes } })) ?? '', /timeStamping alone/)
    assert.match((await problemOf({ keyUsage: 0x20 })) ?? '', /allows no signature/)
  })
})

describe('buildPath', () => {
  const path = (certificates: {
    readonly signer?: Issuer
    readonly candidates?: readonly Issuer[]
    readonly anchors?: readonly Issuer[]
    readonly at?: number
  }): readonly string[] => {
    const { candidates = [], anchors = [root], at = time } = certificates
    return buildPath({
      budget: new SignatureBudget(1_000),
      signer: parsed(certificates.signer ?? signer),
      candidates: candidates.map(parsed),
      anchors: anchors.map(parsed),
      time: at,
    }).map(({ subject }) => subject.replace('CN=', ''))
  }
  const assertNoPath = (certificates: Parameters<typeof path>[0], message: RegExp): void =>
    assert.throws(() => path(certificates), { code: 'VERIFICATION_FAILED', message })

  test('is the signer alone if it is an anchor', () => {
    assert.deepEqual(path({ anchors: [signer] }), ['signer'])
  })

  test('goes from the signer to the anchor, through candidates in any order', async () => {
    const middle = await issuerNamed('middle', { issuer: root })
    const lower = await issuerNamed('lower', { issuer: middle })
    const below = await signerUnder(lower)
    for (const candidates of [
      [middle, lower],
      [lower, middle],
    ])
      assert.deepEqual(path({ signer: below, candidates }), ['signer', 'lower', 'middle', 'root'])
    assertNoPath({ signer: below, candidates: [middle] }, /no known certificate issued it/)
    assertNoPath({ signer: below, candidates: [middle, lower], anchors: [] }, /no known certificate issued it/)
  })

  test('is the shortest path', async () => {
    const middle = await issuerNamed('middle', { issuer: root })
    const below = await signerUnder(middle)
    assert.deepEqual(path({ signer: below, candidates: [middle], anchors: [root, middle] }), ['signer', 'middle'])
  })

  test('finds another issuer of the same name if the first one does not fit', async () => {
    const otherKeys = await keyPair('P-256', 'another root')
    const namesake = await issuerNamed('root', { keys: otherKeys })
    const below = await signerUnder(namesake)
    assert.deepEqual(path({ signer: below, anchors: [root, namesake] }), ['signer', 'root'])
  })

  test('requires that all certificates are valid at the time', async () => {
    const expired = await issuerNamed('root', { notAfter: new Date(time - 1000) })
    assertNoPath({ at: notAfter.getTime() + 1000 }, /of the signer: it was not valid/)
    assertNoPath({ anchors: [expired] }, /of an issuer: it was not valid/)
  })

  test('requires issuers that may issue', async () => {
    const notAuthority = new pkijs.BasicConstraints({ cA: false }).toSchema()
    const cases: readonly (readonly [RegExp, Options])[] = [
      [/is not a CA/, { authority: undefined }],
      [/is not a CA/, { authority: undefined, extensions: [extension('2.5.29.19', true, notAuthority)] }],
      [/does not include timeStamping/, { extendedKeyUsage: { critical: false, purposes: [OID.codeSigning] } }],
      [/1\.2\.3 is not supported/, { extensions: [extension('1.2.3', true, new asn1js.Null())] }],
      [/RSA key of 1024 bits/, { keys: await keyPair('RSA-1024', 'weak') }],
    ]
    for (const [message, options] of cases) {
      const middle = await issuerNamed('middle', { issuer: root, ...options })
      assertNoPath({ signer: await signerUnder(middle), candidates: [middle] }, message)
    }
    const noCertSign = await issuerNamed('no keyCertSign', { issuer: root, keyUsage: 0x02 })
    const below = await signerUnder(noCertSign)
    assertNoPath(
      { signer: below, candidates: [noCertSign] },
      /no known certificate issued it|may not sign certificates/,
    )
  })

  test('accepts issuers for any purpose or for timestamps', async () => {
    for (const purpose of [OID.timeStamping, '2.5.29.37.0']) {
      const middle = await issuerNamed('middle', {
        issuer: root,
        extendedKeyUsage: { critical: false, purposes: [purpose] },
      })
      assert.equal(path({ signer: await signerUnder(middle), candidates: [middle] }).length, 3)
    }
    const keys = await keyPair('P-256', 'middle')
    const unlimited = await certificate({ name: 'middle', keys, issuer: root, notBefore, notAfter, authority: {} })
    const middle = { keys, certificate: unlimited }
    assert.equal(path({ signer: await signerUnder(middle), candidates: [middle] }).length, 3, 'no key usage')
  })

  test('follows the key identifier and the serial number of the issuer, if both certificates have them', async () => {
    const { serialNumber } = root.certificate
    const identifier = subjectKeyIdentifier(parsed(root)) ?? new Uint8Array()
    const below = (members: ConstructorParameters<typeof pkijs.AuthorityKeyIdentifier>[0]): Promise<Issuer> => {
      const named = new pkijs.AuthorityKeyIdentifier(members).toSchema()
      return signerUnder(root, { extensions: [extension('2.5.29.35', false, named)] })
    }
    const keyIdentifier = (bytes: Uint8Array): asn1js.OctetString =>
      new asn1js.OctetString({ valueHex: new Uint8Array(bytes).buffer })
    const issuerName = [new pkijs.GeneralName({ type: 4, value: root.certificate.subject })]
    const bySerialNumber = { authorityCertIssuer: issuerName, authorityCertSerialNumber: serialNumber }
    const otherNumber = { ...bySerialNumber, authorityCertSerialNumber: new asn1js.Integer({ value: 7 }) }
    for (const members of [{}, { keyIdentifier: keyIdentifier(identifier) }, bySerialNumber])
      assert.equal(path({ signer: await below(members) }).length, 2, Object.keys(members).join())
    const wrong = { keyIdentifier: keyIdentifier(new Uint8Array(20)) }
    for (const members of [wrong, { ...wrong, ...bySerialNumber }, otherNumber])
      assertNoPath({ signer: await below(members) }, /no known certificate issued it/)
    const unnamed = await signedAgain(root, root, (copy) => {
      copy.extensions = (copy.extensions ?? []).filter(({ extnID }) => extnID !== '2.5.29.14')
    })
    assert.equal(path({ signer: await below(wrong), anchors: [unnamed] }).length, 2, 'an issuer without identifier')
  })

  test('checks path lengths, without certificates that a CA issued to itself', async () => {
    const limited = (pathLength: number): Promise<Issuer> => issuerNamed('root', { authority: { pathLength } })
    const middle = await issuerNamed('middle', { issuer: root })
    const below = await signerUnder(middle)
    assert.equal(path({ signer: below, candidates: [middle], anchors: [await limited(1)] }).length, 3)
    const zero = await limited(0)
    assertNoPath({ signer: below, candidates: [middle], anchors: [zero] }, /path length constraint is exceeded/)
    // The root's new key, signed by its old key: issuer and subject have the same name.
    const newKeys = await keyPair('P-256', 'new root key')
    const rollover = await issuerNamed('root', { keys: newKeys, issuer: root })
    const afterRollover = await signerUnder(rollover)
    assert.equal(path({ signer: afterRollover, candidates: [rollover], anchors: [zero] }).length, 3)
  })

  test('requires strong signatures by the issuer', async () => {
    assertNoPath({ signer: await signerUnder(root, { hash: 'sha1' }) }, /signature algorithm 1\.2\.840\.10045\.4\.1/)
    const impostor = { keys: await keyPair('P-256', 'impostor'), certificate: root.certificate }
    assertNoPath({ signer: await signerUnder(impostor) }, /did not sign the certificate below it/)
    // The same signature, said to be one bit shorter.
    const der = derOf(signer.certificate).slice()
    const signature = signer.certificate.signatureValue.valueBlock.valueHexView
    der[Buffer.from(der).lastIndexOf(signature) - 1] = 1
    const parsedShorter = parseCertificate(der)
    assert.equal(parsedShorter.pki.signatureValue.valueBlock.unusedBits, 1)
    const request = { signer: parsedShorter, candidates: [], anchors: [parsed(root)], time }
    assert.throws(() => buildPath({ ...request, budget: new SignatureBudget() }), /did not sign the certificate below/)
  })

  test('has at most eight certificates', async () => {
    const chainOf = async (issuers: number): Promise<readonly Issuer[]> => {
      const chain = [root]
      for (let i = 1; i <= issuers; i++) chain.push(await issuerNamed(`issuer ${i}`, { issuer: chain.at(-1) ?? root }))
      return chain
    }
    const lengthOf = async (issuers: number): Promise<number> => {
      const chain = await chainOf(issuers)
      return path({ signer: await signerUnder(chain.at(-1) ?? root), candidates: chain.slice(1) }).length
    }
    assert.equal(await lengthOf(6), 8)
    await assert.rejects(lengthOf(7), { code: 'VERIFICATION_FAILED' })
  })

  test('checks each certificate once, also if authorities issued each other', async () => {
    const names = ['a', 'b', 'c', 'd']
    const authorities = await Promise.all(names.map((name) => issuerNamed(name)))
    const crossed = await Promise.all(
      authorities.flatMap((issuer) =>
        names.filter((name) => `CN=${name}` !== parsed(issuer).subject).map((name) => issuerNamed(name, { issuer })),
      ),
    )
    const [first = root] = authorities
    // Paths of up to eight certificates, but only twelve different issuers.
    assertNoPath({ signer: await signerUnder(first), candidates: crossed }, /no known certificate issued it/)
  })

  test('checks a bounded number of issuers', async () => {
    const namesakes: Issuer[] = []
    for (let i = 0; i < 31; i++) {
      const issuer = namesakes.at(-1)
      const keys = await keyPair('P-256', `namesake ${i}`)
      namesakes.push(await issuerNamed('namesake', { keys, ...(issuer && { issuer }) }))
    }
    const below = await signerUnder(namesakes.at(-1) ?? root)
    assertNoPath({ signer: below, candidates: namesakes }, /more than 64 possible issuers/)
  })
})
